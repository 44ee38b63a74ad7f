package api_test

import (
	"net/http"
	"testing"

	"companyos/shared/store/storetest"
)

// TestRefusalsOfParents takes a Product, a Project and a Task through what their states forbid, and reads the texts that
// clients of the contract know.
func TestRefusalsOfParents(t *testing.T) {
	t.Parallel()
	c := setup(t)
	product, project, id := c.task()
	products, projects, tasks := "/company/products/"+product, "/company/projects/"+project, "/company/tasks/"+id
	source := "/company/sources/" + c.want(http.StatusCreated, "POST", "/company/sources",
		map[string]string{"product_id": product, "type": "git", "reference": repository}).text("id")
	for path, what := range map[string]string{products: "Product", projects: "Project", tasks: "Task", source: "Source"} {
		c.refuses(http.StatusConflict, "POST", path+"/restore", nil, what+" is not archived")
	}

	c.want(http.StatusOK, "POST", projects+"/transitions", map[string]string{"target": "active", "reason": "go"})
	title := c.want(http.StatusOK, "GET", tasks, nil).text("title")
	done := map[string]string{"target": "done", "reason": "all of it"}
	c.refuses(http.StatusConflict, "POST", projects+"/transitions", done, "Project has open Tasks: "+title+" ("+id+")")

	ready := map[string]string{"target": "ready", "reason": "go", "executor_type": "agent", "executor_id": "writer"}
	c.want(http.StatusOK, "POST", tasks+"/transitions", ready)
	c.refuses(http.StatusConflict, "PATCH", tasks, map[string]string{"title": "more"}, "Accepted task scope requires a return to Backlog")
	c.want(http.StatusOK, "POST", tasks+"/transitions", map[string]string{"target": "cancelled", "reason": "no"})

	c.want(http.StatusNoContent, "DELETE", projects, nil)
	c.refuses(http.StatusConflict, "POST", tasks+"/restore", nil, "Project is missing or archived")
	c.want(http.StatusNoContent, "DELETE", products, nil)
	c.refuses(http.StatusConflict, "POST", projects+"/restore", nil, "Product is missing or archived")
	c.want(http.StatusOK, "POST", products+"/restore", nil)
	c.want(http.StatusOK, "POST", projects+"/restore", nil)
	c.want(http.StatusOK, "POST", projects+"/transitions", done)
	c.refuses(http.StatusUnprocessableEntity, "POST", "/company/tasks",
		map[string]string{"product_id": product, "project_id": project, "title": "late"}, "Cannot add open work to a completed or cancelled Project")
}

// TestRefusalsOfTheOvertaken lets a person lose against another one who changes the same record first.
func TestRefusalsOfTheOvertaken(t *testing.T) {
	t.Parallel()
	c := setup(t)
	_, project, id := c.task()
	storetest.Overtake(t, c.app.DB, "tasks")
	storetest.Overtake(t, c.app.DB, "projects")
	cancelled := map[string]string{"target": "cancelled", "reason": "no"}
	c.refuses(http.StatusConflict, "PATCH", "/company/tasks/"+id, map[string]string{"title": "more"}, "Task changed while updating")
	c.refuses(http.StatusConflict, "POST", "/company/tasks/"+id+"/transitions", cancelled, "Task changed while transitioning")
	c.refuses(http.StatusConflict, "POST", "/company/projects/"+project+"/transitions", cancelled, "Project changed while transitioning")
}

// refuses calls as alice and expects a status with this detail.
func (c *office) refuses(status int, method, path string, body any, detail string) {
	c.t.Helper()
	if a := c.want(status, method, path, body); a.detail() != detail {
		c.t.Errorf("%s %s: %v, not %q", method, path, a.detail(), detail)
	}
}
