package api

import (
	"context"
	"encoding/json"

	"companyos/shared/app"
	"companyos/shared/company"
	"companyos/shared/store"
	"companyos/shared/task"
	"companyos/shared/wire"
)

// toolTable is every tool.
func toolTable() []tool {
	return []tool{
		define("list_products", reads, []string{"products:read"}, true, "List Products, newest first.", listProductsTool),
		define("list_projects", reads, []string{"projects:read"}, true, "List the Projects of a Product, or of all, newest first.", listProjectsTool),
		define("list_tasks", reads, []string{"tasks:read"}, true, "List Tasks, newest first.", listTasksTool),
		define("get_task", reads, []string{"tasks:read"}, true, "Read one Task with its history and its latest result.", getTaskTool),
		define("get_run", reads, []string{"tasks:read"}, true, "Read one run: an attempt of a Task.", getRunTool),
		define("list_sources", reads, []string{"sources:read"}, true, "List the Sources of a Product, or of all.", listSourcesTool),
		define("list_wiki_pages", reads, []string{"wiki:read"}, true, "List the pages of a Product's playbook or, without product_id, of the Company's, by path.", listPagesTool),
		define("read_wiki_page", reads, []string{"wiki:read"}, true, "Read a page of a Product's playbook or, without product_id, of the Company's.", readPageTool),
		define("list_decisions", reads, []string{"decisions:read"}, false, "List decisions of the whole Company, newest first.", listDecisionsTool),
		define("get_attention", reads, []string{"tasks:read"}, false, "Count and list what waits for a person.", attentionTool),
		define("list_executors", reads, []string{"tasks:read"}, true, "List who a Task can be proposed for, with why one cannot be used now.", listExecutorsTool),
		define("propose_project", proposes, []string{"projects:write"}, false, "Propose a Project; a person makes it active.", proposeProjectTool),
		define("propose_task", proposes, []string{"tasks:write"}, true, "Propose a Task: it waits in Backlog until a person accepts it.", proposeTaskTool),
		define("record_decision", reports, []string{"decisions:write"}, true, "Record a decision with its reasons. It cannot be changed later.", recordDecisionTool),
		define("write_wiki_page", reports, []string{"wiki:write"}, false, "Write a version of a page; expected_version is the version that was read, 0 for a new page.", writePageTool),
	}
}

type listed struct {
	Limit  int    `json:"limit,omitempty" jsonschema:"how many, 1 to 100; 20 when left out"`
	Cursor string `json:"cursor,omitempty" jsonschema:"meta.next_cursor of the page before"`
}

// query is the part of a list that an agent asks for.
func (l listed) query() (wire.Query, store.Page, error) {
	q := wire.Query{Page: 1, Limit: 20, SortBy: "created_at", SortOrder: "desc"}
	if l.Limit > 0 {
		q.Limit = min(l.Limit, 100)
	}
	if l.Cursor != "" {
		q.Cursor = &l.Cursor
	}
	p, err := position(q)
	return q, p, err
}

func listProductsTool(ctx context.Context, a *agent, in listed) (any, error) {
	q, p, err := in.query()
	if err != nil {
		return nil, err
	}
	if a.run != nil {
		own, err := a.Company.Product(ctx, a.run.ProductID, false)
		return wire.NewPage([]store.CountedProduct{own}, 1, q, productRecord), err
	}
	list, err := a.Company.Products(ctx, p)
	return listPage(list, q, productRecord), err
}

type projectsIn struct {
	listed
	ProductID string `json:"product_id,omitempty"`
	Status    string `json:"status,omitempty" jsonschema:"proposed, active, done or cancelled"`
}

func listProjectsTool(ctx context.Context, a *agent, in projectsIn) (any, error) {
	q, p, err := in.query()
	if err != nil {
		return nil, err
	}
	product, err := a.product(in.ProductID)
	if err != nil {
		return nil, err
	}
	list, err := a.Company.Projects(ctx, p, store.ProjectFilter{ProductID: product, Status: company.ProjectStatus(id(in.Status))})
	return listPage(list, q, projectRecord), err
}

type tasksIn struct {
	listed
	ProductID string `json:"product_id,omitempty"`
	ProjectID string `json:"project_id,omitempty"`
	Status    string `json:"status,omitempty" jsonschema:"backlog, ready, in_progress, in_review, done or cancelled"`
	Failed    *bool  `json:"failed,omitempty" jsonschema:"true: only Tasks whose latest attempt failed"`
}

