package task_test

import (
	"fmt"
	"strings"
	"time"

	"companyos/shared/task"
)

// The model explores every history of a small Company: which run is in which state, which sandboxes run, which messages
// wait, which handlers are where. Time is a set of flags, so deadlines may pass in any order. What a run becomes is asked
// of this package's functions; the model itself knows only the world around them.

// Sizes of the arrays of a state; a configuration uses a part of them.
const (
	maxRuns     = 2
	maxBoxes    = 3
	maxHandlers = 2
	maxTasks    = 2
)

// Stages of a sandbox.
const (
	boxFree     = iota
	boxStarted  // no accepted claim was seen yet
	boxClaimed  // has a session
	boxPrepared // was told to go: the agent runs
	boxUploaded // its result is announced and uploaded
	boxReported // was told that its report is taken, or to end
	boxStopped
	boxGone // stopped so long ago that the launcher forgot it
)

// What a handler does next.
const (
	pcIdle    = iota
	pcAct     // look at the run
	pcCall    // call for a sandbox
	pcRecord  // write the sandbox that was answered
	pcFailed  // write that nothing was started
	pcStopped // write that a sandbox has stopped
	pcSetDue  // the next message is sent: write due_at
	pcAdmit   // the wake is sent: admit a run
	pcSendLate
)

var pcNames = []string{"idle", "look", "before the call", "before the record", "before the failure", "before the stop", "before due_at", "before the admission", "before the late send"}

type mBox struct {
	launch, st        uint8
	stopAsked         bool
	claimed, went, up bool // a claim was accepted once; it was told to go once; it uploaded
	listed            bool
}

type mRun struct {
	st, launch, claimed, commit, box               uint8
	hasResult, cancelled, stopped, slot            bool
	startOver, runOver, tokenOver, graceOver, ctid bool // deadlines that passed; ctid: the client token's life
	due, n, d                                      uint8
	boxes                                          [maxBoxes]mBox
}

type mHandler struct {
	pc, run, target, launch, box uint8
	dueOK, admitting, cause      bool
	share, ghost                 bool // share: the other handler holds the same message; ghost: that one deleted it
}

type mTask struct {
	status, live, pin, job, attempts uint8
	archived                         bool
}

type mState struct {
	runs                                   [maxRuns]mRun
	tasks                                  [maxTasks]mTask
	handlers                               [maxHandlers]mHandler
	apiPC                                  uint8 // a start: 0 none, 1 its wake is sent, 2 it is committed
	apiTask                                uint8
	crashes, losses, failures, users, dups uint8 // what may still happen
}

const (
	statusReady = iota
	statusInProgress
	statusInReview
	statusBacklog
)

var (
	stateCodes  = []task.State{"", task.StatePending, task.StateLaunching, task.StateRunning, task.StateCancelling, task.StateCompleted, task.StateError, task.StateCancelled}
	statusCodes = []task.Status{task.StatusReady, task.StatusInProgress, task.StatusInReview, task.StatusBacklog}
)

// Codes of the states, in the order of stateCodes.
const (
	stNone = iota
	stPending
	stLaunching
	stRunning
	stCancelling
	stCompleted
	stError
	stCancelled
)

func terminal(st uint8) bool { return st >= stCompleted }

func (b *mBox) alive() bool { return b.st >= boxStarted && b.st <= boxReported }

// needsLook is the package's NeedsLook.
func (r *mRun) needsLook() bool {
	return r.st != stNone && (!terminal(r.st) || r.launch > 0 && !r.stopped)
}

// The model's moment, and the names of things.
var (
	modelNow    = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	runNames    = []string{"run 0", "run 1"}
	taskNames   = []string{"task 0", "task 1"}
	boxNames    = []string{"", "box 0", "box 1", "box 2"}
	commits     = []string{"", strings.Repeat("a", 40), strings.Repeat("b", 40)}
	launchHash  = []string{"", "hash of launch 1", "hash of launch 2", "hash of launch 3"}
	kindAgent   = task.ExecutorAgent
	executorID  = "engineer"
	modelSource = task.SourceMatch{ID: "source"}
)

const (
	modelURL         = "https://github.com/o/r"
	modelBranch      = "main"
	modelCallTimeout = time.Minute
)

func when(past bool) time.Time {
	if past {
		return modelNow.Add(-3 * time.Minute)
	}
	return modelNow.Add(5 * time.Minute)
}

func index(names []string, name string) uint8 {
	for i, n := range names {
		if n == name {
			return uint8(i)
		}
	}
	panic("the model has no name for " + name)
}

