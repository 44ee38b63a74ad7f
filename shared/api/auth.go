package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"companyos/shared/task"
)

// AuthConfig says whose tokens are accepted. Either HS256Secret is set (development) or Issuer is (its published keys,
// RS256 and ES256): a verifier has one kind of key, so that no token can choose another.
type AuthConfig struct {
	HS256Secret string
	Issuer      string // required for published keys; checked with a secret too when set
	Audience    string // required
	GroupsClaim string // "groups" when empty
	Roles       *Roles // nil: groups give no scopes
	HTTP        *http.Client
	Now         func() time.Time // time.Now when nil
}

const (
	minSecret    = 32       // bytes of an HS256 secret (RFC 7518, 3.2)
	maxToken     = 16 << 10 // bytes of an Authorization header
	clockLeeway  = 5 * time.Second
	defaultGroup = "groups"
)

// Verifier turns a bearer token into a caller.
type Verifier struct {
	parser *jwt.Parser
	key    func(ctx context.Context) (jwt.Keyfunc, error)
	groups string
	roles  *Roles
}

// NewVerifier prepares a verifier. Published keys are fetched at the first token and then kept up to date until ctx ends.
func NewVerifier(ctx context.Context, c AuthConfig) (*Verifier, error) {
	if c.Audience == "" {
		return nil, errors.New("the audience of tokens is not set: set COMPANY_JWT_AUDIENCE")
	}
	now := c.Now
	if now == nil {
		now = time.Now
	}
	options := []jwt.ParserOption{
		jwt.WithAudience(c.Audience), jwt.WithExpirationRequired(), jwt.WithLeeway(clockLeeway), jwt.WithTimeFunc(now), jwt.WithStrictDecoding(),
	}
	if c.Issuer != "" {
		options = append(options, jwt.WithIssuer(c.Issuer))
	}
	v := &Verifier{groups: c.GroupsClaim, roles: c.Roles}
	if v.groups == "" {
		v.groups = defaultGroup
	}
	switch {
	case c.HS256Secret != "" && len(c.HS256Secret) < minSecret:
		return nil, errors.New("COMPANY_JWT_HS256_SECRET is shorter than 32 bytes")
	case c.HS256Secret != "":
		options = append(options, jwt.WithValidMethods([]string{jwt.SigningMethodHS256.Alg()}))
		secret := []byte(c.HS256Secret)
		v.key = func(context.Context) (jwt.Keyfunc, error) {
			return func(*jwt.Token) (any, error) { return secret, nil }, nil
		}
	case c.Issuer != "":
		options = append(options, jwt.WithValidMethods([]string{jwt.SigningMethodRS256.Alg(), jwt.SigningMethodES256.Alg()}))
		keys := &publishedKeys{life: ctx, issuer: c.Issuer, http: c.HTTP, now: now}
		v.key = keys.keyfunc
	default:
		return nil, errors.New("nobody's tokens are accepted: set COMPANY_JWT_ISSUER, or COMPANY_JWT_HS256_SECRET for development")
	}
	v.parser = jwt.NewParser(options...)
	return v, nil
}

// Person verifies the Authorization header and returns who calls. Nothing else of a request says anything about that.
func (v *Verifier) Person(r *http.Request) (task.Caller, error) {
	text, err := bearer(r)
	if err != nil {
		return task.Caller{}, err
	}
	key, err := v.key(r.Context())
	if err != nil {
		return task.Caller{}, err
	}
	var c claims
	if _, err := v.parser.ParseWithClaims(text, &c, key); err != nil {
		return task.Caller{}, tokenError(err)
	}
	return v.caller(c.MapClaims)
}

// claims of a token.
type claims struct{ jwt.MapClaims }

func (c *claims) UnmarshalJSON(text []byte) error { return json.Unmarshal(text, &c.MapClaims) }

// GetAudience is the aud claim. An access token of Amazon Cognito has none unless its application asked for one, and names
// in client_id the application that it was made for.
func (c *claims) GetAudience() (jwt.ClaimStrings, error) {
	client, ok := c.MapClaims["client_id"].(string)
	if _, given := c.MapClaims["aud"]; ok && !given && c.MapClaims["token_use"] == "access" {
		return jwt.ClaimStrings{client}, nil
	}
	return c.MapClaims.GetAudience()
}

// bearer is the one token of a request.
func bearer(r *http.Request) (string, error) {
	headers := r.Header.Values("Authorization")
	switch {
	case len(headers) == 0 || headers[0] == "":
		return "", unauthorized("token_missing", "Authorization header missing")
	case len(headers) > 1:
		return "", unauthorized("token_invalid", "Invalid token: More than one Authorization header")
	case len(headers[0]) > maxToken:
		return "", unauthorized("token_invalid", "Invalid token: The token is too long")
	}
	scheme, text, _ := strings.Cut(headers[0], " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return "", unauthorized("token_invalid", textNotAToken)
	}
	return strings.TrimSpace(text), nil
}

