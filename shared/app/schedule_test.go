package app_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"companyos/shared/app/apptest"
	"companyos/shared/task"
)

// schedulesEnv is how many random schedules are run; a failing one is named by its seed, which runs it alone as
// COMPANY_TEST_SEED.
const (
	schedulesEnv = "COMPANY_TEST_SCHEDULES"
	seedEnv      = "COMPANY_TEST_SEED"
	schedules    = 12
)

func TestRandomSchedules(t *testing.T) {
	t.Parallel()
	if seed, err := strconv.ParseUint(os.Getenv(seedEnv), 10, 64); err == nil {
		runSchedule(t, seed)
		return
	}
	n := schedules
	if given, err := strconv.Atoi(os.Getenv(schedulesEnv)); err == nil {
		n = given
	}
	for seed := range uint64(n) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			t.Parallel()
			runSchedule(t, seed)
		})
	}
}

// schedule is one random history of users, sandboxes, messages and faults.
type schedule struct {
	*apptest.Bench
	*rand.Rand
	slots       int
	tasks       []string
	supervisors map[string]*supervisor // by the sandbox's handle
	settled     map[string]task.Run    // terminal runs as they were seen first
	log         []string
}

type supervisor struct {
	*apptest.Supervisor
	step int // claim, prepare, upload, report, exit
}

func runSchedule(t *testing.T, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 1))
	s := &schedule{Rand: r, slots: 1 + r.IntN(2), supervisors: map[string]*supervisor{}, settled: map[string]task.Run{}}
	s.Bench = apptest.New(t, s.slots)
	for range 1 + s.IntN(2) {
		s.tasks = append(s.tasks, s.NewTask(task.ExecutorAgent, apptest.Engineer).ID)
	}
	s.tasks = append(s.tasks, s.NewTask(task.ExecutorWorkflow, apptest.Notes).ID)
	s.Fleet.Lag = time.Duration(s.IntN(60)) * time.Second
	s.Fleet.Plan, s.Attempts.Plan, s.Work.Plan = s.fault, s.fault, s.fault
	for i := range 50 {
		s.act()
		if i%10 == 9 {
			s.Check()
		}
		s.watch()
		if t.Failed() {
			break
		}
	}
	s.Fleet.Plan, s.Attempts.Plan, s.Work.Plan = nil, nil, nil
	s.quiesce()
	s.Check()
	if t.Failed() {
		t.Logf("seed %d, %d slots:", seed, s.slots)
		for _, line := range s.log {
			t.Log(line)
		}
	}
}

func (s *schedule) fault(call string) apptest.Fault {
	if s.IntN(8) > 0 {
		return apptest.FaultNone
	}
	faults := []apptest.Fault{apptest.FaultBefore, apptest.FaultAfter, apptest.FaultCrash}
	if call == "start" {
		faults = append(faults, apptest.FaultCapacity, apptest.FaultThrottled, apptest.FaultImage)
	}
	fault := faults[s.IntN(len(faults))]
	s.note("  fault %s at %s", fault, call)
	return fault
}

func (s *schedule) note(format string, a ...any) { s.log = append(s.log, fmt.Sprintf(format, a...)) }

// try makes a call whose caller may die of a fault, and lets refusals pass.
func (s *schedule) try(what string, f func() error) {
	s.T.Helper()
	defer func() {
		if p := recover(); p != nil {
			if _, died := p.(apptest.Crash); !died {
				panic(p)
			}
			s.note("%s: died", what)
		}
	}()
	err := f()
	s.note("%s: %v", what, err)
	if task.KindOf(err) == task.KindInternal && err != nil {
		s.T.Errorf("%s: %v", what, err)
	}
}

func (s *schedule) act() {
	switch n := s.IntN(20); {
	case n < 7:
		s.deliver()
	case n < 12:
		s.supervise()
	case n < 15:
		d := []time.Duration{time.Second, 5 * time.Second, 31 * time.Second, 2 * time.Minute, 11 * time.Minute}[s.IntN(5)]
		s.note("%s pass", d)
		s.Travel(d)
	case n < 19:
		s.user()
	default:
		s.try("sweep", func() error { return s.Sweep(s.T.Context()) })
	}
}

// deliver handles a message that is due: once, twice, or not at all.
func (s *schedule) deliver() {
	for _, q := range []*apptest.Queue{s.Attempts, s.Work} {
		due := q.Due()
		if len(due) == 0 {
			continue
		}
		m := due[s.IntN(len(due))]
		switch s.IntN(10) {
		case 0:
			s.note("a message of %s is lost", m.RunID)
			q.Delete(m)
		case 1:
			s.note("a message of %s is handled and comes again", m.RunID)
			s.Handle(q, m.RunID)
		default:
			s.note("a message of %s is handled", m.RunID)
			s.Deliver(q, m)
		}
	}
}

