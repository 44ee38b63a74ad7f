package wire

import "net/http"

// Caller is who a route is for.
type Caller string

// The callers.
const (
	CallerPublic  Caller = "public"  // anybody, without a token
	CallerPerson  Caller = "person"  // a person's token with the route's scopes
	CallerSandbox Caller = "sandbox" // a launch or session token; a person's token opens none of these
	CallerAgent   Caller = "agent"   // a person's token, or the session token of a run that works; each tool has its scope
)

// Sizes of request bodies, in bytes.
const (
	maxBody       = 1 << 20
	maxWikiBody   = 5 << 20 // 1,000,000 bytes of content, escaped at worst
	maxEventBody  = 256 << 10
	maxReportBody = 64 << 10
)

// Route is one line of the table: what exists, for whom, and what it takes and answers. The order of checks is the
// same everywhere: token (401), scopes (403), size (413), query and body (422), then the use case.
type Route struct {
	Name    string // unique; handlers are bound by it
	Method  string
	Pattern string // of net/http's mux
	Caller  Caller
	Scopes  []string // all are needed
	Does    string
	Query   Params
	Body    bodyTable // nil: none is read
	MaxBody int64
	Status  int    // of a success
	Answer  any    // a zero record; nil for none
	Type    string // of an answer that is not JSON
}

// Scopes of the routes.
var (
	productsRead   = []string{"products:read"}
	productsWrite  = []string{"products:write"}
	productsDelete = []string{"products:delete"}
	sourcesRead    = []string{"sources:read"}
	sourcesWrite   = []string{"sources:write"}
	sourcesDelete  = []string{"sources:delete"}
	projectsRead   = []string{"projects:read"}
	projectsWrite  = []string{"projects:write"}
	projectsDelete = []string{"projects:delete"}
	tasksRead      = []string{"tasks:read"}
	tasksWrite     = []string{"tasks:write"}
	tasksDelete    = []string{"tasks:delete"}
	tasksRun       = []string{"tasks:write", "wiki:read"}
	wikiRead       = []string{"wiki:read"}
	wikiWrite      = []string{"wiki:write"}
	decisionsRead  = []string{"decisions:read"}
	decisionsWrite = []string{"decisions:write"}
	routinesRead   = []string{"routines:read"}
	routinesRuns   = []string{"routines:read", "schedules:read"}
	routinesWrite  = []string{"routines:write", "schedules:write"}
)