func listTasksTool(ctx context.Context, a *agent, in tasksIn) (any, error) {
	q, p, err := in.query()
	if err != nil {
		return nil, err
	}
	product, err := a.product(in.ProductID)
	if err != nil {
		return nil, err
	}
	list, err := a.Company.Tasks(ctx, p, store.TaskFilter{
		ProductID: product, ProjectID: id(in.ProjectID), Status: task.Status(id(in.Status)), Failed: in.Failed,
	})
	return listPage(list, q, a.taskRecord), err
}

type taskIn struct {
	TaskID string `json:"task_id"`
}

func getTaskTool(ctx context.Context, a *agent, in taskIn) (any, error) {
	t, err := a.Company.Task(ctx, id(in.TaskID), false)
	if err == nil {
		err = a.sees(t.ProductID, "Task")
	}
	return a.taskRecord(t), err
}

type runIn struct {
	RunID string `json:"run_id"`
}

func getRunTool(ctx context.Context, a *agent, in runIn) (any, error) {
	run, err := a.Company.Run(ctx, id(in.RunID))
	if err == nil {
		err = a.sees(run.ProductID, "Company run")
	}
	if err != nil {
		return nil, err
	}
	return wire.NewListedRun(run), nil
}

type productIn struct {
	ProductID string `json:"product_id,omitempty"`
}

func listSourcesTool(ctx context.Context, a *agent, in productIn) (any, error) {
	product, err := a.product(in.ProductID)
	if err != nil {
		return nil, err
	}
	q, p, err := listed{Limit: 100}.query()
	if err != nil {
		return nil, err
	}
	rows, total, err := a.Company.Sources(ctx, p, product)
	return wire.NewPage(rows, total, q, wire.NewSource), err
}

func listExecutorsTool(ctx context.Context, a *agent, in productIn) (any, error) {
	product, err := a.product(in.ProductID)
	if err != nil {
		return nil, err
	}
	list, err := a.Company.ListExecutors(ctx, product)
	return executorsRecord(list), err
}

func attentionTool(ctx context.Context, a *agent, in productIn) (any, error) {
	waiting, err := a.Company.Attention(ctx, id(in.ProductID), store.Page{Limit: 20, Number: 1})
	return wire.NewAttention(waiting.Attention, waiting.Items), err
}

type pagesIn struct {
	ProductID string `json:"product_id,omitempty"`
	Page      int    `json:"page,omitempty" jsonschema:"of the list, from 1"`
}

// wiki is the namespace that a tool is about. A run reads the Company's and its own Product's.
func (a *agent) wiki(productID string) (string, error) {
	if productID == "" {
		return company.CompanyNamespace, nil
	}
	if productID == company.CompanyNamespace {
		return "", task.NotFound("Product")
	}
	return a.product(productID)
}

func listPagesTool(ctx context.Context, a *agent, in pagesIn) (any, error) {
	namespace, err := a.wiki(in.ProductID)
	if err != nil {
		return nil, err
	}
	q := wire.Query{Page: max(in.Page, 1), Limit: 100}
	rows, total, err := a.Company.WikiPages(ctx, namespace, store.Page{Limit: q.Limit, Number: q.Page})
	return wire.NewPage(rows, total, q, wire.NewWikiPage), err
}

type pageIn struct {
	ProductID string `json:"product_id,omitempty"`
	Path      string `json:"path" jsonschema:"such as brief.md"`
	Version   int    `json:"version,omitempty" jsonschema:"an earlier version; the present one when left out"`
}

func readPageTool(ctx context.Context, a *agent, in pageIn) (any, error) {
	namespace, err := a.wiki(in.ProductID)
	if err != nil {
		return nil, err
	}
	p, err := a.Company.WikiPage(ctx, namespace, in.Path, int64(max(in.Version, 0)))
	return wire.WikiRead{Content: p.Content, Metadata: wire.NewWikiPage(p.PageInfo)}, err
}

type writeIn struct {
	ProductID       string `json:"product_id,omitempty"`
	Path            string `json:"path"`
	Content         string `json:"content"`
	ExpectedVersion int64  `json:"expected_version"`
}

