package api_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"companyos/shared/api"
	"companyos/shared/task"
)

func claims(more jwt.MapClaims) jwt.MapClaims {
	c := jwt.MapClaims{"sub": "alice", "aud": testAudience, "exp": time.Now().Add(time.Hour).Unix(), "scopes": []string{"products:read"}}
	for k, v := range more {
		if v == nil {
			delete(c, k)
			continue
		}
		c[k] = v
	}
	return c
}

func signed(t *testing.T, method jwt.SigningMethod, key any, c jwt.MapClaims, header map[string]any) string {
	t.Helper()
	tok := jwt.NewWithClaims(method, c)
	for k, v := range header {
		tok.Header[k] = v
	}
	text, err := tok.SignedString(key)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// ask verifies one Authorization header.
func ask(v *api.Verifier, headers ...string) (task.Caller, error) {
	r := httptest.NewRequest(http.MethodGet, "/company/products", http.NoBody)
	for _, h := range headers {
		r.Header.Add("Authorization", h)
	}
	r.Header.Set("X-User-Id", "mallory")
	r.Header.Set("X-Forwarded-User", "mallory")
	return v.Person(r)
}

func detailOf(err error) string {
	if e, ok := err.(*task.Error); ok {
		return e.Detail
	}
	return ""
}

func TestTokensWithASecret(t *testing.T) {
	t.Parallel()
	v := verifier(t, api.AuthConfig{HS256Secret: testSecret, Audience: testAudience})
	hs := func(c jwt.MapClaims) string {
		return "Bearer " + signed(t, jwt.SigningMethodHS256, []byte(testSecret), c, nil)
	}
	unsigned := signed(t, jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, claims(nil), nil)
	good := hs(claims(nil))
	for name, c := range map[string]struct {
		headers []string
		kind    task.Kind
		detail  string
	}{
		"missing":       {nil, task.KindUnauthorized, "Authorization header missing"},
		"empty":         {[]string{""}, task.KindUnauthorized, "Authorization header missing"},
		"not a token":   {[]string{"Bearer nonsense"}, task.KindUnauthorized, "Invalid token: Not enough segments"},
		"other scheme":  {[]string{"Basic YTpi"}, task.KindUnauthorized, "Invalid token: Not enough segments"},
		"two headers":   {[]string{good, good}, task.KindUnauthorized, "Invalid token: More than one Authorization header"},
		"huge":          {[]string{"Bearer " + strings.Repeat("a", 1<<20)}, task.KindUnauthorized, "Invalid token: The token is too long"},
		"five segments": {[]string{"Bearer a.b.c.d.e"}, task.KindUnauthorized, "Invalid token: Not enough segments"},
		"alg none":      {[]string{"Bearer " + unsigned}, task.KindUnauthorized, "Invalid token: Signature verification failed"},
		"alg None stripped": {
			[]string{"Bearer " + strings.TrimRight(unsigned, ".") + "."}, task.KindUnauthorized, "Invalid token: Signature verification failed",
		},
		"HS512":            {[]string{"Bearer " + signed(t, jwt.SigningMethodHS512, []byte(testSecret), claims(nil), nil)}, task.KindUnauthorized, "Invalid token: Signature verification failed"},
		"wrong secret":     {[]string{"Bearer " + signed(t, jwt.SigningMethodHS256, []byte("x"), claims(nil), nil)}, task.KindUnauthorized, "Invalid token: Signature verification failed"},
		"wrong and past":   {[]string{"Bearer " + signed(t, jwt.SigningMethodHS256, []byte("x"), claims(jwt.MapClaims{"exp": 1}), nil)}, task.KindUnauthorized, "Invalid token: Signature verification failed"},
		"expired":          {[]string{hs(claims(jwt.MapClaims{"exp": time.Now().Add(-time.Minute).Unix()}))}, task.KindUnauthorized, "Token has expired"},
		"no expiry":        {[]string{hs(claims(jwt.MapClaims{"exp": nil}))}, task.KindUnauthorized, "Invalid token: Token is missing a required claim"},
		"not yet":          {[]string{hs(claims(jwt.MapClaims{"nbf": time.Now().Add(time.Hour).Unix()}))}, task.KindUnauthorized, "Invalid token: The token is not yet valid (nbf)"},
		"other audience":   {[]string{hs(claims(jwt.MapClaims{"aud": "other"}))}, task.KindUnauthorized, "Invalid token: Audience doesn't match"},
		"no audience":      {[]string{hs(claims(jwt.MapClaims{"aud": nil}))}, task.KindUnauthorized, "Invalid token: Token is missing a required claim"},
		"other client":     {[]string{hs(claims(jwt.MapClaims{"aud": nil, "token_use": "access", "client_id": "other"}))}, task.KindUnauthorized, "Invalid token: Audience doesn't match"},
		"client alone":     {[]string{hs(claims(jwt.MapClaims{"aud": nil, "client_id": testAudience}))}, task.KindUnauthorized, "Invalid token: Token is missing a required claim"},
		"client and aud":   {[]string{hs(claims(jwt.MapClaims{"aud": "other", "token_use": "access", "client_id": testAudience}))}, task.KindUnauthorized, "Invalid token: Audience doesn't match"},
		"number subject":   {[]string{hs(claims(jwt.MapClaims{"sub": 5}))}, task.KindUnauthorized, "Invalid token subject"},
		"scheduler":        {[]string{hs(claims(jwt.MapClaims{"sub": "__scheduler__"}))}, task.KindUnauthorized, "Invalid token subject"},
		"service account":  {[]string{hs(claims(jwt.MapClaims{"sub": "sa:robot"}))}, task.KindUnauthorized, "Invalid token subject"},
		"oauth principal":  {[]string{hs(claims(jwt.MapClaims{"sub": "__oauth__:x"}))}, task.KindUnauthorized, "Invalid token subject"},
		"no subject":       {[]string{hs(claims(jwt.MapClaims{"sub": nil}))}, task.KindForbidden, "Authenticated request is missing a user identity"},
		"ID token":         {[]string{hs(claims(jwt.MapClaims{"nonce": "n"}))}, task.KindUnauthorized, "Invalid token: An ID token is not an access token"},
		"Cognito ID token": {[]string{hs(claims(jwt.MapClaims{"token_use": "id"}))}, task.KindUnauthorized, "Invalid token: An ID token is not an access token"},
	} {
		_, err := ask(v, c.headers...)
		if task.KindOf(err) != c.kind || detailOf(err) != c.detail {
			t.Errorf("%s: got %v, want %s %q", name, err, c.kind, c.detail)
		}
	}
	for name, token := range map[string]string{
		"small letters": strings.Replace(good, "Bearer", "bearer", 1),
		"of Cognito":    hs(claims(jwt.MapClaims{"aud": nil, "token_use": "access", "client_id": testAudience})),
	} {
		caller, err := ask(v, token)
		if err != nil || caller.ID != "alice" || !slices.Equal(caller.Scopes, []string{"products:read"}) {
			t.Errorf("a good token, %s: %+v, %v", name, caller, err)
		}
	}
}

func TestScopesOfAToken(t *testing.T) {
	t.Parallel()
	roles, err := api.ParseRoles([]byte("admin_group: admins\ngroups:\n  team: [tasks:read, tasks:write]\n  other: [tasks:read, wiki:read]\ndisabled: [mallory]\n"))
	if err != nil {
		t.Fatal(err)
	}
	v := verifier(t, api.AuthConfig{HS256Secret: testSecret, Audience: testAudience, GroupsClaim: "cognito:groups", Roles: roles})
	for name, c := range map[string]struct {
		more jwt.MapClaims
		want []string
	}{
		"scopes win":        {jwt.MapClaims{"scope": "x:y", "cognito:groups": []string{"team"}}, []string{"products:read"}},
		"scope":             {jwt.MapClaims{"scopes": nil, "scope": "tasks:read tasks:write", "cognito:groups": []string{"admins"}}, []string{"tasks:read", "tasks:write"}},
		"groups":            {jwt.MapClaims{"scopes": nil, "cognito:groups": []string{"team", "other", "unknown"}}, []string{"tasks:read", "tasks:write", "wiki:read"}},
		"OpenID's scope":    {jwt.MapClaims{"scopes": nil, "scope": "openid profile", "cognito:groups": "other"}, []string{"tasks:read", "wiki:read"}},
		"admins":            {jwt.MapClaims{"scopes": nil, "cognito:groups": []string{"admins"}}, []string{task.AdminScope}},
		"other claim":       {jwt.MapClaims{"scopes": nil, "groups": []string{"admins"}}, nil},
		"scopes not a list": {jwt.MapClaims{"scopes": "agent_os:admin", "cognito:groups": []string{"admins"}}, nil},
		"disabled":          {jwt.MapClaims{"sub": "mallory", "scopes": []string{"agent_os:admin"}}, nil},
	} {
		caller, err := ask(v, "Bearer "+signed(t, jwt.SigningMethodHS256, []byte(testSecret), claims(c.more), nil))
		if err != nil || !slices.Equal(caller.Scopes, c.want) {
			t.Errorf("%s: %v, %v", name, caller.Scopes, err)
		}
	}
	for _, bad := range []string{"grups: {}", "groups: {team: [everything]}", "groups: [a]", "groups: {team: ['a b:c']}"} {
		if _, err := api.ParseRoles([]byte(bad)); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}

// issuer is an identity provider that publishes keys.
type issuer struct {
	*httptest.Server
	rsa   *rsa.PrivateKey
	ec    *ecdsa.PrivateKey
	down  atomic.Bool
	reads atomic.Int64
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	p := &issuer{}
	var err error
	if p.rsa, err = rsa.GenerateKey(rand.Reader, 2048); err != nil {
		t.Fatal(err)
	}
	if p.ec, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		t.Fatal(err)
	}
	b64 := base64.RawURLEncoding.EncodeToString
	point, err := p.ec.PublicKey.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	keys := map[string]any{"keys": []map[string]any{
		{"kty": "RSA", "kid": "r1", "use": "sig", "alg": "RS256", "n": b64(p.rsa.N.Bytes()), "e": b64(big.NewInt(int64(p.rsa.E)).Bytes())},
		{"kty": "EC", "kid": "e1", "use": "sig", "crv": "P-256", "x": b64(point[1:33]), "y": b64(point[33:])},
	}}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.reads.Add(1)
		if p.down.Load() {
			http.Error(w, "down", http.StatusBadGateway)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		if strings.HasSuffix(r.URL.Path, "/openid-configuration") {
			_ = json.NewEncoder(w).Encode(map[string]string{"issuer": p.URL, "jwks_uri": p.URL + "/keys"})
			return
		}
		_ = json.NewEncoder(w).Encode(keys)
	}))
	t.Cleanup(p.Close)
	return p
}

