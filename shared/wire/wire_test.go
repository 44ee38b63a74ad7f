package wire

import (
	"bufio"
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// routeOf finds a route the way the server does.
func routeOf(t *testing.T, method, path string) Route {
	t.Helper()
	mux := http.NewServeMux()
	found := map[string]Route{}
	for _, r := range Routes {
		pattern := r.Method + " " + r.Pattern
		mux.Handle(pattern, http.NotFoundHandler())
		found[pattern] = r
	}
	req, err := http.NewRequest(method, "http://host"+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, pattern := mux.Handler(req)
	r, ok := found[pattern]
	if !ok {
		t.Fatalf("no route for %s %s", method, path)
	}
	return r
}

// decode runs a route's tables over a request and returns the refusals.
func decode(r Route, query, body string) []FieldError {
	_, errs := r.Query.Decode(query)
	if r.Body != nil {
		errs = append(errs, r.Body.Refusals([]byte(body))...)
	}
	return errs
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	file, err := os.Open("testdata/refusals.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	count := 0
	for lines.Scan() {
		var c struct {
			Method, Path, Query, Body string
			Want                      []any
		}
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		count++
		got := []any{}
		for _, e := range decode(routeOf(t, c.Method, c.Path), c.Query, c.Body) {
			got = append(got, []any{e.Type, e.Loc})
			if e.Msg == "" {
				t.Errorf("%s %s: %v has no text", c.Method, c.Path, e)
			}
		}
		var same []any
		round, err := json.Marshal(got)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(round, &same); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.Want, same); diff != "" {
			t.Errorf("%s %s?%s %s: (-want +got)\n%s", c.Method, c.Path, c.Query, c.Body, diff)
		}
	}
	if lines.Err() != nil || count < 120 {
		t.Fatalf("read %d cases: %v", count, lines.Err())
	}
}

func TestHostileJSON(t *testing.T) {
	t.Parallel()
	deep := `{"name":"x","metadata":` + strings.Repeat(`{"a":`, 100_000) + "1" + strings.Repeat("}", 100_000) + "}"
	for name, c := range map[string]struct {
		body string
		want []any
	}{
		"depth":          {deep, []any{"body", "metadata"}},
		"depth of lists": {`{"name":"x","metadata":` + strings.Repeat("[", 100_000), []any{"body", "metadata"}},
		"bad UTF-8":      {"{\"name\":\"\xff\"}", []any{"body", "name"}},
		"bad UTF-8 name": {"{\"na\xffme\":\"\"}", []any{"body"}},
	} {
		_, errs := ProductCreateBody.Decode([]byte(c.body))
		if len(errs) != 1 || !reflect.DeepEqual(errs[0].Loc, c.want) {
			t.Errorf("%s: got %+v, want one error at %v", name, errs, c.want)
		}
	}
	shallow := `{"name":"x","metadata":` + strings.Repeat(`{"a":`, 90) + "1" + strings.Repeat("}", 90) + "}"
	if _, errs := ProductCreateBody.Decode([]byte(shallow)); errs != nil {
		t.Errorf("90 levels: %v", errs)
	}
}

func TestDecode(t *testing.T) {
	t.Parallel()
	p, errs := ProjectCreateBody.Decode([]byte(`{"product_id":"p","name":"n","target_date":true,"outcome":null}`))
	if errs != nil || *p.TargetDate != 1 || p.Outcome != nil {
		t.Errorf("a boolean date: %+v, %v", p, errs)
	}
	for text, want := range map[string]LaxInt{`"12"`: 12, `12.0`: 12, `1e3`: 1000, `" +1_000 "`: 1000, `"7.00"`: 7, `false`: 0, `-5`: -5} {
		p, errs := ProjectCreateBody.Decode([]byte(`{"product_id":"p","name":"n","target_date":` + text + `}`))
		if errs != nil || *p.TargetDate != want {
			t.Errorf("%s: got %v, %v", text, p.TargetDate, errs)
		}
	}
	u, errs := TaskUpdateBody.Decode([]byte(`{"brief":null,"title":"t"}`))
	if errs != nil || !u.Brief.Set || !u.Brief.Null || u.Title.V != "t" || u.Evidence.Set || u.ProjectID.Set {
		t.Errorf("absent, null and value: %+v, %v", u, errs)
	}
	c, errs := ProductCreateBody.Decode([]byte(`{"name":"n","NAME":"other","zzz":1}`))
	if errs != nil || c.Name != "n" {
		t.Errorf("names have one spelling: %+v, %v", c, errs)
	}
	for _, none := range []string{"", "null", "{}"} {
		if run, errs := TaskRunCreateBody.Decode([]byte(none)); errs != nil || run.Attempt != 0 {
			t.Errorf("no body %q: %+v, %v", none, run, errs)
		}
	}
	r, errs := RoutineCreateBody.Decode([]byte(`{"product_id":"p","name":"n","executor_type":"agent","executor_id":"a","template":"intake","cron_expr":"0 9 * * 1","timezone":"Europe/Paris","auto_accept":{"executor_type":"agent","executor_id":"a","limits":{"expires_at":4000000000}}}`))
	if errs != nil || r.AutoAccept.V == nil || r.AutoAccept.V.Limits.ExpiresAt != 4000000000 || r.Name != "n" {
		t.Errorf("a Routine: %+v, %v", r, errs)
	}
}

func TestQuery(t *testing.T) {
	t.Parallel()
	r := routeOf(t, "GET", "/company/tasks")
	q, errs := r.Query.Decode("limit=5&limit=7&page=+2&include_deleted=YES&failed=off&product_id=a+b%2Bc&unknown=%zz&sort_by=updated_at")
	want := Query{Page: 2, Limit: 7, SortBy: "updated_at", SortOrder: "desc", IncludeDeleted: true, Failed: ptr(false), ProductID: ptr("a b+c")}
	if errs != nil || !reflect.DeepEqual(q, want) {
		t.Errorf("got %+v, %v", q, errs)
	}
	q, errs = r.Query.Decode("")
	if errs != nil || q.Page != 1 || q.Limit != 20 || q.SortBy != "created_at" || q.Failed != nil {
		t.Errorf("defaults: %+v, %v", q, errs)
	}
}

// TestTablesMatchStructs keeps a body's table and its struct the same: what one lets through the other can hold.
func TestTablesMatchStructs(t *testing.T) {
	t.Parallel()
	for _, r := range Routes {
		if r.Body != nil {
			compareFields(t, r.Body.Table(), reflect.TypeOf(r.Body.record()))
		}
	}
	compareFields(t, ResultFileBody.Table(), reflect.TypeFor[ResultFile]())
}

func compareFields(t *testing.T, m *Model, record reflect.Type) {
	t.Helper()
	var want, got []string
	for _, f := range m.Fields {
		want = append(want, f.Name)
	}
	inner := map[string]reflect.Type{}
	collect(record, func(name string, ft reflect.Type) {
		got = append(got, name)
		inner[name] = ft
	})
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: (-table +struct)\n%s", m.Name, diff)
	}
	for _, f := range m.Fields {
		sub := f.Model
		if f.Items != nil {
			sub = f.Items.Model
		}
		if sub != nil {
			compareFields(t, sub, bare(inner[f.Name]))
		}
	}
}

func collect(record reflect.Type, each func(name string, t reflect.Type)) {
	for f := range record.Fields() {
		if f.Anonymous {
			collect(f.Type, each)
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		each(name, f.Type)
	}
}

// bare takes pointers, lists and the wrappers of this package off.
func bare(t reflect.Type) reflect.Type {
	for {
		v, wrapped := reflect.StructField{}, false
		if t.Kind() == reflect.Struct {
			v, wrapped = t.FieldByName("V")
		}
		switch {
		case t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice:
			t = t.Elem()
		case wrapped:
			t = v.Type
		default:
			return t
		}
	}
}

func TestOpenAPIIsCurrent(t *testing.T) {
	t.Parallel()
	want, err := GenerateOpenAPI()
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, OpenAPI) {
		t.Error("openapi.json is not what the tables say; run go generate ./shared/wire")
	}
	var doc struct {
		Paths map[string]map[string]any
	}
	if err := json.Unmarshal(OpenAPI, &doc); err != nil {
		t.Fatal(err)
	}
	operations := 0
	for _, methods := range doc.Paths {
		operations += len(methods)
	}
	people := 0
	for _, r := range Routes {
		if r.Caller == CallerPerson {
			people++
		}
	}
	if operations != people || operations < 46 {
		t.Errorf("%d operations described, %d in the table", operations, people)
	}
}

func TestRoutes(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, r := range Routes {
		if names[r.Name] || r.Does == "" || r.Status == 0 {
			t.Errorf("%s is given twice or incomplete", r.Name)
		}
		names[r.Name] = true
		if (r.Caller == CallerPerson) != (len(r.Scopes) > 0) {
			t.Errorf("%s: a person's route has scopes, no other has", r.Name)
		}
		if (r.Caller == CallerSandbox) != strings.HasPrefix(r.Pattern, "/sandbox/") {
			t.Errorf("%s: a sandbox's routes are below /sandbox", r.Name)
		}
		if r.Body != nil && r.MaxBody == 0 {
			t.Errorf("%s: its body has no limit", r.Name)
		}
	}
}
