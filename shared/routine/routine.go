// Package routine holds the rules of Routines and of what a Company does by itself: when a Routine fires, which of its
// proposals are accepted without a person, how repeated failures are told, and what is old enough to go. It is pure.
package routine

import (
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"companyos/shared/task"
)

// AutomationID is the contract's id of the schedule by which the automation ticks. It is no Routine.
const AutomationID = "agno-company-automation"

// Template is a Routine's ready-made purpose.
type Template string

// The templates.
const (
	TemplateRefresh Template = "refresh"
	TemplateIntake  Template = "intake"
	TemplateSummary Template = "summary"
)

// Routine is work that a Product has done again and again: on a cron line, or when somebody asks.
type Routine struct {
	ID             string
	ProductID      string
	UserID         string // creator
	Name           string // composed: <product id>.<name>
	Template       *Template
	ExecutorType   task.ExecutorKind
	ExecutorID     string
	Instructions   string // what the executor is told, behind the line that names the Product
	CronExpr       *string
	Timezone       string
	Enabled        bool
	DisabledReason *string
	NextRunAt      *time.Time
	Policy         *Policy             // nil: nothing is accepted automatically
	Grant          *task.Authorization // of whoever authorized the policy
	Authority      task.Authorization  // what scheduled runs may do: the creator's rights, or the last editor's
	LiveRunID      *string             // the run that has not ended
	LastRun        *LastRun
	Revision       int64
	CreatedAt      time.Time
	UpdatedAt      time.Time
}

// LastRun is how the latest run of a Routine went; one that was skipped is none.
type LastRun struct {
	ID          string     `json:"id"`
	Status      Status     `json:"status"`
	TriggeredAt time.Time  `json:"triggered_at"`
	CompletedAt *time.Time `json:"completed_at"`
	RunID       string     `json:"run_id"`
	SessionID   string     `json:"session_id"`
	Error       *string    `json:"error"`
}

// DisabledProductArchived is why a Routine is off whose Product was archived.
const DisabledProductArchived = "company_product_archived"

// Message is what the executor of a run is told.
func (r *Routine) Message() string { return message(r.ProductID, r.Instructions) }

func message(productID, instructions string) string {
	return "Operate only on Product \"" + productID + "\".\n\n" + instructions
}

// ShortName is the name without the Product's id.
func (r *Routine) ShortName() string { return strings.TrimPrefix(r.Name, r.ProductID+".") }

var validName = regexp.MustCompile(`\A[a-zA-Z0-9][a-zA-Z0-9 ._-]*\z`)

// maxName is the longest composed name, in characters.
const maxName = 255

// CheckName refuses a composed name. model is the record that the contract's text names: ScheduleCreate or
// ScheduleUpdate. The text is the contract's to the letter, with where it comes from.
func CheckName(model, name string) error {
	text, kind := "", ""
	switch {
	case utf8.RuneCountInString(name) > maxName:
		text, kind = "String should have at most 255 characters", "string_too_long"
	case !validName.MatchString(name):
		text, kind = "Value error, Name must start with alphanumeric and contain only alphanumeric, spaces, '.', '_', '-'", "value_error"
	default:
		return nil
	}
	return task.Invalidf("routine_name", "Use letters, digits, spaces, '.', '_' and '-', at most 255 characters together with the Product's id.",
		"1 validation error for %s\nname\n  %s [type=%s, input_value=%s, input_type=str]\n    For further information visit https://errors.pydantic.dev/2.14/v/%s",
		model, text, kind, shortened("'"+name+"'"), kind)
}

// shortened keeps both ends of a long value.
func shortened(s string) string {
	const head, tail = 25, 24
	r := []rune(s)
	if len(r) <= head+tail+1 {
		return s
	}
	return string(r[:head]) + "..." + string(r[len(r)-tail:])
}
