package wire

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"companyos/shared/company"
)

// Param is one line of a query string's table.
type Param struct {
	Name    string
	Type    ParamType
	Ge, Le  *int64
	Enum    []string
	Default any // nil: the parameter may be absent and has no value then
	set     func(q *Query, v any)
}

// ParamType is what a parameter may hold.
type ParamType string

// The types of parameters.
const (
	ParamString  ParamType = "string"
	ParamInt     ParamType = "int"
	ParamBool    ParamType = "bool"
	ParamLiteral ParamType = "literal"
)

// Query holds the parameters of all routes; each route fills those of its table.
type Query struct {
	Page           int
	Limit          int
	SortBy         string // created_at, updated_at
	SortOrder      string // asc, desc
	IncludeDeleted bool
	ProductID      *string
	ProjectID      *string
	Status         *string
	Failed         *bool
	Text           *string
	AgentID        *string
	SessionID      *string
	Days           *int64
	Cursor         *string
	Version        int64 // of a wiki page; 0: the present one
	After          int64 // the sequence number of an event
	Wait           int64 // seconds
}

// maxPage keeps page times limit within an integer.
const maxPage = 9_000_000_000_000_000

// Params is the table of a route's query string.
type Params []Param

// The parameters.
var (
	paramLimit          = Param{Name: "limit", Type: ParamInt, Ge: bound(1), Le: bound(1000), Default: int64(20), set: func(q *Query, v any) { q.Limit = int(v.(int64)) }}
	paramPage           = Param{Name: "page", Type: ParamInt, Ge: bound(1), Le: bound(maxPage), Default: int64(1), set: func(q *Query, v any) { q.Page = int(v.(int64)) }}
	paramIncludeDeleted = Param{Name: "include_deleted", Type: ParamBool, Default: false, set: func(q *Query, v any) { q.IncludeDeleted = v.(bool) }}
	paramSortBy         = Param{Name: "sort_by", Type: ParamLiteral, Enum: []string{"created_at", "updated_at"}, Default: "created_at", set: func(q *Query, v any) { q.SortBy = v.(string) }}
	paramSortOrder      = Param{Name: "sort_order", Type: ParamLiteral, Enum: []string{"asc", "desc"}, Default: "desc", set: func(q *Query, v any) { q.SortOrder = v.(string) }}
	paramProductID      = Param{Name: "product_id", Type: ParamString, set: func(q *Query, v any) { q.ProductID = ptr(v.(string)) }}
	paramProjectID      = Param{Name: "project_id", Type: ParamString, set: func(q *Query, v any) { q.ProjectID = ptr(v.(string)) }}
	paramProjectStatus  = Param{Name: "status", Type: ParamLiteral, Enum: names(company.ProjectStatuses()), set: func(q *Query, v any) { q.Status = ptr(v.(string)) }}
	paramTaskStatus     = Param{Name: "status", Type: ParamLiteral, Enum: taskStatuses(), set: func(q *Query, v any) { q.Status = ptr(v.(string)) }}
	paramFailed         = Param{Name: "failed", Type: ParamBool, set: func(q *Query, v any) { q.Failed = ptr(v.(bool)) }}
	paramText           = Param{Name: "query", Type: ParamString, set: func(q *Query, v any) { q.Text = ptr(v.(string)) }}
	paramAgentID        = Param{Name: "agent_id", Type: ParamString, set: func(q *Query, v any) { q.AgentID = ptr(v.(string)) }}
	paramSessionID      = Param{Name: "session_id", Type: ParamString, set: func(q *Query, v any) { q.SessionID = ptr(v.(string)) }}
	paramVersion        = Param{Name: "version", Type: ParamInt, Ge: bound(1), Le: bound(1<<31 - 1), set: func(q *Query, v any) { q.Version = v.(int64) }}
	paramAfter          = Param{Name: "after", Type: ParamInt, Ge: bound(0), Le: bound(maxPage), Default: int64(0), set: func(q *Query, v any) { q.After = v.(int64) }}
	paramWait           = Param{Name: "wait", Type: ParamInt, Ge: bound(0), Le: bound(20), Default: int64(0), set: func(q *Query, v any) { q.Wait = v.(int64) }}
	paramMost           = Param{Name: "limit", Type: ParamInt, Ge: bound(1), Le: bound(500), Default: int64(100), set: func(q *Query, v any) { q.Limit = int(v.(int64)) }}
	paramCursor         = Param{Name: "cursor", Type: ParamString, set: func(q *Query, v any) { q.Cursor = ptr(v.(string)) }}
	paramDays           = Param{Name: "days", Type: ParamInt, Ge: bound(1), set: func(q *Query, v any) { q.Days = ptr(v.(int64)) }}
)

