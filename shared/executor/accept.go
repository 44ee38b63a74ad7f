package executor

import (
	"slices"
	"strings"

	"companyos/shared/task"
)

// RuleError is a broken rule of acceptance or start. Detail is the contract's text. What it answers depends on who asks:
// a Task's transition conflicts, a Routine's body is invalid.
type RuleError struct {
	Detail string
	Code   string
	Remedy string
}

// Error returns the detail.
func (e *RuleError) Error() string { return e.Detail }

// CodeSecretMissing is the code of a MissingSecret.
const CodeSecretMissing = "secret_missing"

// MissingSecret is what is wrong with an executor one of whose secrets does not exist.
func MissingSecret(name, remedy string) *RuleError {
	return &RuleError{Detail: "The secret " + name + " does not exist or is empty", Code: CodeSecretMissing, Remedy: remedy}
}

// The ids of the manager agents, which are not for Tasks.
const (
	ManagerCompany = "company-manager-internal"
	ManagerOS      = "os-manager-internal"
)

var specialists = []string{"platform-builder-internal", "platform-manager-internal"}

// Specialist says whether an id is that of a manager's internal specialist.
func Specialist(id string) bool { return slices.Contains(specialists, id) }

// Reserved says whether an id is a manager's or a specialist's. No executor of ours has one.
func Reserved(id string) bool { return id == ManagerCompany || id == ManagerOS || Specialist(id) }

// Select finds the executor that a Task names and refuses those that no Task is given to. It returns a *RuleError.
func (r *Registry) Select(kind task.ExecutorKind, id string) (Executor, error) {
	if Specialist(id) {
		return Executor{}, &RuleError{
			Detail: "Manager specialists are internal. Select a registered agent, team or workflow as the Task executor.",
			Code:   "executor_reserved",
			Remedy: "Choose an executor of the registry.",
		}
	}
	if Reserved(id) || id == "" || !knownKind(kind) {
		return Executor{}, &RuleError{
			Detail: "Select a registered agent, team or workflow executor",
			Code:   "executor_required",
			Remedy: "Accept the Task: move it to ready with an executor_type and executor_id that GET /company/executors lists.",
		}
	}
	e, ok := r.Lookup(kind, id)
	if !ok {
		return Executor{}, &RuleError{
			Detail: "Task executor is missing from the registry",
			Code:   "executor_unknown",
			Remedy: "There is no " + string(kind) + " " + id + ": choose an executor that GET /company/executors lists, or add this one to executors.yaml.",
		}
	}
	if r.holdsSchedulerTools(e) {
		return Executor{}, &RuleError{
			Detail: "Company executors cannot hold SchedulerTools",
			Code:   "executor_scheduler_tools",
			Remedy: "Choose an executor that cannot change schedules.",
		}
	}
	return e, nil
}

// CheckStart refuses what could be accepted and cannot be started: a remote executor, and one that cannot run yet. It
// returns a *RuleError.
func CheckStart(ex Executor) error {
	if ex.Remote {
		return &RuleError{
			Detail: "Task execution requires a local executor supported by the durable queue",
			Code:   "executor_remote",
			Remedy: "Return the Task to Backlog and accept it for a local executor.",
		}
	}
	return ex.Runnable()
}

// CheckDatabase refuses an executor that keeps no runs, and one whose runs are kept elsewhere than the Task's earlier
// ones. started says whether there are earlier ones, original is where they are. It returns a *RuleError.
func CheckDatabase(ex Executor, started bool, original string) error {
	if ex.NoDatabase {
		return &RuleError{
			Detail: "Task executor requires a database for durable runs",
			Code:   "executor_without_database",
			Remedy: "Give the executor a database, or choose another one.",
		}
	}
	if started && original != ex.DatabaseID {
		return &RuleError{
			Detail: "A Task session must stay in its original executor database",
			Code:   "executor_other_database",
			Remedy: "Choose an executor with the database of the earlier attempts, or create a new Task.",
		}
	}
	return nil
}

// SourceRef is what the rules need of a Source of the Task's Product that is not archived.
type SourceRef struct {
	ID            string
	Type          string
	Reference     string
	CredentialRef *string
}

// MatchSource finds the git Source that lets a sandboxed executor work on its repository: the one with the lowest id
// among those that match. Only equal texts match. An executor without a sandbox needs none: the answer is the zero
// SourceRef. It returns a *RuleError.
func MatchSource(ex Executor, sources []SourceRef) (SourceRef, error) {
	if !ex.Sandboxed() {
		return SourceRef{}, nil
	}
	if ex.Repository == nil {
		return SourceRef{}, &RuleError{
			Detail: "Sandboxed executor requires repository=Repository(url, branch)",
			Code:   "executor_without_repository",
			Remedy: "Give the executor a repository in executors.yaml, or choose another one.",
		}
	}
	var matching, allowed, usable []SourceRef
	for _, s := range sources {
		if s.Type != "git" || s.Reference != ex.Repository.URL {
			continue
		}
		matching = append(matching, s)
		if s.CredentialRef != nil && *s.CredentialRef != SecretGitHubToken {
			continue
		}
		allowed = append(allowed, s)
		if s.CredentialRef == nil || ex.HasSecret(SecretGitHubToken) {
			usable = append(usable, s)
		}
	}
	switch {
	case len(matching) == 0:
		return SourceRef{}, &RuleError{
			Detail: "Sandboxed executor requires a Product git Source matching repository URL " + ex.Repository.URL,
			Code:   "source_missing",
			Remedy: "Add a git Source with exactly this URL to the Task's Product.",
		}
	case len(allowed) == 0:
		return SourceRef{}, &RuleError{
			Detail: "Sandboxed executor git Source credential_ref must be GITHUB_READ_TOKEN",
			Code:   "source_credential",
			Remedy: "Replace the Source by one whose credential_ref is null or GITHUB_READ_TOKEN.",
		}
	case len(usable) == 0:
		return SourceRef{}, &RuleError{
			Detail: "Sandboxed executor requires GITHUB_READ_TOKEN in Sandbox.env for this git Source",
			Code:   "executor_without_token",
			Remedy: "Add GITHUB_READ_TOKEN to the executor's sandbox.secrets, or choose another executor.",
		}
	}
	return slices.MinFunc(usable, func(a, b SourceRef) int { return strings.Compare(a.ID, b.ID) }), nil
}

// CheckPin refuses an executor that cannot continue on the commit that a Task is pinned to; checkout is nil before the
// pin. Another agent with the same repository and branch can. It returns a *RuleError.
func CheckPin(ex Executor, checkout *task.Checkout) error {
	if checkout == nil {
		return nil
	}
	if !ex.Sandboxed() {
		return &RuleError{
			Detail: "Task checkout is already pinned and requires a sandboxed executor; create a new Task",
			Code:   "task_checkout_pinned",
			Remedy: "Create a new Task, or choose a sandboxed executor.",
		}
	}
	if ex.Repository == nil || ex.Repository.URL != checkout.URL || ex.Repository.Branch != checkout.Branch {
		return &RuleError{
			Detail: "Task checkout is already pinned to another repository or branch; create a new Task",
			Code:   "task_checkout_elsewhere",
			Remedy: "Create a new Task, or choose an executor with the repository and branch of this Task's checkout.",
		}
	}
	return nil
}
