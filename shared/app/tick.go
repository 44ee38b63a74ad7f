package app

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"companyos/shared/routine"
	"companyos/shared/store"
)

const (
	tickClaim  = "automation"
	tickLife   = 300 * time.Second // after it a tick that was cut off holds nothing any more
	tickBudget = 240 * time.Second // after it a tick begins nothing new
	tickBatch  = 100
)

// TickStatus is how a tick went.
type TickStatus string

// The ways a tick goes. Idle: there was nothing to look at, and nothing was written. Held: another tick is at it.
const (
	TickIdle      TickStatus = "idle"
	TickHeld      TickStatus = "held"
	TickSuccess   TickStatus = "success"
	TickFailed    TickStatus = "failed"
	TickCancelled TickStatus = "cancelled"
)

// Tick is what one tick did.
type Tick struct {
	Status   TickStatus    `json:"status"`
	Tasks    []TickOutcome `json:"tasks"`
	Projects []TickOutcome `json:"projects,omitempty"`
	Error    string        `json:"error,omitempty"`
}

// TickOutcome is what a tick did with one Task or Project. Skipped is a policy that says no, or a race; failed is all else.
type TickOutcome struct {
	TaskID    string        `json:"task_id,omitempty"`
	ProjectID string        `json:"project_id,omitempty"`
	RunID     string        `json:"run_id,omitempty"`
	SessionID string        `json:"session_id,omitempty"`
	Status    OutcomeStatus `json:"status"`
	Action    string        `json:"action,omitempty"` // submitted, observed, reconciled
	Reason    string        `json:"reason,omitempty"`

	productID string
	revision  int64 // of the Task, after what was done to it
}

// OutcomeStatus is the status of an outcome, or the state of the run that was started.
type OutcomeStatus string

// The statuses of outcomes.
const (
	OutcomeSkipped   OutcomeStatus = "skipped"
	OutcomeFailed    OutcomeStatus = "failed"
	OutcomeAccepted  OutcomeStatus = "accepted"
	OutcomeDone      OutcomeStatus = "done"
	OutcomeSubmitted OutcomeStatus = "already_submitted"
)

// changed says that something was done that belongs into the history.
func (o TickOutcome) changed() bool {
	return o.Status == OutcomeAccepted || o.Status == OutcomeDone || o.Action == actionSubmitted || o.Action == string(RecoverSettled)
}

const actionSubmitted = "submitted"

// Tick does what the automation has to do, oldest work first: it recovers reserved attempts, accepts proposals whose
// Routine may, starts what was accepted, takes back what may not be started any more, and completes Projects. One tick is
// at it at a time. One that finds nothing reads and writes nothing more.
func (c *Company) Tick(ctx context.Context) (Tick, error) {
	began := c.Clock()
	work, err := c.DB.TickWork(ctx, store.WorkRef{}, began, tickBatch)
	if err != nil {
		return Tick{}, err
	}
	completing, err := c.DB.CompletionRoutines(ctx, began)
	if err != nil {
		return Tick{}, err
	}
	if len(work) == 0 && len(completing) == 0 {
		return Tick{Status: TickIdle, Tasks: []TickOutcome{}}, nil
	}
	holder := uuid.NewString()
	held, err := c.DB.TakeClaim(ctx, tickClaim, holder, tickLife)
	if err != nil || !held {
		return Tick{Status: TickHeld, Tasks: []TickOutcome{}}, err
	}
	t := ticking{c: c, began: began, out: Tick{Status: TickSuccess, Tasks: []TickOutcome{}}}
	t.tasks(ctx, work)
	t.projects(ctx, completing)
	return t.finish(ctx, holder)
}

// ticking is a tick under way.
type ticking struct {
	c     *Company
	began time.Time
	out   Tick
}

// over says that nothing new may begin: the process is to end, or the budget is spent.
func (t *ticking) over(ctx context.Context) bool {
	switch {
	case t.out.Error != "":
		return true
	case ctx.Err() != nil:
		t.out.Status, t.out.Error = TickCancelled, "Execution cancelled during shutdown"
		return true
	case t.c.Clock().Sub(t.began) >= tickBudget:
		t.out.Status, t.out.Error = TickFailed, routine.ReasonBudget
		return true
	}
	return false
}