// Tables that several routes share.
var (
	paramsPage     = Params{paramLimit, paramPage}
	paramsArchived = Params{paramIncludeDeleted}
	paramsList     = Params{paramLimit, paramPage, paramIncludeDeleted, paramSortBy, paramSortOrder, paramCursor}
)

func (p Params) with(more ...Param) Params { return append(slices.Clone(p), more...) }

func bound(n int64) *int64 { return &n }
func ptr[T any](v T) *T    { return &v }

// Decode reads a raw query string. Of a repeated parameter the last one counts; unknown ones are ignored.
func (p Params) Decode(raw string) (Query, []FieldError) {
	given, refused := lastValues(raw)
	var q Query
	var c checker
	for i := range p {
		param := &p[i]
		text, ok := given[param.Name]
		if !ok {
			if param.Default != nil {
				param.set(&q, param.Default)
			}
			continue
		}
		if kind, bad := refused[param.Name]; bad {
			c.errs = append(c.errs, FieldError{Type: kind, Loc: []any{"query", param.Name}, Msg: "Value error, the text is not valid UTF-8 or holds the character NUL", Ctx: map[string]any{"error": struct{}{}}})
			continue
		}
		if v, ok := c.param(param, text); ok {
			param.set(&q, v)
		}
	}
	return q, c.errs
}

// param reads one parameter by its type and bounds.
func (c *checker) param(p *Param, text string) (any, bool) {
	loc := []any{"query", p.Name}
	v := &value{kind: '"', str: text}
	v.raw, _ = Marshal(text) // of valid UTF-8, which cannot fail
	before := len(c.errs)
	var out any = text
	switch p.Type {
	case ParamInt:
		n, kind := laxInt(v)
		if kind != "" {
			c.addKind(kind, loc, v)
		} else {
			c.bounds(p, loc, v, n)
		}
		out = n
	case ParamBool:
		b, ok := laxBool(text)
		if !ok {
			c.addKind(typeBoolParsing, loc, v)
		}
		out = b
	case ParamLiteral:
		if !slices.Contains(p.Enum, text) {
			c.literal(loc, v, p.Enum)
		}
	case ParamString:
	}
	return out, len(c.errs) == before
}

func (c *checker) bounds(p *Param, loc []any, v *value, n int64) {
	switch {
	case p.Ge != nil && n < *p.Ge:
		c.add(typeGreaterThanEqual, loc, v, "Input should be greater than or equal to "+strconv.FormatInt(*p.Ge, 10), map[string]any{"ge": *p.Ge})
	case p.Le != nil && n > *p.Le:
		c.add(typeLessThanEqual, loc, v, "Input should be less than or equal to "+strconv.FormatInt(*p.Le, 10), map[string]any{"le": *p.Le})
	}
}

// laxBool reads the words that the contract takes for a boolean.
func laxBool(text string) (v, ok bool) {
	switch strings.ToLower(text) {
	case "1", "true", "t", "yes", "y", "on":
		return true, true
	case "0", "false", "f", "no", "n", "off":
		return false, true
	}
	return false, false
}

// lastValues splits a query string. A broken escape stays as it was written, as the contract's reader leaves it.
func lastValues(raw string) (values, refused map[string]string) {
	values, refused = map[string]string{}, map[string]string{}
	for pair := range strings.SplitSeq(raw, "&") {
		if pair == "" {
			continue
		}
		name, text, _ := strings.Cut(pair, "=")
		name, text = unescape(name), unescape(text)
		values[name] = text
		delete(refused, name)
		if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
			refused[name] = typeValueError
		}
	}
	return values, refused
}

func unescape(s string) string {
	if out, err := url.QueryUnescape(s); err == nil {
		return out
	}
	return s
}