func writePageTool(ctx context.Context, a *agent, in writeIn) (any, error) {
	namespace, err := a.wiki(in.ProductID)
	if err != nil {
		return nil, err
	}
	body, err := checked(&wire.WikiWriteBody, wire.WikiWrite{Content: in.Content, ExpectedVersion: in.ExpectedVersion})
	if err != nil {
		return nil, err
	}
	p, err := a.Company.WritePage(ctx, a.caller, app.PageWrite{
		Namespace: namespace, Path: in.Path, Content: body.Content, ExpectedVersion: body.ExpectedVersion,
	})
	return wire.NewWikiPage(p), err
}

type decisionsIn struct {
	Query string `json:"query,omitempty" jsonschema:"text that a decision holds"`
	Days  int64  `json:"days,omitempty" jsonschema:"only those of so many last days"`
	Page  int    `json:"page,omitempty"`
}

func listDecisionsTool(ctx context.Context, a *agent, in decisionsIn) (any, error) {
	q := wire.Query{Page: max(in.Page, 1), Limit: 20}
	rows, total, err := a.Company.Decisions(ctx, store.Page{Limit: q.Limit, Number: q.Page}, store.DecisionFilter{Text: id(in.Query)}, in.Days)
	return wire.NewPage(rows, total, q, wire.NewDecision), err
}

func recordDecisionTool(ctx context.Context, a *agent, in wire.DecisionCreate) (any, error) {
	in, err := checked(&wire.DecisionCreateBody, in)
	if err != nil {
		return nil, err
	}
	d := app.DecisionInput{Decision: in.Decision, Reasoning: in.Reasoning, Context: in.Context, Outcome: in.Outcome}
	if a.run != nil {
		d.AgentID, d.SessionID = &a.run.ExecutorID, &a.run.SessionID
	}
	recorded, err := a.Company.RecordDecision(ctx, a.caller, d)
	return wire.NewDecision(recorded), err
}

type proposedProject struct {
	ProductID string  `json:"product_id"`
	Name      string  `json:"name"`
	Outcome   *string `json:"outcome,omitempty" jsonschema:"what is different when it is done"`
}

func proposeProjectTool(ctx context.Context, a *agent, in proposedProject) (any, error) {
	body, err := checked(&wire.ProjectCreateBody, wire.ProjectCreate{ProductID: in.ProductID, Name: in.Name, Outcome: in.Outcome})
	if err != nil {
		return nil, err
	}
	p, err := a.Company.CreateProject(ctx, a.caller, app.ProjectInput{ProductID: body.ProductID, Name: body.Name, Outcome: body.Outcome})
	return projectRecord(p), err
}

type proposedTask struct {
	ProductID    string           `json:"product_id,omitempty" jsonschema:"a run may leave it out: it proposes for its own Product"`
	ProjectID    string           `json:"project_id"`
	Title        string           `json:"title"`
	Brief        *string          `json:"brief,omitempty" jsonschema:"what is to be done, and how one sees that it is"`
	Evidence     []map[string]any `json:"evidence,omitempty" jsonschema:"what the proposal rests on"`
	ExecutorType string           `json:"executor_type,omitempty" jsonschema:"agent, team or workflow; a hint for whoever accepts"`
	ExecutorID   string           `json:"executor_id,omitempty"`
}

func proposeTaskTool(ctx context.Context, a *agent, in proposedTask) (any, error) {
	product, err := a.product(in.ProductID)
	if err != nil {
		return nil, err
	}
	create := wire.TaskCreate{ProductID: product, ProjectID: in.ProjectID, Title: in.Title, Brief: in.Brief}
	for _, e := range in.Evidence {
		raw, err := json.Marshal(e)
		if err != nil {
			return nil, err
		}
		create.Evidence = append(create.Evidence, raw)
	}
	if in.ExecutorType != "" {
		create.ExecutorType = (*task.ExecutorKind)(&in.ExecutorType)
	}
	if in.ExecutorID != "" {
		create.ExecutorID = &in.ExecutorID
	}
	if create, err = checked(&wire.TaskCreateBody, create); err != nil {
		return nil, err
	}
	if err := checkTaskIDs(&create.ProjectID, create.ExecutorID); err != nil {
		return nil, err
	}
	input := app.TaskInput{
		ProductID: create.ProductID, ProjectID: create.ProjectID, Title: create.Title, Brief: create.Brief, Evidence: create.Evidence,
		ExecutorType: create.ExecutorType, ExecutorID: create.ExecutorID,
	}
	var t store.TaskInPlace
	if a.run != nil {
		t, err = a.Company.ProposeForRun(ctx, *a.run, input)
	} else {
		t, err = a.Company.CreateTask(ctx, a.caller, input)
	}
	return a.taskRecord(t), err
}