// tasks goes through the work batch by batch. What appears meanwhile waits for the next tick.
func (t *ticking) tasks(ctx context.Context, work []store.WorkRef) {
	for len(work) > 0 {
		for _, w := range work {
			if t.over(ctx) {
				return
			}
			t.out.Tasks = append(t.out.Tasks, t.c.tickTask(ctx, w.ID)...)
		}
		if len(work) < tickBatch {
			return
		}
		next, err := t.c.DB.TickWork(ctx, work[len(work)-1], t.began, tickBatch)
		if err != nil {
			t.out.Status, t.out.Error = TickFailed, t.c.reason(ctx, err)
			return
		}
		work = next
	}
}

// finish records what the tick did and lets go of its claim, also when the process is to end.
func (t *ticking) finish(ctx context.Context, holder string) (Tick, error) {
	after := context.WithoutCancel(ctx)
	for _, o := range append(t.out.Tasks[:len(t.out.Tasks):len(t.out.Tasks)], t.out.Projects...) {
		if o.Status == OutcomeFailed && t.out.Error == "" {
			t.out.Status, t.out.Error = TickFailed, o.Reason
		}
	}
	err := t.c.recordStreaks(after, t.out.Tasks)
	if err == nil {
		err = t.record(after)
	}
	if free := t.c.DB.FreeClaim(after, tickClaim, holder); err == nil {
		err = free
	}
	return t.out, err
}

// record writes the tick's line of history: where it changed something, where it failed as a whole, and where a Project
// failed. A Task that failed has a streak instead.
func (t *ticking) record(ctx context.Context) error {
	line := Tick{Status: TickSuccess, Tasks: []TickOutcome{}, Projects: t.out.Projects}
	something := false
	for _, o := range t.out.Tasks {
		something = something || o.changed()
		if o.Status != OutcomeFailed {
			line.Tasks = append(line.Tasks, o)
		}
	}
	for _, o := range t.out.Projects {
		something = something || o.changed()
		if o.Status == OutcomeFailed {
			line.Status, line.Error = TickFailed, o.Reason
		}
	}
	if t.out.Error == routine.ReasonBudget || t.out.Status == TickCancelled {
		line.Status, line.Error = t.out.Status, t.out.Error
	}
	if !something && line.Error == "" {
		return nil
	}
	output, err := json.Marshal(line)
	if err != nil {
		return err
	}
	now := t.c.now()
	return t.c.DB.Transact(ctx, func(ctx context.Context, tx *store.Tx) error {
		return tx.InsertAutomationRun(ctx, store.AutomationRun{
			ID: routine.NewRunID(now, uuid.NewString()), Status: routine.Status(line.Status), TriggeredAt: t.began.UTC(), CompletedAt: now,
			Error: nonEmpty(line.Error), Output: output,
		})
	})
}

// recordStreaks counts what failed, and ends what did not fail any more.
func (c *Company) recordStreaks(ctx context.Context, outcomes []TickOutcome) error {
	last := map[string]TickOutcome{}
	var ids []string
	for _, o := range outcomes {
		if _, seen := last[o.TaskID]; !seen {
			ids = append(ids, o.TaskID)
		}
		last[o.TaskID] = o
	}
	streaking := map[string]bool{}
	if len(ids) > 0 {
		found, err := c.DB.StreakingTasks(ctx, ids)
		if err != nil {
			return err
		}
		for _, id := range found {
			streaking[id] = true
		}
	}
	for _, id := range ids {
		o := last[id]
		if o.Status != OutcomeFailed && !streaking[id] {
			continue
		}
		if err := c.recordStreak(ctx, o); err != nil {
			return err
		}
	}
	return nil
}

func (c *Company) recordStreak(ctx context.Context, o TickOutcome) error {
	now, id := c.now(), ""
	id = routine.NewRunID(now, uuid.NewString())
	return c.DB.Transact(ctx, func(ctx context.Context, tx *store.Tx) error {
		if o.Status != OutcomeFailed {
			return tx.EndStreaks(ctx, o.TaskID)
		}
		latest, err := tx.LatestStreak(ctx, o.TaskID)
		if err != nil {
			return err
		}
		f := routine.Failure{TaskID: o.TaskID, ProductID: o.productID, Reason: o.Reason, TaskRevision: o.revision}
		return tx.SaveStreak(ctx, latest, routine.Count(latest, f, id, now))
	})
}
