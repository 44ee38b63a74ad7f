// Package wire is the HTTP contract: request bodies as tables that feed validation, decoding and openapi.json, the
// records that answers carry, the routes with their callers and scopes, and clients for people and for sandboxes.
package wire
