package wire

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"companyos/shared/company"
	"companyos/shared/task"
)

// SourceCreate adds a Source to a Product.
type SourceCreate struct {
	Source
	ProductID string `json:"product_id"`
}

// Source is a declared Source. Its rules beyond the shape are shared/company's.
type Source struct {
	ID            *string                    `json:"id,omitzero"` // only declarations may give one
	Type          company.SourceType         `json:"type"`
	Reference     string                     `json:"reference"`
	CredentialRef *string                    `json:"credential_ref,omitzero"` // the name of an environment variable
	Config        map[string]json.RawMessage `json:"config,omitzero"`
}

// DecisionCreate records a decision.
type DecisionCreate struct {
	Decision  string  `json:"decision"`
	Reasoning *string `json:"reasoning,omitzero"`
	Context   *string `json:"context,omitzero"`
	Outcome   *string `json:"outcome,omitzero"`
}

// WikiWrite writes a page. ExpectedVersion 0 creates it.
type WikiWrite struct {
	Content         string `json:"content"`
	ExpectedVersion int64  `json:"expected_version"`
}

// Routine is a declared Routine.
type Routine struct {
	Name         string                  `json:"name"`
	Template     *string                 `json:"template,omitzero"`
	ExecutorType task.ExecutorKind       `json:"executor_type"`
	ExecutorID   string                  `json:"executor_id"`
	CronExpr     *string                 `json:"cron_expr,omitzero"` // null or empty: on demand
	Timezone     string                  `json:"timezone,omitzero"`  // empty: UTC
	Instructions *string                 `json:"instructions,omitzero"`
	AutoAccept   FalseOr[AutoAcceptRule] `json:"auto_accept,omitzero"`
}

// RoutineCreate adds a Routine to a Product.
type RoutineCreate struct {
	Routine
	ProductID string `json:"product_id"`
}

// RoutineUpdate changes a Routine.
type RoutineUpdate struct {
	Name         Opt[string]                  `json:"name,omitzero"`
	ExecutorType Opt[task.ExecutorKind]       `json:"executor_type,omitzero"`
	ExecutorID   Opt[string]                  `json:"executor_id,omitzero"`
	Instructions Opt[string]                  `json:"instructions,omitzero"`
	CronExpr     Opt[string]                  `json:"cron_expr,omitzero"`
	Timezone     Opt[string]                  `json:"timezone,omitzero"`
	AutoAccept   Opt[FalseOr[AutoAcceptRule]] `json:"auto_accept,omitzero"`
}

// AutoAcceptRule is the policy by which a Routine's proposals are accepted.
type AutoAcceptRule struct {
	ExecutorType     task.ExecutorKind `json:"executor_type"`
	ExecutorID       string            `json:"executor_id"`
	SourceIDs        []string          `json:"source_ids,omitzero"`
	WorkScope        *AcceptanceScope  `json:"work_scope,omitzero"`
	RequiredChecks   []string          `json:"required_checks,omitzero"`
	Limits           AcceptanceLimits  `json:"limits"`
	CompleteProjects bool              `json:"complete_projects,omitzero"`
}

// AcceptanceScope names the Products and Projects that proposals may be for.
type AcceptanceScope struct {
	ProductIDs []string  `json:"product_ids,omitzero"`
	ProjectIDs []*string `json:"project_ids,omitzero"`
}

// AcceptanceLimits bounds a policy in number and time.
type AcceptanceLimits struct {
	MaxAcceptances *int64 `json:"max_acceptances,omitzero"` // 1 when left out
	ExpiresAt      int64  `json:"expires_at"`               // epoch seconds
}

// Setup makes the first Product.
type Setup struct {
	ID       *string                    `json:"id,omitzero"` // null
	Name     string                     `json:"name"`
	Purpose  *string                    `json:"purpose,omitzero"`
	UserID   *string                    `json:"user_id,omitzero"` // null
	Metadata map[string]json.RawMessage `json:"metadata,omitzero"`
	Sources  []Source                   `json:"sources,omitzero"`
	Routines []Routine                  `json:"routines,omitzero"`
}

// FalseOr is false, or a value.
type FalseOr[T any] struct{ V *T }

// IsZero leaves false out of a request.
func (f FalseOr[T]) IsZero() bool { return f.V == nil }

// UnmarshalJSON reads false or the value.
func (f *FalseOr[T]) UnmarshalJSON(data []byte) error {
	if string(data) == "false" {
		f.V = nil
		return nil
	}
	f.V = new(T)
	return json.Unmarshal(data, f.V)
}

// MarshalJSON writes false or the value.
func (f FalseOr[T]) MarshalJSON() ([]byte, error) {
	if f.V == nil {
		return []byte("false"), nil
	}
	return json.Marshal(f.V)
}