// Routes is every operation.
var Routes = []Route{
	get("products.list", "/company/products", productsRead, "list Products, newest first", paramsList, Page[Product]{}),
	post("products.create", "/company/products", productsWrite, "make a Product", &ProductCreateBody, http.StatusCreated, Product{}),
	get("products.get", "/company/products/{product_id}", productsRead, "one Product", paramsArchived, Product{}),
	patch("products.update", "/company/products/{product_id}", productsWrite, "change a Product", &ProductUpdateBody, Product{}),
	remove("products.delete", "/company/products/{product_id}", productsDelete, "archive a Product, its Projects and its Tasks"),
	post("products.restore", "/company/products/{product_id}/restore", productsDelete, "restore a Product and what was archived with it", nil, http.StatusOK, Product{}),

	get("sources.list", "/company/sources", sourcesRead, "list Sources, newest first", Params{paramProductID, paramLimit, paramPage, paramIncludeDeleted}, Page[SourceRecord]{}),
	post("sources.create", "/company/sources", sourcesWrite, "add a Source to a Product", &SourceCreateBody, http.StatusCreated, SourceRecord{}),
	remove("sources.delete", "/company/sources/{source_id}", sourcesDelete, "archive a Source"),
	post("sources.restore", "/company/sources/{source_id}/restore", sourcesDelete, "restore a Source", nil, http.StatusOK, SourceRecord{}),

	get("routines.list", "/company/routines", routinesRead, "list Routines, newest first", Params{paramProductID, paramLimit, paramPage}, Page[RoutineRecord]{}),
	post("routines.create", "/company/routines", routinesWrite, "add a Routine to a Product", &RoutineCreateBody, http.StatusCreated, RoutineRecord{}),
	get("routines.get", "/company/routines/{routine_id}", routinesRead, "one Routine", nil, RoutineRecord{}),
	patch("routines.update", "/company/routines/{routine_id}", routinesWrite, "change a Routine", &RoutineUpdateBody, RoutineRecord{}),
	post("routines.trigger", "/company/routines/{routine_id}/trigger", routinesWrite, "run a Routine now", nil, http.StatusOK, ScheduleRun{}),
	post("routines.pause", "/company/routines/{routine_id}/pause", routinesWrite, "pause a Routine", nil, http.StatusOK, RoutineRecord{}),
	post("routines.resume", "/company/routines/{routine_id}/resume", routinesWrite, "resume a Routine", nil, http.StatusOK, RoutineRecord{}),
	get("routines.runs", "/company/routines/{routine_id}/runs", routinesRuns, "list a Routine's runs, newest first", paramsPage, Page[ScheduleRun]{}),

	post("setup", "/company/setup", productsWrite, "make the first Product; 200 where it is there already", &SetupBody, http.StatusCreated, ProductRow{}),

	get("projects.list", "/company/projects", projectsRead, "list Projects, newest first", paramsList.with(paramProductID, paramProjectStatus), Page[Project]{}),
	post("projects.create", "/company/projects", projectsWrite, "propose a Project", &ProjectCreateBody, http.StatusCreated, Project{}),
	get("projects.get", "/company/projects/{project_id}", projectsRead, "one Project", paramsArchived, Project{}),
	patch("projects.update", "/company/projects/{project_id}", projectsWrite, "change a Project", &ProjectUpdateBody, Project{}),
	remove("projects.delete", "/company/projects/{project_id}", projectsDelete, "archive a Project and its Tasks"),
	post("projects.restore", "/company/projects/{project_id}/restore", projectsDelete, "restore a Project and what was archived with it", nil, http.StatusOK, Project{}),
	post("projects.transition", "/company/projects/{project_id}/transitions", projectsWrite, "move a Project", &ProjectTransitionBody, http.StatusOK, Project{}),

	get("tasks.list", "/company/tasks", tasksRead, "list Tasks, newest first", paramsList.with(paramProductID, paramTaskStatus, paramProjectID, paramFailed), Page[Task]{}),
	post("tasks.create", "/company/tasks", tasksWrite, "propose a Task", &TaskCreateBody, http.StatusCreated, Task{}),
	get("tasks.get", "/company/tasks/{task_id}", tasksRead, "one Task", paramsArchived, Task{}),
	patch("tasks.update", "/company/tasks/{task_id}", tasksWrite, "change a Task in Backlog", &TaskUpdateBody, Task{}),
	remove("tasks.delete", "/company/tasks/{task_id}", tasksDelete, "archive a Task"),
	post("tasks.restore", "/company/tasks/{task_id}/restore", tasksDelete, "restore a Task", nil, http.StatusOK, Task{}),
	post("tasks.transition", "/company/tasks/{task_id}/transitions", tasksWrite, "move a Task; accepting it needs the right to run its executor", &TaskTransitionBody, http.StatusOK, Task{}),
	post("tasks.start", "/company/tasks/{task_id}/runs", tasksRun, "start an attempt, or a revision with a reason; a repeat names the same run", &TaskRunCreateBody, http.StatusAccepted, Started{}),
	get("tasks.runs", "/company/tasks/{task_id}/runs", tasksRead, "list a Task's runs, oldest first", paramsPage, Page[Run]{}),

	get("product_wiki.list", "/company/products/{product_id}/wiki", wikiRead, "list a Product's pages by path", paramsPage, Page[WikiPage]{}),
	get("product_wiki.read", "/company/products/{product_id}/wiki/{path...}", wikiRead, "one page of a Product; version= shows an earlier one", Params{paramVersion}, WikiRead{}),
	put("product_wiki.write", "/company/products/{product_id}/wiki/{path...}", wikiWrite, "write a page of a Product", &WikiWriteBody, WikiPage{}),
	get("wiki.list", "/company/wiki", wikiRead, "list the Company's pages by path", paramsPage, Page[WikiPage]{}),
	get("wiki.read", "/company/wiki/{path...}", wikiRead, "one page of the Company; version= shows an earlier one", Params{paramVersion}, WikiRead{}),
	put("wiki.write", "/company/wiki/{path...}", wikiWrite, "write a page of the Company", &WikiWriteBody, WikiPage{}),

	get("decisions.list", "/company/decisions", decisionsRead, "list decisions, newest first", Params{paramText, paramAgentID, paramSessionID, paramDays, paramLimit, paramPage}, Page[Decision]{}),
	post("decisions.create", "/company/decisions", decisionsWrite, "record a decision", &DecisionCreateBody, http.StatusCreated, Decision{}),

	get("runs.get", "/company/runs/{run_id}", tasksRead, "one run", nil, Run{}),
	get("runs.events", "/company/runs/{run_id}/events", tasksRead, "what happened in a run after a sequence number; wait= seconds for the next", Params{paramAfter, paramMost, paramWait}, RunEvents{}),
	text("runs.patch", "/company/runs/{run_id}/patch", tasksRead, "the latest saved changes of a run", "text/x-diff"),
	text("runs.log", "/company/runs/{run_id}/log", tasksRead, "what the sandbox of a run printed", "text/plain; charset=utf-8"),
	post("runs.cancel", "/company/runs/{run_id}/cancel", tasksWrite, "end a run; needs the right to run its executor", nil, http.StatusOK, struct{}{}),
	get("executors", "/company/executors", tasksRead, "list the executors, with why one cannot be used now", Params{paramProductID}, Executors{}),
	get("attention", "/company/attention", tasksRead, "count what waits for a person, and list it, longest waiting first", Params{paramProductID, paramLimit, paramPage, paramCursor}, Attention{}),

	{Name: "mcp", Method: http.MethodPost, Pattern: "/mcp", Caller: CallerAgent, Does: "tools for agents (Model Context Protocol, streamable HTTP)", MaxBody: maxBody, Status: http.StatusOK},

	public("openapi", "/openapi.json", "this description", "application/json"),
	public("docs", "/docs", "this description, to read", "text/html; charset=utf-8"),

	sandbox("sandbox.claim", "/sandbox/claim", "exchange a launch token for the work", &ClaimBody, maxReportBody, ClaimResponse{}),
	sandbox("sandbox.prepared", "/sandbox/prepared", "report the checkout before the agent starts", &PreparedBody, maxReportBody, PreparedResponse{}),
	sandbox("sandbox.events", "/sandbox/events", "report a batch of events", &EventsBody, maxEventBody, EventsResponse{}),
	sandbox("sandbox.artifacts", "/sandbox/artifacts", "announce an upload", &ArtifactBody, maxReportBody, ArtifactResponse{}),
	sandbox("sandbox.result", "/sandbox/result", "report the end", &ResultBody, maxReportBody, ResultResponse{}),
}