func TestTokensOfAnIssuer(t *testing.T) {
	t.Parallel()
	p := newIssuer(t)
	v := verifier(t, api.AuthConfig{Issuer: p.URL, Audience: testAudience})
	own := jwt.MapClaims{"iss": p.URL}
	der, err := x509.MarshalPKIXPublicKey(&p.rsa.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	publicPEM := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	stranger, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	kid := func(id string) map[string]any { return map[string]any{"kid": id} }
	for name, c := range map[string]struct {
		token  string
		detail string // empty: accepted
	}{
		"RS256":              {signed(t, jwt.SigningMethodRS256, p.rsa, claims(own), kid("r1")), ""},
		"ES256":              {signed(t, jwt.SigningMethodES256, p.ec, claims(own), kid("e1")), ""},
		"without kid":        {signed(t, jwt.SigningMethodRS256, p.rsa, claims(own), nil), ""},
		"HS256 by the key":   {signed(t, jwt.SigningMethodHS256, publicPEM, claims(own), kid("r1")), "Invalid token: Signature verification failed"},
		"HS256 by its bytes": {signed(t, jwt.SigningMethodHS256, p.rsa.N.Bytes(), claims(own), kid("r1")), "Invalid token: Signature verification failed"},
		"RS512":              {signed(t, jwt.SigningMethodRS512, p.rsa, claims(own), kid("r1")), "Invalid token: Signature verification failed"},
		"another key":        {signed(t, jwt.SigningMethodRS256, stranger, claims(own), kid("r1")), "Invalid token: Signature verification failed"},
		"kid is a path":      {signed(t, jwt.SigningMethodRS256, stranger, claims(own), kid("../../../etc/passwd")), "Invalid token: Signature verification failed"},
		"kid is a URL": {
			signed(t, jwt.SigningMethodRS256, stranger, claims(own), map[string]any{"kid": p.URL + "/evil", "jku": p.URL + "/evil", "x5u": p.URL + "/evil"}),
			"Invalid token: Signature verification failed",
		},
		"own jwk":      {signed(t, jwt.SigningMethodRS256, stranger, claims(own), map[string]any{"jwk": map[string]any{"kty": "RSA", "n": base64.RawURLEncoding.EncodeToString(stranger.N.Bytes()), "e": "AQAB"}}), "Invalid token: Signature verification failed"},
		"other issuer": {signed(t, jwt.SigningMethodRS256, p.rsa, claims(jwt.MapClaims{"iss": "https://evil.example"}), kid("r1")), "Invalid token: Invalid issuer"},
		"no issuer":    {signed(t, jwt.SigningMethodRS256, p.rsa, claims(nil), kid("r1")), "Invalid token: Token is missing a required claim"},
		"ID token":     {signed(t, jwt.SigningMethodRS256, p.rsa, claims(jwt.MapClaims{"iss": p.URL, "at_hash": "x", "aud": testAudience}), kid("r1")), "Invalid token: An ID token is not an access token"},
	} {
		caller, err := ask(v, "Bearer "+c.token)
		if detailOf(err) != c.detail || (c.detail == "") != (err == nil) || (err == nil && caller.ID != "alice") {
			t.Errorf("%s: %+v, %v, want %q", name, caller, err, c.detail)
		}
	}
	if reads := p.reads.Load(); reads > 3 { // description, keys, and once for a key id that is not there
		t.Errorf("the issuer was asked %d times", reads)
	}
}

func TestIssuerAway(t *testing.T) {
	t.Parallel()
	p := newIssuer(t)
	p.down.Store(true)
	now := time.Now()
	v := verifier(t, api.AuthConfig{Issuer: p.URL, Audience: testAudience, Now: func() time.Time { return now }})
	good := "Bearer " + signed(t, jwt.SigningMethodRS256, p.rsa, claims(jwt.MapClaims{"iss": p.URL}), map[string]any{"kid": "r1"})
	for range 3 {
		if _, err := ask(v, good); task.KindOf(err) != task.KindUnavailable {
			t.Errorf("away: %v", err)
		}
	}
	if p.reads.Load() != 1 {
		t.Errorf("an issuer that is away was asked %d times at once", p.reads.Load())
	}
	p.down.Store(false)
	now = now.Add(10 * time.Second)
	if caller, err := ask(v, good); err != nil || caller.ID != "alice" {
		t.Errorf("back: %+v, %v", caller, err)
	}
}

func TestAuthConfig(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]api.AuthConfig{
		"nothing":      {},
		"no audience":  {HS256Secret: testSecret},
		"no keys":      {Audience: "a"},
		"short secret": {Audience: "a", HS256Secret: "short"},
	} {
		if _, err := api.NewVerifier(t.Context(), c); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}
