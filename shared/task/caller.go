package task

import (
	"slices"
	"strings"
)

// Caller is who makes a request, from verified claims alone.
type Caller struct {
	ID     string // the token's sub
	Scopes []string
	Issued int64    // the token's iat, epoch seconds, 0 when it has none
	Groups []string // whose rights the scopes are, nil when the token names its scopes itself
}

// AdminScope passes every check.
const AdminScope = "agent_os:admin"

// Allows says whether the caller holds a scope such as "tasks:write".
func (c Caller) Allows(scope string) bool {
	return slices.Contains(c.Scopes, AdminScope) || slices.Contains(c.Scopes, scope)
}

// MayRun says whether the caller may run an executor: by "agents:run", "agents:*:run" or "agents:<id>:run".
func (c Caller) MayRun(kind ExecutorKind, id string) bool {
	resource := string(kind) + "s"
	return c.Allows(resource+":run") || slices.Contains(c.Scopes, resource+":*:run") || slices.Contains(c.Scopes, resource+":"+id+":run")
}

// Snapshot is what is kept of the caller's rights at an acceptance.
func (c Caller) Snapshot() *Authorization {
	return &Authorization{PrincipalID: c.ID, Scopes: slices.Clone(c.Scopes), IssuedAt: c.Issued, Groups: slices.Clone(c.Groups)}
}

// Caller is whoever granted something, with the rights of then.
func (a Authorization) Caller() Caller {
	return Caller{ID: a.PrincipalID, Scopes: a.Scopes, Issued: a.IssuedAt, Groups: a.Groups}
}

// Require returns the contract's 403 unless the caller holds all of the scopes.
func (c Caller) Require(scopes ...string) error {
	for _, s := range scopes {
		if !c.Allows(s) {
			return &Error{
				Kind: KindForbidden, Code: "missing_scope",
				Detail: "Insufficient permissions. Required scope(s): " + strings.Join(scopes, ", "),
				Remedy: "Ask an administrator for the scopes.",
			}
		}
	}
	return nil
}

// RequireRun returns the contract's 403 unless the caller may run the executor.
func (c Caller) RequireRun(kind ExecutorKind, id string) error {
	if c.MayRun(kind, id) {
		return nil
	}
	return &Error{
		Kind: KindForbidden, Code: "missing_scope",
		Detail: "Insufficient permissions. Required scope(s): " + string(kind) + "s:run",
		Remedy: "Ask an administrator for the scope " + string(kind) + "s:" + id + ":run.",
	}
}
