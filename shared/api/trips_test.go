package api_test

import (
	"net/http"
	"testing"

	"companyos/shared/store/storetest"
)

// Most round trips to the database, BEGIN and COMMIT counted, on a connection that knows the statements.
const (
	mostReadTrips  = 2
	mostStartTrips = 5
)

// TestRoundTrips counts what each read and the start of an attempt ask of the database, with a history behind the Task.
func TestRoundTrips(t *testing.T) {
	t.Parallel()
	c := setup(t)
	direct := c.app.DB
	counted, trips := storetest.CountTrips(t, direct)
	product, project, id := c.task()
	c.want(http.StatusCreated, "POST", "/company/sources", map[string]string{"product_id": product, "type": "git", "reference": repository})
	c.want(http.StatusOK, "POST", "/company/tasks/"+id+"/transitions", map[string]string{
		"target": "ready", "reason": "go", "executor_type": "agent", "executor_id": "engineer",
	})
	start := "/company/tasks/" + id + "/runs"
	run := ""
	for attempt := 1; attempt <= 4; attempt++ { // each fails: it is cancelled while it waits
		c.app.DB = counted
		before := trips()
		run = c.want(http.StatusAccepted, "POST", start, map[string]int{"attempt": attempt}).text("run_id")
		if n := trips() - before; attempt > 2 && n > mostStartTrips {
			t.Errorf("the start of attempt %d: %d round trips, not at most %d", attempt, n, mostStartTrips)
		}
		c.app.DB = direct
		c.want(http.StatusOK, "POST", "/company/runs/"+run+"/cancel", nil)
	}
	c.app.DB = counted
	for _, path := range []string{
		"/company/products", "/company/products/" + product, "/company/projects", "/company/projects/" + project,
		"/company/projects?product_id=" + product, "/company/sources?product_id=" + product,
		"/company/tasks", "/company/tasks/" + id, "/company/tasks?failed=true&page=2", start, "/company/runs/" + run,
		"/company/attention", "/company/attention?product_id=" + product,
	} {
		c.want(http.StatusOK, "GET", path, nil) // the connection gets to know the statements
		before := trips()
		c.want(http.StatusOK, "GET", path, nil)
		if n := trips() - before; n < 1 || n > mostReadTrips {
			t.Errorf("GET %s: %d round trips, not 1 to %d", path, n, mostReadTrips)
		}
	}
}
