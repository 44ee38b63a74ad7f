package routine_test

import (
	"encoding/json"
	"testing"
	"time"

	"companyos/shared/company"
	"companyos/shared/routine"
	"companyos/shared/task"
)

var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

func intake() *routine.Routine {
	return &routine.Routine{
		ID: "r", ProductID: "p", Enabled: true, Grant: &task.Authorization{PrincipalID: "alice", Scopes: []string{task.AdminScope}},
		Policy: &routine.Policy{
			ExecutorType: task.ExecutorAgent, ExecutorID: "local-agent", SourceIDs: []string{"s"},
			RequiredChecks: []string{routine.CheckRegistered}, Limits: routine.Limits{ExpiresAt: 4000000000, MaxAcceptances: 2},
		},
	}
}

func evidence(source string) []json.RawMessage {
	raw, _ := json.Marshal(routine.Evidence{SourceID: source, RunID: "run", Link: "file:///x", ContentHash: string(make64('a'))})
	return []json.RawMessage{raw}
}

func make64(c byte) []byte {
	b := make([]byte, 64)
	for i := range b {
		b[i] = c
	}
	return b
}

func ptr[T any](v T) *T { return &v }

// TestFingerprint holds the formula to a recorded one.
func TestFingerprint(t *testing.T) {
	t.Parallel()
	p := routine.Policy{
		ExecutorType: task.ExecutorAgent, ExecutorID: "local-agent", SourceIDs: []string{"70e3bba6-f5e6-48b8-99be-20e362ebd017"},
		RequiredChecks: []string{"executor_registered", "project_active", "has_source_evidence", "always_true"},
		Limits:         routine.Limits{ExpiresAt: 4000000000, MaxAcceptances: 2},
	}
	if got, want := p.Fingerprint(), "992d3ef978c87902611c211ba9a55f6349e118ade38befec62bf5e6a4c22821d"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	other := p
	other.CompleteProjects = true
	if other.Fingerprint() == p.Fingerprint() {
		t.Error("completing Projects does not change the fingerprint")
	}
}

