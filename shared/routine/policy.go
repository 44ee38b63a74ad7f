package routine

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"companyos/shared/company"
	"companyos/shared/task"
)

// Policy says which proposals of a Routine are accepted without a person, for which executor, how many and until when.
// The names and the order of its fields are those of the contract's fingerprint.
type Policy struct {
	ExecutorType     task.ExecutorKind `json:"executor_type"`
	ExecutorID       string            `json:"executor_id"`
	SourceIDs        []string          `json:"source_ids"` // null: any Source of the Product
	WorkScope        *Scope            `json:"work_scope"` // null: the whole Product
	RequiredChecks   []string          `json:"required_checks"`
	Limits           Limits            `json:"limits"`
	CompleteProjects bool              `json:"complete_projects"`
}

// Scope narrows a policy; a null list allows all.
type Scope struct {
	ProductIDs []string  `json:"product_ids"`
	ProjectIDs []*string `json:"project_ids"`
}

// Limits bounds a policy.
type Limits struct {
	ExpiresAt      int64 `json:"expires_at"` // epoch seconds
	MaxAcceptances int64 `json:"max_acceptances"`
}

// The built-in checks.
const (
	CheckRegistered = "executor_registered"
	CheckActive     = "project_active"
	CheckEvidence   = "has_source_evidence"
)

// BuiltIn says that a check is one of those that no application may replace.
func BuiltIn(check string) bool {
	return check == CheckRegistered || check == CheckActive || check == CheckEvidence
}

// Fingerprint tells policies apart: changing one begins a new budget.
func (p *Policy) Fingerprint() string {
	var fields map[string]json.RawMessage
	whole, err := json.Marshal(p)
	if err == nil {
		err = json.Unmarshal(whole, &fields)
	}
	if err != nil {
		panic(err) // a Policy always has a JSON form
	}
	if !p.CompleteProjects {
		delete(fields, "complete_projects")
	}
	sum := sha256.Sum256([]byte(asciiJSON(fields)))
	return hex.EncodeToString(sum[:])
}

// Expired says that the policy's time is over.
func (p *Policy) Expired(now time.Time) bool { return now.Unix() >= p.Limits.ExpiresAt }

// Refusal is why the automation does not accept or start something. It leaves things as they are; a person may decide.
type Refusal struct{ Reason string }

// Error returns the reason.
func (r *Refusal) Error() string { return r.Reason }

// Refusef refuses with one of the contract's reasons.
func refuse(reason string) error { return &Refusal{reason} }

// The contract's reasons, in the order in which they are looked for.
const (
	ReasonFreshHuman     = "Previously accepted Task requires fresh human acceptance after return to Backlog"
	ReasonDisabled       = "Routine was disabled or deleted"
	ReasonNoGrant        = "Routine has no human automatic acceptance authorization"
	ReasonNoProjects     = "Routine is not authorized to complete Projects"
	ReasonOtherProduct   = "Proposal is outside the Routine Product"
	ReasonOtherExecutor  = "Proposed executor is outside automatic acceptance authorization"
	ReasonOutOfScope     = "Proposal is outside the authorized work scope"
	ReasonExpired        = "Routine automatic acceptance expired"
	ReasonOtherSources   = "Proposal is outside the authorized Sources"
	ReasonNotHuman       = "Automatic acceptance requires human authority"
	ReasonNoAuthority    = "Automatic acceptance has no saved human authority"
	ReasonDisabledAuthor = "Automatic acceptance author is disabled"
	ReasonNoDirectory    = "Automatic acceptance user directory is unavailable"
	ReasonLimit          = "Routine acceptance limit reached"
	ReasonUnknownCheck   = "Unknown automatic acceptance check"
	ReasonCheckFailed    = "Required automatic acceptance check failed: "
	ReasonChanged        = "Routine automatic acceptance changed during checks"
	ReasonExpiredDuring  = "Routine automatic acceptance expired during checks"
	ReasonTaskChanged    = "Proposal changed during automatic acceptance"

	// At dispatch, and again where the work begins.
	ReasonRevoked       = "Routine automatic acceptance was changed or revoked"
	ReasonFreshNeeded   = "Task needs a fresh acceptance before automatic pickup"
	ReasonNoCaller      = "Task acceptance has no saved caller authority"
	ReasonStillActive   = "The previous Task run is still active"
	ReasonChangedBefore = "Task acceptance changed before automatic dispatch"
	ReasonDeleted       = "Task was deleted"
	ReasonBudget        = "Company automation tick exhausted its claim budget"
)

// Reasons of the entries that the automation leaves in a history.
const (
	EntryAccepted  = "Authorized Routine proposal"
	EntryCompleted = "Authorized Refresh completion proposal"
)

// Evidence is one item of a proposal: what was read where, and what it looked like.
type Evidence struct {
	SourceID     string   `json:"source_id"`
	RunID        string   `json:"run_id"`
	ContentHash  string   `json:"content_hash"` // sha256 of the content
	Link         string   `json:"link"`
	SkippedPaths []string `json:"skipped_paths"`
}

// ReadEvidence reads the items of a Task. complete is false when one lacks what a check needs, or there is none.
func ReadEvidence(raw []json.RawMessage) (items []Evidence, complete bool) {
	complete = len(raw) > 0
	for _, r := range raw {
		var e Evidence
		if json.Unmarshal(r, &e) != nil || e.SourceID == "" || e.RunID == "" || e.Link == "" || len(e.ContentHash) != 2*sha256.Size {
			complete = false
		}
		items = append(items, e)
	}
	return items, complete
}

