package api_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"
)

// routineBody is a good Routine of a Product with changes.
func routineBody(product string, changes map[string]any) map[string]any {
	body := map[string]any{"product_id": product, "name": "r", "executor_type": "agent", "executor_id": "writer", "instructions": "Check things."}
	maps.Copy(body, changes)
	for k, v := range body {
		if v == absent {
			delete(body, k)
		}
	}
	return body
}

const absent = "\x00absent"

// refusal is the detail of an answer: a text, or the type and place of each entry and the last one's text.
func refusal(a answer) string {
	list, ok := a.detail().([]any)
	if !ok {
		return fmt.Sprint(a.detail())
	}
	var out []string
	for _, e := range list {
		entry := e.(map[string]any)
		out = append(out, fmt.Sprint(entry["type"], entry["loc"], " ", entry["msg"]))
	}
	return strings.Join(out, "; ")
}

func TestRoutineCreateRefusals(t *testing.T) {
	t.Parallel()
	c := setup(t)
	product, _, _ := c.task()
	policy := func(changes map[string]any) map[string]any {
		p := map[string]any{"executor_type": "agent", "executor_id": "writer", "limits": map[string]any{"expires_at": 4000000000}}
		maps.Copy(p, changes)
		return map[string]any{"auto_accept": p}
	}
	const name = "1 validation error for ScheduleCreate\nname\n  "
	for want, changes := range map[string]map[string]any{
		"value_error[body] Value error, Routine instructions are required without a template": {"instructions": absent},
		"value_error[body] Value error, Routine instructions must be nonempty":                {"instructions": " "},
		"literal_error[body template] Input should be 'refresh', 'intake' or 'summary'":       {"template": "x"},
		"literal_error[body executor_type] Input should be 'agent', 'team' or 'workflow'":     {"executor_type": "engineering"},
		"value_error[body] Value error, Invalid cron expression":                              {"cron_expr": "every day"},
		"value_error[body] Value error, Invalid timezone":                                     {"timezone": "Mars/X"},
		"string_too_long[body name] String should have at most 255 characters":                {"name": strings.Repeat("n", 256)},
		"string_too_short[body name] String should have at least 1 character":                 {"name": ""},
		"extra_forbidden[body zzz] Extra inputs are not permitted":                            {"zzz": 1},
		"Product not found":                                                      {"product_id": "none"},
		"Routine executor is missing from the registry":                          {"executor_id": "ghost"},
		"Only the Company Manager can execute Routines among framework managers": {"executor_id": "os-manager-internal"},
		"Company Manager Routine executor_type must be 'agent'":                  {"executor_id": "company-manager-internal", "executor_type": "team"},
		"Invalid Routine executor id":                                            {"executor_id": "a/b"},
		"literal_error[body auto_accept literal[False]] Input should be False; missing[body auto_accept AutoAccept limits] Field required":                                                      {"auto_accept": map[string]any{"executor_type": "agent", "executor_id": "writer"}},
		"literal_error[body auto_accept literal[False]] Input should be False; extra_forbidden[body auto_accept AutoAccept zzz] Extra inputs are not permitted":                                 policy(map[string]any{"zzz": 1}),
		"literal_error[body auto_accept literal[False]] Input should be False; too_short[body auto_accept AutoAccept required_checks] List should have at least 1 item after validation, not 0": policy(map[string]any{"required_checks": []string{}}),
		"literal_error[body auto_accept literal[False]] Input should be False; int_type[body auto_accept AutoAccept limits expires_at] Input should be a valid integer":                         policy(map[string]any{"limits": map[string]any{"expires_at": "4000000000"}}),
		"Automatic acceptance expiry must be in the future":    policy(map[string]any{"limits": map[string]any{"expires_at": 1}}),
		"Unknown automatic acceptance check":                   policy(map[string]any{"required_checks": []string{"nope"}}),
		"Task executor is missing from the registry":           policy(map[string]any{"executor_id": "ghost"}),
		"Select a registered agent, team or workflow executor": policy(map[string]any{"executor_id": "company-manager-internal"}),
		name + "Value error, Name must start with alphanumeric and contain only alphanumeric, spaces, '.', '_', '-' [type=value_error, input_value='" + product +
			".bad/name', input_type=str]\n    For further information visit https://errors.pydantic.dev/2.14/v/value_error": {"name": "bad/name"},
	} {
		a := c.alice("POST", "/company/routines", routineBody(product, changes))
		status := 422
		if want == "Product not found" {
			status = 404
		}
		if got := refusal(a); a.status != status || got != want {
			t.Errorf("%v: %d\n got %s\nwant %s", changes, a.status, got, want)
		}
	}
	planner := "Bearer " + token(t, "planner", []string{"routines:write", "schedules:write", "tasks:write", "wiki:read"})
	for _, changes := range []map[string]any{nil, policy(nil)} {
		if a := c.send("POST", "/company/routines", planner, routineBody(product, changes)); a.status != 403 || a.detail() != "Insufficient permissions. Required scope(s): agents:run" {
			t.Errorf("planner: %d %s", a.status, a.raw)
		}
	}
}

