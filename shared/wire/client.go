package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Client calls the API as a person. Every method returns a *Problem (errors.AsType) when the API refuses; nothing is
// repeated, since only the caller knows whether it may be.
type Client struct {
	base  string
	token string
	http  *http.Client
}

// NewClient makes a client for an API at base, such as "http://127.0.0.1:7070", with a person's access token. A nil http
// client means one with a timeout of a minute.
func NewClient(base, token string, hc *http.Client) *Client {
	if hc == nil {
		hc = &http.Client{Timeout: time.Minute}
	}
	return &Client{base: strings.TrimRight(base, "/"), token: token, http: hc}
}

// List selects a page of a list. Zero fields are left out; a list ignores those that it does not have.
type List struct {
	Page           int
	Limit          int
	SortBy         string // created_at, updated_at
	SortOrder      string // asc, desc
	IncludeDeleted bool
	ProductID      string
	ProjectID      string
	Status         string
	Failed         *bool
}

func (l List) query() string {
	v := url.Values{}
	set := func(name, text string) {
		if text != "" {
			v.Set(name, text)
		}
	}
	if l.Page > 0 {
		v.Set("page", strconv.Itoa(l.Page))
	}
	if l.Limit > 0 {
		v.Set("limit", strconv.Itoa(l.Limit))
	}
	set("sort_by", l.SortBy)
	set("sort_order", l.SortOrder)
	set("product_id", l.ProductID)
	set("project_id", l.ProjectID)
	set("status", l.Status)
	if l.IncludeDeleted {
		v.Set("include_deleted", "true")
	}
	if l.Failed != nil {
		v.Set("failed", strconv.FormatBool(*l.Failed))
	}
	if len(v) == 0 {
		return ""
	}
	return "?" + v.Encode()
}

// at builds a path; ids are escaped.
func at(format string, ids ...any) string {
	for i, id := range ids {
		if s, ok := id.(string); ok {
			ids[i] = url.PathEscape(s)
		}
	}
	return fmt.Sprintf(format, ids...)
}

// call makes one request and reads its answer.
func call[T any](ctx context.Context, c *Client, method, path string, body any) (out T, err error) {
	var payload io.Reader = http.NoBody
	if body != nil {
		raw, err := Marshal(body)
		if err != nil {
			return out, fmt.Errorf("%s %s: %w", method, path, err)
		}
		payload = bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, payload)
	if err != nil {
		return out, err
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := c.http.Do(req)
	if err != nil {
		return out, err
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		return out, fmt.Errorf("%s %s: %w", method, path, err)
	}
	if res.StatusCode >= 300 {
		return out, problemOf(res, raw)
	}
	if len(raw) == 0 {
		return out, nil
	}
	if err := json.Unmarshal(raw, &out); err != nil {
		return out, fmt.Errorf("%s %s: the answer is not this API's: %w", method, path, err)
	}
	return out, nil
}

// problemOf reads an answer with an error status.
func problemOf(res *http.Response, body []byte) *Problem {
	p := parseProblem(res.StatusCode, body)
	if seconds, err := strconv.Atoi(res.Header.Get("Retry-After")); err == nil && seconds > 0 {
		p.RetryAfter = time.Duration(seconds) * time.Second
	}
	return p
}

// OpenAPI returns the description of the API.
func (c *Client) OpenAPI(ctx context.Context) (json.RawMessage, error) {
	return call[json.RawMessage](ctx, c, http.MethodGet, "/openapi.json", nil)
}

// Attention counts what waits for a person, of one Product or, with an empty id, of all.
func (c *Client) Attention(ctx context.Context, productID string) (Attention, error) {
	return call[Attention](ctx, c, http.MethodGet, "/company/attention"+List{ProductID: productID}.query(), nil)
}
