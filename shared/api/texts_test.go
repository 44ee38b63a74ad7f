package api_test

import (
	"net/http"
	"testing"
)

// TestRefusalsOfParents takes a Product, a Project and a Task through what their states forbid, and reads the texts that
// clients of the contract know.
func TestRefusalsOfParents(t *testing.T) {
	t.Parallel()
	c := setup(t)
	refuse := func(status int, method, path string, body any, detail string) {
		t.Helper()
		if a := c.want(status, method, path, body); a.detail() != detail {
			t.Errorf("%s %s: %v, not %q", method, path, a.detail(), detail)
		}
	}
	product, project, id := c.task()
	products, projects, tasks := "/company/products/"+product, "/company/projects/"+project, "/company/tasks/"+id
	source := "/company/sources/" + c.want(http.StatusCreated, "POST", "/company/sources",
		map[string]string{"product_id": product, "type": "git", "reference": repository}).text("id")
	for path, what := range map[string]string{products: "Product", projects: "Project", tasks: "Task", source: "Source"} {
		refuse(http.StatusConflict, "POST", path+"/restore", nil, what+" is not archived")
	}

	c.want(http.StatusOK, "POST", projects+"/transitions", map[string]string{"target": "active", "reason": "go"})
	title := c.want(http.StatusOK, "GET", tasks, nil).text("title")
	done := map[string]string{"target": "done", "reason": "all of it"}
	refuse(http.StatusConflict, "POST", projects+"/transitions", done, "Project has open Tasks: "+title+" ("+id+")")

	ready := map[string]string{"target": "ready", "reason": "go", "executor_type": "agent", "executor_id": "writer"}
	c.want(http.StatusOK, "POST", tasks+"/transitions", ready)
	refuse(http.StatusConflict, "PATCH", tasks, map[string]string{"title": "more"}, "Accepted task scope requires a return to Backlog")
	c.want(http.StatusOK, "POST", tasks+"/transitions", map[string]string{"target": "cancelled", "reason": "no"})

	c.want(http.StatusNoContent, "DELETE", projects, nil)
	refuse(http.StatusConflict, "POST", tasks+"/restore", nil, "Project is missing or archived")
	c.want(http.StatusNoContent, "DELETE", products, nil)
	refuse(http.StatusConflict, "POST", projects+"/restore", nil, "Product is missing or archived")
	c.want(http.StatusOK, "POST", products+"/restore", nil)
	c.want(http.StatusOK, "POST", projects+"/restore", nil)
	c.want(http.StatusOK, "POST", projects+"/transitions", done)
	refuse(http.StatusUnprocessableEntity, "POST", "/company/tasks",
		map[string]string{"product_id": product, "project_id": project, "title": "late"}, "Cannot add open work to a completed or cancelled Project")
}
