// Package dsql is how a store reaches Amazon Aurora DSQL: a cluster takes no passwords but tokens, which a role signs by
// itself, without asking anybody.
package dsql

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"companyos/shared/store"
)

// Admin is the user that owns a cluster's schema. Every other user is a database role.
const Admin = "admin"

// tokenLife is how long a token may begin a connection; one that has begun outlives it.
const tokenLife = 15 * time.Minute

// Cluster is a cluster and who connects to it.
type Cluster struct {
	Endpoint    string // host name: <id>.dsql.<region>.on.aws
	Region      string
	User        string
	Credentials aws.CredentialsProvider
}

// Store is the configuration of a store on the cluster: it signs a token for each connection.
func (c Cluster) Store(maxConns int32) store.Config {
	u := url.URL{
		Scheme: "postgres", User: url.User(c.User), Host: c.Endpoint + ":5432", Path: "/postgres",
		RawQuery: "sslmode=verify-full",
	}
	return store.Config{URL: u.String(), MaxConns: maxConns, Password: func(ctx context.Context) (string, error) {
		return c.token(ctx, tokenLife, time.Now())
	}}
}

// token is a presigned request of the action that the user needs, without its scheme.
// docs.aws.amazon.com/aurora-dsql/latest/userguide/SECTION_authentication-token.html.
func (c Cluster) token(ctx context.Context, life time.Duration, now time.Time) (string, error) {
	credentials, err := c.Credentials.Retrieve(ctx)
	if err != nil {
		return "", fmt.Errorf("sign a token for %s: %w", c.Endpoint, err)
	}
	action := "DbConnect"
	if c.User == Admin {
		action = "DbConnectAdmin"
	}
	query := url.Values{"Action": {action}, "X-Amz-Expires": {strconv.Itoa(int(life / time.Second))}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+c.Endpoint+"/?"+query.Encode(), nil)
	if err != nil {
		return "", fmt.Errorf("sign a token for %s: %w", c.Endpoint, err)
	}
	empty := sha256.Sum256(nil)
	signed, _, err := v4.NewSigner().PresignHTTP(ctx, credentials, request, hex.EncodeToString(empty[:]), "dsql", c.Region, now)
	if err != nil {
		return "", fmt.Errorf("sign a token for %s: %w", c.Endpoint, err)
	}
	return signed[len("https://"):], nil
}