func TestRoutineLife(t *testing.T) {
	t.Parallel()
	c := setup(t)
	product, _, _ := c.task()
	made := c.want(201, "POST", "/company/routines", routineBody(product, map[string]any{"name": "daily", "cron_expr": "0 9 * * 1", "timezone": "Europe/Paris"}))
	id := made.text("id")
	at := "/company/routines/" + id
	if made.text("schedule_type") != "scheduled" || made.body["next_run_at"] == nil || made.text("name") != product+".daily" || made.text("endpoint") != "/agents/writer/runs" {
		t.Errorf("%s", made.raw)
	}
	if a := c.alice("POST", "/company/routines", routineBody(product, map[string]any{"name": "daily"})); a.status != 409 || a.detail() != "Schedule with name '"+product+".daily' already exists" {
		t.Errorf("%d %s", a.status, a.raw)
	}
	bob := "Bearer " + token(t, "bob", everything)
	if a := c.send("POST", "/company/routines", bob, routineBody(product, map[string]any{"name": "daily"})); a.status != 201 {
		t.Errorf("the same name by another: %d %s", a.status, a.raw)
	}
	manager := c.want(201, "POST", "/company/routines", routineBody(product, map[string]any{"name": "mgr", "executor_id": "company-manager-internal", "cron_expr": ""}))
	if manager.text("schedule_type") != "on_demand" || manager.body["next_run_at"] != nil || manager.body["cron_expr"] != nil {
		t.Errorf("%s", manager.raw)
	}
	if linked := c.want(200, "GET", "/company/products/"+product, nil).body["metadata"].(map[string]any)["routine_ids"].([]any); len(linked) != 3 || linked[0] != id {
		t.Errorf("links %v", linked)
	}
	for _, e := range []struct {
		body   map[string]any
		status int
		want   string
	}{
		{map[string]any{"name": nil}, 422, "Routine fields cannot be null"},
		{map[string]any{"executor_id": nil}, 422, "Routine fields cannot be null"},
		{map[string]any{"auto_accept": nil}, 422, "Routine fields cannot be null"},
		{map[string]any{"cron_expr": ""}, 422, "Invalid cron expression"},
		{map[string]any{"cron_expr": "x"}, 422, "Invalid cron expression: x"},
		{map[string]any{"timezone": "X"}, 422, "Invalid timezone: X"},
		{map[string]any{"instructions": " "}, 422, "Routine instructions must be nonempty"},
		{map[string]any{"executor_id": "ghost"}, 422, "Routine executor is missing from the registry"},
		{map[string]any{"name": "mgr"}, 409, "Schedule with name '" + product + ".mgr' already exists"},
		{map[string]any{"enabled": false}, 422, "extra_forbidden[body enabled] Extra inputs are not permitted"},
	} {
		if a := c.alice("PATCH", at, e.body); a.status != e.status || refusal(a) != e.want {
			t.Errorf("%v: %d %s, want %s", e.body, a.status, refusal(a), e.want)
		}
	}
	if a := c.want(200, "PATCH", at, map[string]any{"cron_expr": nil}); a.text("schedule_type") != "on_demand" || a.body["next_run_at"] != nil {
		t.Errorf("%s", a.raw)
	}
	c.want(200, "POST", at+"/pause", nil)
	if a := c.want(200, "POST", at+"/pause", nil); a.body["enabled"] != false {
		t.Errorf("%s", a.raw)
	}
	if a := c.alice("POST", at+"/trigger", nil); a.status != 409 || a.detail() != "Routine is paused" {
		t.Errorf("%d %s", a.status, a.raw)
	}
	c.want(200, "POST", at+"/resume", nil)
	run := c.want(200, "POST", at+"/trigger", nil)
	if run.text("status") != "running" || run.text("user_id") != "alice" || run.text("schedule_id") != id || !strings.HasPrefix(run.text("id"), "sr_") {
		t.Errorf("%s", run.raw)
	}
	if a := c.want(200, "GET", at+"/runs?limit=1", nil); len(a.body["data"].([]any)) != 1 {
		t.Errorf("%s", a.raw)
	}
	if a := c.want(200, "GET", at, nil); a.body["last_run"].(map[string]any)["status"] != "running" || strings.Contains(string(a.raw), "scopes") {
		t.Errorf("%s", a.raw)
	}
	for path, want := range map[string]string{"/company/routines/none": "Schedule not found", "/company/routines/agno-company-automation": "Routine not found"} {
		if a := c.alice("GET", path, nil); a.status != 404 || a.detail() != want {
			t.Errorf("%s: %d %s", path, a.status, a.raw)
		}
	}
	if a := c.alice("DELETE", at, nil); a.status != 405 || a.detail() != "Method Not Allowed" {
		t.Errorf("%d %s", a.status, a.raw)
	}
	c.want(204, "DELETE", "/company/products/"+product, nil)
	for _, call := range []struct{ method, path string }{{"PATCH", at}, {"POST", at + "/trigger"}, {"POST", at + "/resume"}} {
		var body any
		if call.method == "PATCH" {
			body = map[string]any{"name": "b"}
		}
		if a := c.alice(call.method, call.path, body); a.status != 404 || a.detail() != "Product not found" {
			t.Errorf("%s %s of an archived Product: %d %s", call.method, call.path, a.status, a.raw)
		}
	}
	c.want(200, "POST", at+"/pause", nil)
	c.want(200, "GET", at, nil)
}