// Proposal is what a policy is asked about: a Task in backlog, or a Project that could be done.
type Proposal struct {
	Task     *task.Task
	Project  *company.Project // of a completion; nil for a Task
	Evidence []json.RawMessage
}

// Check makes those checks of a proposal that need nothing but the records, in the contract's order. r is nil for a
// Routine that is not there. It returns a *Refusal.
func Check(p Proposal, r *Routine, now time.Time) error {
	if p.Task != nil && WasAccepted(p.Task) {
		return refuse(ReasonFreshHuman)
	}
	if r == nil || !r.Enabled {
		return refuse(ReasonDisabled)
	}
	if r.Policy == nil {
		return refuse(ReasonNoGrant)
	}
	if p.Project != nil && !r.Policy.CompleteProjects {
		return refuse(ReasonNoProjects)
	}
	productID, projectID := p.place()
	switch policy := r.Policy; {
	case productID != r.ProductID:
		return refuse(ReasonOtherProduct)
	case p.Task != nil && !policy.sameExecutor(p.Task):
		return refuse(ReasonOtherExecutor)
	case !policy.inScope(productID, projectID):
		return refuse(ReasonOutOfScope)
	case policy.Expired(now):
		return refuse(ReasonExpired)
	case !policy.allowedSources(p.Evidence):
		return refuse(ReasonOtherSources)
	}
	return nil
}

func (p *Proposal) place() (productID, projectID string) {
	if p.Project != nil {
		return p.Project.ProductID, p.Project.ID
	}
	return p.Task.ProductID, p.Task.ProjectID
}

// WasAccepted says that somebody or something accepted the Task before.
func WasAccepted(t *task.Task) bool {
	return slices.ContainsFunc(t.Transitions, func(e task.Entry) bool { return e.Target == string(task.StatusReady) && e.Action == "" })
}

// sameExecutor takes a proposed executor that is the policy's, or none.
func (p *Policy) sameExecutor(t *task.Task) bool {
	if t.ExecutorType == nil && t.ExecutorID == nil {
		return true
	}
	return t.ExecutorType != nil && *t.ExecutorType == p.ExecutorType && t.ExecutorID != nil && *t.ExecutorID == p.ExecutorID
}

func (p *Policy) inScope(productID, projectID string) bool {
	s := p.WorkScope
	if s == nil {
		return true
	}
	return (s.ProductIDs == nil || slices.Contains(s.ProductIDs, productID)) &&
		(s.ProjectIDs == nil || slices.ContainsFunc(s.ProjectIDs, func(id *string) bool { return id != nil && *id == projectID }))
}

// allowedSources takes evidence of the policy's Sources only; without any evidence nothing shows that it is of them.
func (p *Policy) allowedSources(raw []json.RawMessage) bool {
	if p.SourceIDs == nil {
		return true
	}
	items, _ := ReadEvidence(raw)
	return len(items) > 0 && !slices.ContainsFunc(items, func(e Evidence) bool { return !slices.Contains(p.SourceIDs, e.SourceID) })
}

// CheckGrant refuses a grant that no person made. It returns a *Refusal.
func CheckGrant(g *task.Authorization) error {
	switch {
	case g == nil || (g.PrincipalID == "" && len(g.Scopes) == 0):
		return refuse(ReasonNoAuthority)
	case !Human(g.PrincipalID):
		return refuse(ReasonNotHuman)
	}
	return nil
}

// Human says that a principal is a person: no service account, no scheduler, no executor of a run.
func Human(principal string) bool {
	return principal != "" && !strings.HasPrefix(principal, "sa:") && !strings.HasPrefix(principal, "__") && !strings.HasPrefix(principal, "run:")
}

// GrantScopes are what granting a policy needs, beside the run permission for its executor.
func (p *Policy) GrantScopes() []string {
	scopes := []string{"schedules:write", "tasks:write", "wiki:read"}
	if p.CompleteProjects {
		scopes = append(scopes, "projects:write")
	}
	return scopes
}

// Same says that a Routine read again still has the policy and the grant that were checked. It returns a *Refusal.
func Same(checked, again *Routine, now time.Time) error {
	switch {
	case again == nil || !again.Enabled || again.Policy == nil || again.ProductID != checked.ProductID,
		again.Policy.Fingerprint() != checked.Policy.Fingerprint(), again.Grant == nil || again.Grant.PrincipalID != checked.Grant.PrincipalID:
		return refuse(ReasonChanged)
	case again.Policy.Expired(now):
		return refuse(ReasonExpiredDuring)
	}
	return nil
}

// LatestAcceptance is the entry by which a Task is or was ready, nil when it never was.
func LatestAcceptance(t *task.Task) *task.Entry {
	for i := len(t.Transitions) - 1; i >= 0; i-- {
		if e := &t.Transitions[i]; e.Target == string(task.StatusReady) && e.Action == "" {
			return e
		}
	}
	return nil
}

// CheckHolds says whether an automatic acceptance still stands: its Routine is on, of the same Product, with the same
// policy, which has not expired. r is nil for a Routine that is not there. It returns a *Refusal.
func CheckHolds(a *task.AutoAccept, productID string, r *Routine, now time.Time) error {
	switch {
	case r == nil || !r.Enabled || r.ProductID != productID || r.Policy == nil || r.Policy.Fingerprint() != a.Policy:
		return refuse(ReasonRevoked)
	case r.Policy.Expired(now):
		return refuse(ReasonExpired)
	}
	return nil
}