const textNotAToken = "Invalid token: Not enough segments" //nolint:gosec // a text about tokens

// tokenError is the contract's text for what is wrong with a token. The signature comes first, then the times.
func tokenError(err error) error {
	text := "Invalid token: Signature verification failed"
	switch {
	case errors.Is(err, jwt.ErrTokenMalformed):
		text = textNotAToken
	case errors.Is(err, jwt.ErrTokenSignatureInvalid), errors.Is(err, jwt.ErrTokenUnverifiable):
	case errors.Is(err, jwt.ErrTokenExpired):
		return unauthorized("token_expired", "Token has expired")
	case errors.Is(err, jwt.ErrTokenNotValidYet):
		text = "Invalid token: The token is not yet valid (nbf)"
	case errors.Is(err, jwt.ErrTokenRequiredClaimMissing):
		text = "Invalid token: Token is missing a required claim"
	case errors.Is(err, jwt.ErrTokenInvalidAudience):
		text = "Invalid token: Audience doesn't match"
	case errors.Is(err, jwt.ErrTokenInvalidIssuer):
		text = "Invalid token: Invalid issuer"
	default:
		text = "Invalid token: Its claims are not valid"
	}
	return unauthorized("token_invalid", text)
}

// caller reads who a verified token is about and what they may do.
func (v *Verifier) caller(claims jwt.MapClaims) (task.Caller, error) {
	if idToken(claims) {
		return task.Caller{}, unauthorized("token_invalid", "Invalid token: An ID token is not an access token")
	}
	subject, err := claims.GetSubject()
	if err != nil {
		return task.Caller{}, unauthorized("token_invalid", "Invalid token subject")
	}
	if reserved(subject) {
		return task.Caller{}, unauthorized("token_invalid", "Invalid token subject")
	}
	if subject == "" {
		return task.Caller{}, &task.Error{
			Kind: task.KindForbidden, Code: "no_identity", Detail: "Authenticated request is missing a user identity",
			Remedy: "Use a token with a sub claim.",
		}
	}
	c := task.Caller{ID: subject}
	c.Scopes, c.Groups = v.scopes(claims)
	if v.roles.Disabled(subject) {
		c.Scopes = nil
	}
	if issued, err := claims.GetIssuedAt(); err == nil && issued != nil {
		c.Issued = issued.Unix()
	}
	return c, nil
}

// idToken knows the claims that only a sign-in's proof carries. Such a token is for the application that signed in and
// is often accepted by mistake, since issuer and signature are right.
func idToken(claims jwt.MapClaims) bool {
	if claims["token_use"] == "id" {
		return true
	}
	for _, name := range []string{"nonce", "at_hash", "c_hash"} {
		if _, ok := claims[name]; ok {
			return true
		}
	}
	return false
}

// reserved subjects belong to the service itself: no token may claim one.
func reserved(subject string) bool {
	return subject == "__scheduler__" || strings.HasPrefix(subject, "sa:") || strings.HasPrefix(subject, "__oauth__:")
}

// scopes are the token's scopes, else its scope, else what its groups give; groups are those, if they gave them. A scope claim without a single scope of this
// API ("openid profile") says nothing, since every identity provider writes one.
func (v *Verifier) scopes(claims jwt.MapClaims) (scopes, groups []string) {
	if list, ok := claims["scopes"]; ok {
		return texts(list), nil
	}
	if text, ok := claims["scope"].(string); ok {
		fields := strings.Fields(text)
		if slices.ContainsFunc(fields, func(s string) bool { return strings.Contains(s, ":") }) {
			return fields, nil
		}
	}
	switch claim := claims[v.groups].(type) {
	case string:
		groups = strings.Fields(claim)
	default:
		groups = texts(claim)
	}
	return v.roles.Scopes(groups), groups
}

// texts are the strings of a list; a claim of another shape has none.
func texts(claim any) []string {
	list, _ := claim.([]any)
	var out []string
	for _, v := range list {
		if s, ok := v.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

// requireScopes is the contract's 403.
func requireScopes(c task.Caller, scopes []string) error {
	return c.Require(scopes...)
}

func unauthorized(code, text string) error {
	return &task.Error{Kind: task.KindUnauthorized, Code: code, Detail: text, Remedy: "Send a valid access token as Authorization: Bearer."}
}

// DevelopmentToken signs a token for a development user.
func DevelopmentToken(secret, audience, subject string, scopes []string, now time.Time, life time.Duration) (string, error) {
	return jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{
		"sub": subject, "aud": audience, "scopes": scopes, "iat": now.Unix(), "exp": now.Add(life).Unix(),
	}).SignedString([]byte(secret))
}