func get(name, pattern string, scopes []string, does string, q Params, answer any) Route {
	return Route{Name: name, Method: http.MethodGet, Pattern: pattern, Caller: CallerPerson, Scopes: scopes, Does: does, Query: q, Status: http.StatusOK, Answer: answer}
}

func text(name, pattern string, scopes []string, does, contentType string) Route {
	r := get(name, pattern, scopes, does, nil, nil)
	r.Type = contentType
	return r
}

func post(name, pattern string, scopes []string, does string, body bodyTable, status int, answer any) Route {
	return Route{Name: name, Method: http.MethodPost, Pattern: pattern, Caller: CallerPerson, Scopes: scopes, Does: does, Body: body, MaxBody: maxBody, Status: status, Answer: answer}
}

func patch(name, pattern string, scopes []string, does string, body bodyTable, answer any) Route {
	r := post(name, pattern, scopes, does, body, http.StatusOK, answer)
	r.Method = http.MethodPatch
	return r
}

func put(name, pattern string, scopes []string, does string, body bodyTable, answer any) Route {
	r := post(name, pattern, scopes, does, body, http.StatusOK, answer)
	r.Method, r.MaxBody = http.MethodPut, maxWikiBody
	return r
}

func remove(name, pattern string, scopes []string, does string) Route {
	return Route{Name: name, Method: http.MethodDelete, Pattern: pattern, Caller: CallerPerson, Scopes: scopes, Does: does, Status: http.StatusNoContent}
}

func public(name, pattern, does, contentType string) Route {
	return Route{Name: name, Method: http.MethodGet, Pattern: pattern, Caller: CallerPublic, Does: does, Status: http.StatusOK, Type: contentType}
}

func sandbox(name, pattern, does string, body bodyTable, limit int64, answer any) Route {
	return Route{Name: name, Method: http.MethodPost, Pattern: pattern, Caller: CallerSandbox, Does: does, Body: body, MaxBody: limit, Status: http.StatusOK, Answer: answer}
}
