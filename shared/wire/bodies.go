package wire

import (
	"encoding/json"
	"strings"

	"companyos/shared/company"
	"companyos/shared/task"
)

// ProductCreate makes a Product.
type ProductCreate struct {
	Name     string                     `json:"name"`
	Purpose  *string                    `json:"purpose,omitzero"`
	Metadata map[string]json.RawMessage `json:"metadata,omitzero"`
}

// ProductUpdate changes a Product. A null purpose is cleared; null metadata is reset to its defaults.
type ProductUpdate struct {
	Name     Opt[string]                     `json:"name,omitzero"`
	Purpose  Opt[string]                     `json:"purpose,omitzero"`
	Metadata Opt[map[string]json.RawMessage] `json:"metadata,omitzero"`
}

// ProjectCreate makes a Project of a Product.
type ProjectCreate struct {
	ProductID  string  `json:"product_id"`
	Name       string  `json:"name"`
	Outcome    *string `json:"outcome,omitzero"`
	TargetDate *LaxInt `json:"target_date,omitzero"` // epoch seconds
}

// ProjectUpdate changes a Project.
type ProjectUpdate struct {
	Name       Opt[string] `json:"name,omitzero"`
	Outcome    Opt[string] `json:"outcome,omitzero"`
	TargetDate Opt[LaxInt] `json:"target_date,omitzero"`
}

// ProjectTransition moves a Project.
type ProjectTransition struct {
	Target company.ProjectStatus `json:"target"`
	Reason string                `json:"reason"`
}

// TaskCreate proposes a Task. The executor is a hint: nothing is checked before acceptance.
type TaskCreate struct {
	ExecutorType *task.ExecutorKind `json:"executor_type,omitzero"`
	ExecutorID   *string            `json:"executor_id,omitzero"`
	ProductID    string             `json:"product_id"`
	Title        string             `json:"title"`
	Brief        *string            `json:"brief,omitzero"`
	ProjectID    string             `json:"project_id"`
	Evidence     []json.RawMessage  `json:"evidence,omitzero"` // objects
}

// TaskUpdate changes a Task in Backlog.
type TaskUpdate struct {
	ExecutorType Opt[task.ExecutorKind] `json:"executor_type,omitzero"`
	ExecutorID   Opt[string]            `json:"executor_id,omitzero"`
	Title        Opt[string]            `json:"title,omitzero"`
	Brief        Opt[string]            `json:"brief,omitzero"`
	ProjectID    Opt[string]            `json:"project_id,omitzero"`
	Evidence     Opt[[]json.RawMessage] `json:"evidence,omitzero"`
}

// TaskTransition moves a Task. Attempt and ResultSHA256 name what the person saw; no longer current means 409.
type TaskTransition struct {
	Target       task.Status        `json:"target"`
	Reason       string             `json:"reason"`
	ExecutorType *task.ExecutorKind `json:"executor_type,omitzero"`
	ExecutorID   *string            `json:"executor_id,omitzero"`
	Attempt      *int               `json:"attempt,omitzero"`
	ResultSHA256 *string            `json:"result_sha256,omitzero"`
}

// TaskRunCreate starts an attempt: the first when Attempt is 0. Reason is the reviewer's words for a revision, and
// ResultSHA256 the result that it revises.
type TaskRunCreate struct {
	Attempt      int     `json:"attempt,omitzero"`
	Reason       *string `json:"reason,omitzero"`
	ResultSHA256 *string `json:"result_sha256,omitzero"`
}

const (
	textName   = "name must be a non-empty string"
	textTitle  = "title must be a non-empty string"
	textReason = "A transition requires a non-empty reason"
)

