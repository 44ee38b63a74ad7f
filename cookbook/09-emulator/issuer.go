package main

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"math/big"
	"net"
	"net/http"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

const audience = "company"

// issuer is an OIDC issuer with one RS256 key: a discovery document, its keys, and tokens for whomever it is asked.
type issuer struct {
	url    string
	key    *rsa.PrivateKey
	server *http.Server
}

// startIssuer serves on an address of this machine.
func startIssuer(address string) (*issuer, error) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", net.JoinHostPort(address, "0"))
	if err != nil {
		return nil, err
	}
	i := &issuer{url: "http://" + l.Addr().String(), key: key}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", answer(map[string]any{
		"issuer": i.url, "jwks_uri": i.url + "/keys", "id_token_signing_alg_values_supported": []string{"RS256"},
	}))
	mux.HandleFunc("GET /keys", answer(map[string]any{"keys": []any{map[string]any{
		"kty": "RSA", "alg": "RS256", "use": "sig", "kid": "1",
		"n": base64.RawURLEncoding.EncodeToString(key.N.Bytes()),
		"e": base64.RawURLEncoding.EncodeToString(big.NewInt(int64(key.E)).Bytes()),
	}}}))
	i.server = &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	go func() { _ = i.server.Serve(l) }()
	return i, nil
}

func answer(body any) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(body)
	}
}

// token is somebody's, for an hour. Rights come from the groups, as most identity providers have it.
func (i *issuer) token(subject string, groups ...string) (string, error) {
	now := time.Now()
	t := jwt.NewWithClaims(jwt.SigningMethodRS256, jwt.MapClaims{
		"iss": i.url, "aud": audience, "sub": subject, "groups": groups, "iat": now.Unix(), "exp": now.Add(time.Hour).Unix(),
	})
	t.Header["kid"] = "1"
	return t.SignedString(i.key)
}
