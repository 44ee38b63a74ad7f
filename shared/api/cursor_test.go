package api_test

import (
	"fmt"
	"net/url"
	"strconv"
	"testing"
	"time"

	"companyos/shared/wire"
)

// ids are the records of one page, and the cursor of the next.
func ids(a answer) (out []string, next string) {
	for _, r := range a.body["data"].([]any) {
		out = append(out, r.(map[string]any)["id"].(string))
	}
	next, _ = a.body["meta"].(map[string]any)["next_cursor"].(string)
	return out, next
}

// TestCursors reads every list that has cursors from its beginning to its end, in every order, with equal times, and
// compares it with the page numbers' answer; a record that is added meanwhile moves nothing.
func TestCursors(t *testing.T) {
	t.Parallel()
	c := setup(t)
	product, project, _ := c.task()
	for n := range 7 {
		c.want(201, "POST", "/company/products", map[string]any{"name": strconv.Itoa(n)})
		c.want(201, "POST", "/company/projects", map[string]any{"product_id": product, "name": strconv.Itoa(n)})
		id := c.want(201, "POST", "/company/tasks", map[string]any{"product_id": product, "project_id": project, "title": strconv.Itoa(n)}).text("id")
		if n%3 == 0 {
			c.want(200, "PATCH", "/company/tasks/"+id, map[string]any{"title": "edited"})
		}
	}
	for _, table := range []string{"products", "projects", "tasks"} { // equal times: the id decides
		if _, err := c.app.DB.Pool().Exec(t.Context(), "UPDATE "+table+" SET created_at = date_trunc('minute', created_at)"); err != nil {
			t.Fatal(err)
		}
	}
	for _, list := range []string{"/company/products?x=", "/company/projects?product_id=" + product, "/company/tasks?status=backlog&project_id=" + project} {
		for _, order := range []string{"", "&sort_order=asc", "&sort_by=updated_at", "&sort_by=updated_at&sort_order=asc"} {
			want, last := ids(c.want(200, "GET", list+order+"&limit=1000", nil))
			if last != "" || len(want) < 7 {
				t.Fatalf("%s%s: %d records, cursor %q behind the end", list, order, len(want), last)
			}
			var got []string
			page := c.want(200, "GET", list+order+"&limit=3", nil)
			for {
				some, next := ids(page)
				got = append(got, some...)
				if next == "" {
					break
				}
				page = c.want(200, "GET", list+order+"&limit=3&cursor="+url.QueryEscape(next), nil)
			}
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%s%s: by cursor %v, by page %v", list, order, got, want)
			}
		}
	}
	_, next := ids(c.want(200, "GET", "/company/products?limit=3", nil))
	before, _ := ids(c.want(200, "GET", "/company/products?limit=3&cursor="+next, nil))
	c.want(201, "POST", "/company/products", map[string]any{"name": "newest"})
	if after, _ := ids(c.want(200, "GET", "/company/products?limit=3&cursor="+next, nil)); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("a new record moved the page: %v, before %v", after, before)
	}
	foreign := wire.Cursor{SortBy: "created_at", SortOrder: "desc", At: time.Now(), ID: "a\x00"}.String()
	for _, bad := range []string{"", "x", "!!", next + "A", next[:8], foreign, "MS4uLi4"} {
		if a := c.alice("GET", "/company/tasks?cursor="+url.QueryEscape(bad), nil); a.status != 422 {
			t.Errorf("cursor %q: %d %s", bad, a.status, a.raw)
		}
	}
	if a := c.alice("GET", "/company/products?sort_order=asc&cursor="+next, nil); a.status != 422 {
		t.Errorf("a cursor of another order: %d %s", a.status, a.raw)
	}
}