// Bodies of Products and Projects.
var (
	ProductCreateBody = Body[ProductCreate]{Model: Model{Name: "ProductCreate", Extra: true, Fields: []Field{
		str("name").required().notEmpty().rule(notBlank(textName)),
		str("purpose").nullable(),
		object("metadata").nullable(),
	}}}
	ProductUpdateBody = Body[ProductUpdate]{Model: Model{Name: "ProductUpdate", Extra: true, Fields: []Field{
		str("name").ruleWithNull(notBlank(textName)),
		str("purpose").nullable(),
		object("metadata").nullable(),
	}}}
	ProjectCreateBody = Body[ProjectCreate]{Model: Model{Name: "ProjectCreate", Fields: []Field{
		str("product_id").required().notEmpty(),
		str("name").required().notEmpty().rule(notBlank(textName)),
		str("outcome").nullable(),
		{Name: "target_date", Type: FieldLaxInt, Nullable: true},
	}}}
	ProjectUpdateBody = Body[ProjectUpdate]{Model: Model{Name: "ProjectUpdate", Fields: []Field{
		str("name").ruleWithNull(notBlank(textName)),
		str("outcome").nullable(),
		{Name: "target_date", Type: FieldLaxInt, Nullable: true},
	}}}
	ProjectTransitionBody = Body[ProjectTransition]{Model: Model{Name: "ProjectTransition", Fields: []Field{
		literal("target", projectStatuses()).required(),
		str("reason").required().notEmpty().rule(notBlank(textReason)),
	}}}
)

// Bodies of Tasks.
var (
	TaskCreateBody = Body[TaskCreate]{Model: Model{Name: "TaskCreate", Fields: []Field{
		literal("executor_type", executorKinds()).nullable(),
		str("executor_id").notEmpty().nullable(),
		str("product_id").required().notEmpty(),
		str("title").required().notEmpty().rule(notBlank(textTitle)),
		str("brief").nullable(),
		str("project_id").required().notEmpty(),
		list("evidence", object("")).nullable(),
	}}}
	TaskUpdateBody = Body[TaskUpdate]{Model: Model{Name: "TaskUpdate", Fields: []Field{
		literal("executor_type", executorKinds()).nullable(),
		str("executor_id").notEmpty().nullable(),
		str("title").ruleWithNull(notBlank(textTitle)),
		str("brief").nullable(),
		str("project_id").nullable(),
		list("evidence", object("")).nullable(),
	}}}
	TaskTransitionBody = Body[TaskTransition]{Model: Model{Name: "TaskTransition", check: checkExecutor, Fields: []Field{
		literal("target", taskStatuses()).required(),
		str("reason").required().notEmpty().rule(notBlank(textReason)),
		literal("executor_type", executorKinds()).nullable(),
		str("executor_id").notEmpty().nullable(),
		integer("attempt", 1).nullable(),
		str("result_sha256").nullable().rule(sha256Hex),
	}}}
	TaskRunCreateBody = Body[TaskRunCreate]{Optional: true, Model: Model{Name: "TaskRunCreate", Fields: []Field{
		integer("attempt", 1).def(1),
		str("reason").nullable().rule(notBlank("A revision requires a non-empty reason")),
		str("result_sha256").nullable().rule(sha256Hex),
	}}}
)

// checkExecutor ties the executor to the target: Ready names one, no other target does.
func checkExecutor(v *value) string {
	kind, id := v.get("executor_type"), v.get("executor_id")
	if v.get("target").text() != string(task.StatusReady) {
		if !kind.null() || !id.null() {
			return "Only Ready can set an executor"
		}
		return ""
	}
	if kind.null() || strings.TrimSpace(id.text()) == "" {
		return "Ready requires an executor type and id"
	}
	return ""
}

func taskStatuses() []string    { return names(task.Statuses()) }
func projectStatuses() []string { return names(company.ProjectStatuses()) }
func executorKinds() []string {
	return names([]task.ExecutorKind{task.ExecutorAgent, task.ExecutorTeam, task.ExecutorWorkflow})
}

func names[S ~string](values []S) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = string(v)
	}
	return out
}