// run is the model's run as the package sees it.
func (m *model) run(s *mState, i int) task.Run {
	r := &s.runs[i]
	run := task.Run{
		ID: runNames[i], TaskID: taskNames[i/m.cfg.attempts], Sandboxed: true, State: stateCodes[r.st],
		ExecutorType: kindAgent, ExecutorID: executorID, StartUntil: when(r.startOver || m.overLaunched(r)),
		Launch: int(r.launch), LaunchHash: launchHash[r.launch], SandboxARN: boxNames[r.box], ClaimedBy: boxNames[r.claimed],
		SessionHash: boxNames[r.claimed], Checkout: task.RunCheckout{URL: modelURL, Branch: modelBranch, Commit: commits[r.commit]},
	}
	if r.launch > 0 {
		run.TokenUntil = new(when(r.tokenOver))
	}
	if r.claimed > 0 {
		run.RunUntil, run.ClaimedAt = new(when(r.runOver)), &modelNow
	}
	if r.commit > 0 {
		run.PreparedAt = &modelNow
	}
	if r.cancelled {
		run.CancelAt = &modelNow
	}
	if r.stopped {
		run.StoppedAt, run.StopReason = &modelNow, string(task.EndOutOfMemory)
		if r.graceOver {
			run.StoppedAt = new(when(true))
		}
	}
	if terminal(r.st) {
		run.EndedAt = &modelNow
	}
	if r.hasResult {
		run.ResultSHA256 = "a result"
		if r.claimed > 0 {
			run.ResultSHA256 = boxNames[r.claimed]
		}
	}
	return run
}

// overLaunched bounds the launches: at the last one the start limit is there.
func (m *model) overLaunched(r *mRun) bool {
	return int(r.launch) >= m.cfg.launches && r.st == stLaunching && m.relaunching
}

// put takes a run that the package returned back into the model, and with it what is written in the same transaction.
func (m *model) put(s *mState, i int, before, after task.Run) {
	r := &s.runs[i]
	if !before.State.Terminal() && after.State.Terminal() {
		t := m.task(s, i/m.cfg.attempts)
		m.putTask(s, i/m.cfg.attempts, task.Close(t, after, modelNow), after)
	}
	if int(r.launch) != after.Launch && r.launch > 0 {
		r.tokenOver, r.ctid = false, false
	}
	if before.HoldsSlot() && !after.HoldsSlot() && !m.is(mSlotNotFreed) {
		r.slot = false
	}
	if m.is(mSlotFreedAtTerminal) && after.State.Terminal() {
		r.slot = false
	}
	r.st = stateOf(after.State)
	r.launch, r.claimed, r.box = uint8(after.Launch), index(boxNames, after.ClaimedBy), index(boxNames, after.SandboxARN)
	r.commit, r.hasResult = index(commits, after.Checkout.Commit), after.ResultSHA256 != ""
	r.cancelled, r.stopped = after.CancelAt != nil, after.StoppedAt != nil
}

func stateOf(st task.State) uint8 {
	for i, c := range stateCodes {
		if c == st {
			return uint8(i)
		}
	}
	panic("no such state")
}

// task is the model's Task as the package sees it.
func (m *model) task(s *mState, i int) task.Task {
	t := &s.tasks[i]
	out := task.Task{ID: taskNames[i], Status: statusCodes[t.status], ExecutorType: &kindAgent, ExecutorID: &executorID}
	if t.live > 0 {
		out.LiveRunID = &runNames[t.live-1]
	}
	if t.job > 0 {
		out.JobID = &runNames[t.job-1]
	}
	if t.pin > 0 {
		out.Checkout = &task.Checkout{SourceID: "source", URL: modelURL, Branch: modelBranch, Commit: commits[t.pin]}
	}
	if t.archived {
		out.ArchivedAt = &modelNow
	}
	return out
}

// putTask takes a Task that a run's end has changed back into the model.
func (m *model) putTask(s *mState, i int, after task.Task, run task.Run) {
	t := &s.tasks[i]
	kept := map[task.State]mutation{
		task.StateCompleted: mLiveKeptOnCompleted, task.StateError: mLiveKeptOnError, task.StateCancelled: mLiveKeptOnCancelled,
	}
	if after.LiveRunID == nil && !m.is(kept[run.State]) {
		t.live = 0
	}
	if after.Status == task.StatusInReview && t.status == statusInProgress {
		commit := index(commits, run.Checkout.Commit)
		if commit == 0 {
			m.violate("I6 a result counts without a stored commit")
		}
		if t.pin != 0 && t.pin != commit {
			m.violate("I6 a result counts with another commit than the pin")
		}
		t.pin, t.status = commit, statusInReview
	}
}

func (s *mState) String() string {
	var b strings.Builder
	for i := range s.runs {
		r := &s.runs[i]
		if r.st == stNone {
			continue
		}
		fmt.Fprintf(&b, "r%d %s launch %d claimed %d box %d slot %v stopped %v tokenOver %v due %d n %d d %d", i, stateCodes[r.st], r.launch, r.claimed, r.box, r.slot, r.stopped, r.tokenOver, r.due, r.n, r.d)
		for _, e := range r.boxes {
			if e.st != boxFree {
				fmt.Fprintf(&b, " [launch %d stage %d stopAsked %v]", e.launch, e.st, e.stopAsked)
			}
		}
		b.WriteString("; ")
	}
	return b.String()
}