func TestDedupeKey(t *testing.T) {
	t.Parallel()
	if got, want := routine.DedupeKey("70e3bba6-f5e6-48b8-99be-20e362ebd017", "k1"), "b1cbbd1dced197a3de3c289f7134b7f5dad1ded6b35ccda903056cfd1f80f0d2"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	// python3 -c 'import hashlib,json; print(hashlib.sha256(json.dumps(["s","é😀<>\x7f\"\\\n"]).encode()).hexdigest())'
	if got, want := routine.DedupeKey("s", "é😀<>\x7f\"\\\n"), "7cda161d030b81d30364aed1f786e78f49620064258b357a0c83d341ee3657d4"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestCheckOrder breaks one rule after the other, from the last to the first: the earliest broken one is told.
func TestCheckOrder(t *testing.T) {
	t.Parallel()
	r, tk := intake(), &task.Task{ProductID: "p", ProjectID: "j", Status: task.StatusBacklog}
	p := routine.Proposal{Task: tk, Evidence: evidence("s")}
	now := noon
	if err := routine.Check(p, r, now); err != nil {
		t.Fatalf("a good proposal: %v", err)
	}
	for _, step := range []struct {
		want string
		with func()
	}{
		{routine.ReasonOtherSources, func() { p.Evidence = evidence("other") }},
		{routine.ReasonExpired, func() { now = time.Unix(4000000000, 0) }},
		{routine.ReasonOutOfScope, func() { r.Policy.WorkScope = &routine.Scope{ProjectIDs: []*string{ptr("none"), nil}} }},
		{routine.ReasonOtherExecutor, func() { tk.ExecutorID = ptr("local-agent") }},
		{routine.ReasonOtherProduct, func() { tk.ProductID = "q" }},
		{routine.ReasonNoGrant, func() { r.Policy = nil }},
		{routine.ReasonDisabled, func() { r.Enabled = false }},
		{routine.ReasonFreshHuman, func() { tk.Transitions = []task.Entry{{Target: "ready"}, {Target: "backlog"}} }},
	} {
		step.with()
		if err := routine.Check(p, r, now); err == nil || err.Error() != step.want {
			t.Errorf("got %v, want %s", err, step.want)
		}
	}
	if err := routine.Check(routine.Proposal{Task: &task.Task{}}, nil, noon); err == nil || err.Error() != routine.ReasonDisabled {
		t.Errorf("a Routine that is gone: %v", err)
	}
}

func TestCheckEdges(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		with func(r *routine.Routine, p *routine.Proposal)
		want string
	}{
		"the policy's executor proposed": {func(_ *routine.Routine, p *routine.Proposal) {
			p.Task.ExecutorType, p.Task.ExecutorID = ptr(task.ExecutorAgent), ptr("local-agent")
		}, ""},
		"another executor": {func(_ *routine.Routine, p *routine.Proposal) {
			p.Task.ExecutorType, p.Task.ExecutorID = ptr(task.ExecutorTeam), ptr("local-agent")
		}, routine.ReasonOtherExecutor},
		"the Project in scope": {func(r *routine.Routine, _ *routine.Proposal) {
			r.Policy.WorkScope = &routine.Scope{ProductIDs: []string{"p"}, ProjectIDs: []*string{ptr("j")}}
		}, ""},
		"an empty scope": {func(r *routine.Routine, _ *routine.Proposal) {
			r.Policy.WorkScope = &routine.Scope{ProductIDs: []string{}}
		}, routine.ReasonOutOfScope},
		"no Sources": {func(r *routine.Routine, _ *routine.Proposal) { r.Policy.SourceIDs = []string{} }, routine.ReasonOtherSources},
		"any Source": {func(r *routine.Routine, p *routine.Proposal) { r.Policy.SourceIDs, p.Evidence = nil, nil }, ""},
		"evidence that is no evidence": {func(_ *routine.Routine, p *routine.Proposal) {
			p.Evidence = []json.RawMessage{json.RawMessage(`{"source_id": 7}`)}
		}, routine.ReasonOtherSources},
		"a second before the end": {func(r *routine.Routine, _ *routine.Proposal) { r.Policy.Limits.ExpiresAt = noon.Unix() + 1 }, ""},
		"at the end":              {func(r *routine.Routine, _ *routine.Proposal) { r.Policy.Limits.ExpiresAt = noon.Unix() }, routine.ReasonExpired},
		"archived and restored": {func(_ *routine.Routine, p *routine.Proposal) {
			p.Task.Transitions = []task.Entry{{Action: "archive", Target: "ready"}}
		}, ""},
		"a Project without the right": {func(_ *routine.Routine, p *routine.Proposal) { *p = project() }, routine.ReasonNoProjects},
		"a Project with it":           {func(r *routine.Routine, p *routine.Proposal) { *p, r.Policy.CompleteProjects = project(), true }, ""},
		"a Project of another Product": {func(r *routine.Routine, p *routine.Proposal) {
			*p, r.Policy.CompleteProjects = project(), true
			p.Project.ProductID = "q"
		}, routine.ReasonOtherProduct},
		"a Project without any evidence": {func(r *routine.Routine, p *routine.Proposal) {
			*p, r.Policy.CompleteProjects = project(), true
			p.Evidence = nil
		}, routine.ReasonOtherSources},
		"a Project outside of the scope": {func(r *routine.Routine, p *routine.Proposal) {
			*p, r.Policy.CompleteProjects = project(), true
			r.Policy.WorkScope = &routine.Scope{ProjectIDs: []*string{}}
		}, routine.ReasonOutOfScope},
	} {
		r, p := intake(), routine.Proposal{Task: &task.Task{ProductID: "p", ProjectID: "j"}, Evidence: evidence("s")}
		c.with(r, &p)
		got := ""
		if err := routine.Check(p, r, noon); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

func project() routine.Proposal {
	return routine.Proposal{Project: &company.Project{ID: "j", ProductID: "p"}, Evidence: evidence("s")}
}

func TestCheckGrant(t *testing.T) {
	t.Parallel()
	for who, want := range map[string]string{
		"alice": "", "sa:robot": routine.ReasonNotHuman, "__scheduler__": routine.ReasonNotHuman, "__oauth__:x": routine.ReasonNotHuman, "run:7": routine.ReasonNotHuman,
	} {
		got := ""
		if err := routine.CheckGrant(&task.Authorization{PrincipalID: who, Scopes: []string{"x"}}); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %q, want %q", who, got, want)
		}
	}
	for _, g := range []*task.Authorization{nil, {}} {
		if err := routine.CheckGrant(g); err == nil || err.Error() != routine.ReasonNoAuthority {
			t.Errorf("no authority: %v", err)
		}
	}
}

func TestSameAndHolds(t *testing.T) {
	t.Parallel()
	accepted := &task.AutoAccept{RoutineID: "r", Policy: intake().Policy.Fingerprint()}
	for name, c := range map[string]struct {
		with        func(r *routine.Routine)
		same, holds string
	}{
		"unchanged":      {func(*routine.Routine) {}, "", ""},
		"renamed":        {func(r *routine.Routine) { r.Name = "x"; r.Revision++ }, "", ""},
		"off":            {func(r *routine.Routine) { r.Enabled = false }, routine.ReasonChanged, routine.ReasonRevoked},
		"no policy":      {func(r *routine.Routine) { r.Policy = nil }, routine.ReasonChanged, routine.ReasonRevoked},
		"another limit":  {func(r *routine.Routine) { r.Policy.Limits.MaxAcceptances = 3 }, routine.ReasonChanged, routine.ReasonRevoked},
		"another person": {func(r *routine.Routine) { r.Grant = &task.Authorization{PrincipalID: "bob"} }, routine.ReasonChanged, ""},
		"no grant":       {func(r *routine.Routine) { r.Grant = nil }, routine.ReasonChanged, ""},
		"moved":          {func(r *routine.Routine) { r.ProductID = "q" }, routine.ReasonChanged, routine.ReasonRevoked},
	} {
		r := intake()
		c.with(r)
		if got := text(routine.Same(intake(), r, noon)); got != c.same {
			t.Errorf("%s, during checks: %q, want %q", name, got, c.same)
		}
		if got := text(routine.CheckHolds(accepted, "p", r, noon)); got != c.holds {
			t.Errorf("%s, later: %q, want %q", name, got, c.holds)
		}
	}
	late := time.Unix(4000000000, 0)
	if got := text(routine.Same(intake(), intake(), late)); got != routine.ReasonExpiredDuring {
		t.Errorf("expired during checks: %q", got)
	}
	if got := text(routine.CheckHolds(accepted, "p", intake(), late)); got != routine.ReasonExpired {
		t.Errorf("expired later: %q", got)
	}
	if got := text(routine.Same(intake(), nil, noon)) + "|" + text(routine.CheckHolds(accepted, "p", nil, noon)); got != routine.ReasonChanged+"|"+routine.ReasonRevoked {
		t.Errorf("a Routine that is gone: %q", got)
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