func (s *schedule) user() {
	ctx, by := s.T.Context(), apptest.Alice()
	id := s.tasks[s.IntN(len(s.tasks))]
	tk := s.TaskNow(id)
	switch s.IntN(8) {
	case 0:
		if tk.JobID != nil {
			s.try("cancel", func() error { return s.CancelRun(ctx, by, *tk.JobID) })
		}
	case 1:
		s.try("to backlog", func() error {
			_, err := s.MoveTask(ctx, id, task.Move{Target: task.StatusBacklog, Reason: "later", By: by})
			return err
		})
	case 2:
		s.try("archive", func() error { return s.ArchiveTask(ctx, id) })
	case 3, 4:
		s.try("restore", func() error { _, err := s.RestoreTask(ctx, id); return err })
		s.try("accept", func() error {
			executor := &task.ExecutorRef{Kind: task.ExecutorAgent, ID: apptest.Engineer}
			if id == s.tasks[len(s.tasks)-1] {
				executor = &task.ExecutorRef{Kind: task.ExecutorWorkflow, ID: apptest.Notes}
			}
			_, err := s.MoveTask(ctx, id, task.Move{Target: task.StatusReady, Reason: "do it", Executor: executor, By: by})
			return err
		})
	default:
		s.try("start", func() error {
			_, err := s.StartRun(ctx, id, task.Start{Attempt: tk.Attempts() + 1, By: by})
			return err
		})
	}
}

// supervise lets one sandbox do its next step, or end.
func (s *schedule) supervise() {
	alive := s.Fleet.Alive()
	if len(alive) == 0 {
		return
	}
	box := alive[s.IntN(len(alive))]
	v := s.supervisors[box.Handle]
	if v == nil {
		v = &supervisor{Supervisor: s.Supervise(box)}
		if s.IntN(6) == 0 {
			v.Commit = "0123456789012345678901234567890123456789"
		}
		s.supervisors[box.Handle] = v
	}
	switch {
	case box.StopAsked && s.IntN(2) == 0, s.IntN(15) == 0:
		reason := []task.EndKind{"", task.EndOutOfMemory, task.EndInterrupted, task.EndNoCapacity}[s.IntN(4)]
		s.note("%s ends: %q", box.Handle, reason)
		s.Fleet.End(box, reason)
		return
	case s.IntN(10) == 0 && v.Instance != "an impostor":
		other := s.Supervise(box)
		other.Instance = "an impostor"
		s.try(box.Handle+" impostor claims", func() error {
			err := other.Claim(s.T.Context())
			if err == nil && v.step > 0 {
				s.T.Errorf("a second instance claimed %s", box.Handle)
			}
			if err == nil { // it came first
				v.Supervisor, v.step = other, 1
			}
			return err
		})
		return
	}
	s.step(v)
}

func (s *schedule) step(v *supervisor) {
	ctx := s.T.Context()
	var err error
	s.try(fmt.Sprintf("%s step %d", v.Box.Handle, v.step), func() error {
		switch v.step {
		case 0:
			err = v.Claim(ctx)
		case 1:
			err = v.Prepare(ctx)
		case 2:
			err = v.Upload(ctx)
		case 3:
			err = v.Report(ctx)
		}
		return err
	})
	switch {
	case v.step > 3 || (err != nil && task.KindOf(err) != task.KindUnavailable):
		s.Fleet.End(v.Box, "") // its last word was said, or it was refused
	case err == nil:
		v.step++
	}
}

// watch checks what no single look at the rows can see.
func (s *schedule) watch() {
	s.T.Helper()
	working := map[string]int{}
	for _, box := range s.Fleet.Alive() {
		if v := s.supervisors[box.Handle]; v != nil && v.step >= 1 {
			working[box.Spec.RunID]++
		}
	}
	for runID, n := range working {
		if n > 1 {
			s.T.Errorf("%d sandboxes work on %s", n, runID)
		}
	}
	if len(working) > s.slots {
		s.T.Errorf("%d sandboxes work with %d slots", len(working), s.slots)
	}
	for _, id := range s.tasks {
		for n := 1; n <= s.attempts(id); n++ {
			run := s.RunNow(task.RunID(id, n))
			first, seen := s.settled[run.ID]
			switch {
			case !run.State.Terminal():
			case !seen:
				s.settled[run.ID] = run
			case first.State != run.State || *first.Ended != *run.Ended || first.Content != run.Content || first.ResultSHA256 != run.ResultSHA256 || first.Checkout != run.Checkout:
				s.T.Errorf("terminal run %s changed: %+v to %+v", run.ID, first, run)
			}
		}
	}
}

// attempts is how many attempts a Task has.
func (s *schedule) attempts(id string) int {
	tk := s.TaskNow(id)
	return tk.Attempts()
}

// quiesce lets everything come to its end without any further fault, but for what was lost before.
func (s *schedule) quiesce() {
	for range 60 {
		for _, box := range s.Fleet.Alive() {
			v := s.supervisors[box.Handle]
			if box.StopAsked || v == nil && s.IntN(2) == 0 {
				s.Fleet.End(box, "")
				continue
			}
			if v != nil {
				s.step(v)
			}
		}
		s.try("sweep", func() error { return s.Sweep(s.T.Context()) })
		s.Pass(2 * time.Minute)
		s.watch()
		if s.T.Failed() || s.over() {
			return
		}
	}
	s.T.Error("it never comes to its end")
}

func (s *schedule) over() bool {
	waiting, err := s.DB.UnfinishedRuns(s.T.Context(), "", 100)
	if err != nil {
		s.T.Fatal(err)
	}
	if len(waiting) > 0 || len(s.Fleet.Alive()) > 0 {
		return false
	}
	taken, err := s.DB.OldestPending(s.T.Context())
	return err == nil && taken == nil
}