// Bodies of Sources, decisions and the wiki.
var (
	SourceCreateBody = Body[SourceCreate]{Model: Model{Name: "SourceCreate", Fields: append(sourceFields(Field{Name: "id", Type: FieldNull}),
		str("product_id").required())}}
	DecisionCreateBody = Body[DecisionCreate]{Model: Model{Name: "DecisionCreate", Fields: []Field{
		str("decision").required().notEmpty(),
		str("reasoning").nullable(),
		str("context").nullable(),
		str("outcome").nullable(),
	}}}
	WikiWriteBody = Body[WikiWrite]{Model: Model{Name: "WikiWrite", Fields: []Field{
		str("content").required(),
		integer("expected_version", 0).required(),
	}}}
)

// Bodies of Routines and of the setup.
var (
	RoutineCreateBody = Body[RoutineCreate]{Model: Model{Name: "RoutineCreate", check: checkRoutine, Fields: append(routineFields(),
		str("product_id").required())}}
	RoutineUpdateBody = Body[RoutineUpdate]{Model: Model{Name: "RoutineUpdate", Fields: []Field{
		str("name").notEmpty().max(255).nullable(),
		literal("executor_type", executorKinds()).nullable(),
		str("executor_id").notEmpty().nullable(),
		str("instructions").nullable(),
		str("cron_expr").nullable(),
		str("timezone").nullable(),
		{Name: "auto_accept", Type: FieldFalseOr, Model: autoAccept(), Nullable: true},
	}}}
	SetupBody = Body[Setup]{Model: Model{Name: "Setup", Fields: []Field{
		{Name: "id", Type: FieldNull},
		str("name").required().notEmpty().rule(notBlank(textName)),
		str("purpose").nullable(),
		{Name: "user_id", Type: FieldNull},
		object("metadata"),
		list("sources", Field{Type: FieldModel, Model: &Model{Name: "Source", Fields: sourceFields(str("id").nullable())}}),
		list("routines", Field{Type: FieldModel, Model: &Model{Name: "Routine", check: checkRoutine, Fields: routineFields()}}),
	}}}
)

func sourceFields(id Field) []Field {
	types := names([]company.SourceType{company.SourceGit, company.SourceMarkdown, company.SourceWebsite})
	return []Field{
		id,
		literal("type", types).required(),
		str("reference").required(),
		str("credential_ref").nullable(),
		object("config"),
	}
}

func routineFields() []Field {
	return []Field{
		str("name").required().notEmpty().max(255),
		literal("template", []string{"refresh", "intake", "summary"}).nullable(),
		literal("executor_type", executorKinds()).required(),
		str("executor_id").required().notEmpty(),
		str("cron_expr").nullable(),
		str("timezone").def("UTC"),
		str("instructions").nullable(),
		{Name: "auto_accept", Type: FieldFalseOr, Model: autoAccept(), Default: false},
	}
}

func autoAccept() *Model {
	return &Model{Name: "AutoAccept", Fields: []Field{
		literal("executor_type", executorKinds()).required(),
		str("executor_id").required().notEmpty(),
		list("source_ids", str("")).nullable(),
		{Name: "work_scope", Type: FieldModel, Nullable: true, Model: &Model{Name: "AcceptanceScope", Fields: []Field{
			list("product_ids", str("")).nullable(),
			list("project_ids", str("").nullable()).nullable(),
		}}},
		list("required_checks", str("")).notEmpty().def([]string{"executor_registered"}),
		{Name: "limits", Type: FieldModel, Required: true, Model: &Model{Name: "AcceptanceLimits", Fields: []Field{
			integer("max_acceptances", 1).def(1),
			integer("expires_at", 1).required(),
		}}},
		{Name: "complete_projects", Type: FieldBool, Default: false},
	}}
}

// checkRoutine looks at a Routine as a whole: it needs something to do, a cron line and a time zone that exist.
func checkRoutine(v *value) string {
	instructions := v.get("instructions")
	switch {
	case instructions.null() && v.get("template").null():
		return "Routine instructions are required without a template"
	case !instructions.null() && strings.TrimSpace(instructions.str) == "":
		return "Routine instructions must be nonempty"
	case !validCron(v.get("cron_expr").text()):
		return "Invalid cron expression"
	case !validZone(v.get("timezone")):
		return "Invalid timezone"
	}
	return ""
}

// validCron accepts five fields; an empty line means on demand.
func validCron(line string) bool {
	if line == "" {
		return true
	}
	if len(strings.Fields(line)) != 5 || strings.Contains(line, "=") { // a zone in the line would contradict timezone
		return false
	}
	_, err := cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow).Parse(line)
	return err == nil
}

func validZone(v *value) bool {
	if v == nil {
		return true
	}
	if v.str == "" || v.str == "Local" { // Go's names for UTC and for this machine
		return false
	}
	_, err := time.LoadLocation(v.str)
	return err == nil
}
