package main

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/google/uuid"

	"companyos/shared/app"
	"companyos/shared/executor"
	"companyos/shared/local"
	"companyos/shared/store"
	"companyos/shared/task"
	"companyos/shared/wire"
)

// control are the routes with which a replay holds, breaks and looks into the server.
type control struct {
	company   *local.Company
	executors *executor.Source
	registry  *executor.Registry // as it was at the start
	sandboxes *double
}

func (c *control) routes(mux *http.ServeMux) {
	mux.HandleFunc("GET /__control__/health", func(w http.ResponseWriter, _ *http.Request) { answer(w, map[string]any{"ok": true}) })
	mux.HandleFunc("POST /__control__/claims", c.claims)
	mux.HandleFunc("POST /__control__/registry", c.change)
	mux.HandleFunc("POST /__control__/depth", c.depth)
	mux.HandleFunc("POST /__control__/starts", c.starts)
	mux.HandleFunc("POST /__control__/tick", c.tick)
	mux.HandleFunc("POST /__control__/refresh", c.refresh)
	mux.HandleFunc("POST /__control__/intake", c.intake)
	mux.HandleFunc("POST /schedules", schedule)
}

// schedule takes the schedule that the exchanges make beside the Company, which has no such route: they go on to ask whether it
// is taken for a Routine.
func schedule(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	_ = json.NewEncoder(w).Encode(map[string]any{"id": uuid.NewString()})
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

func read(w http.ResponseWriter, r *http.Request, v any) bool {
	if err := json.NewDecoder(r.Body).Decode(v); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return false
	}
	return true
}

// claims holds deliveries or lets them go on.
func (c *control) claims(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Enabled bool `json:"enabled"`
	}
	if !read(w, r, &in) {
		return
	}
	c.company.Attempts.Hold(!in.Enabled)
	c.company.Work.Hold(!in.Enabled)
	answer(w, map[string]any{"claims": in.Enabled})
}

// change makes an executor unavailable, or gives it back.
func (c *control) change(w http.ResponseWriter, r *http.Request) {
	var in struct{ Remove, Restore, NoDB, ReDB string }
	if !read(w, r, &in) {
		return
	}
	switch {
	case in.Remove != "":
		c.executors.Replace(c.registry.Without(task.ExecutorAgent, in.Remove))
	case in.NoDB != "":
		ex, _ := c.registry.Agent(in.NoDB)
		ex.NoDatabase = true
		changed, err := c.registry.Without(task.ExecutorAgent, in.NoDB).With(ex)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		c.executors.Replace(changed)
	default:
		c.executors.Replace(c.registry)
	}
	answer(w, map[string]any{})
}

// depth bounds the runs that may wait.
func (c *control) depth(w http.ResponseWriter, r *http.Request) {
	var in struct{ Max int }
	if !read(w, r, &in) {
		return
	}
	c.company.App.MaxPending = in.Max
	answer(w, map[string]any{"max_queue_depth": in.Max})
}

// starts shows what the last sandboxes were started with.
func (c *control) starts(w http.ResponseWriter, r *http.Request) {
	var want struct {
		AgentID string `json:"agent_id"`
	}
	if !read(w, r, &want) {
		return
	}
	out := []startRecord{}
	for _, s := range c.sandboxes.started() {
		run, err := c.company.App.Run(r.Context(), s.RunID)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		if s.AgentID = run.ExecutorID; want.AgentID == "" || want.AgentID == s.AgentID {
			out = append(out, s)
		}
	}
	answer(w, out[max(0, len(out)-10):])
}

func (c *control) tick(w http.ResponseWriter, r *http.Request) {
	done, err := c.company.App.Tick(r.Context())
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	answer(w, map[string]any{"status": done.Status, "output": done, "error": done.Error})
}

// refresh tidies a Product up.
func (c *control) refresh(w http.ResponseWriter, r *http.Request) {
	var in struct {
		ProductID string `json:"product_id"`
	}
	if !read(w, r, &in) {
		return
	}
	done, err := c.company.App.Refresh(r.Context(), in.ProductID)
	if err != nil {
		answer(w, map[string]any{"error": string(task.KindOf(err)), "detail": err.Error()})
		return
	}
	answer(w, done)
}

// intake does what a Routine's executor does with a Source: it proposes a Task from all that it reads there.
func (c *control) intake(w http.ResponseWriter, r *http.Request) {
	var in struct {
		RoutineID string `json:"routine_id"`
		ProductID string `json:"product_id"`
		ProjectID string `json:"project_id"`
		SourceID  string `json:"source_id"`
		RunID     string `json:"run_id"`
		Title     string `json:"title"`
		Brief     string `json:"brief"`
		Key       string `json:"key"`
	}
	if !read(w, r, &in) {
		return
	}
	proposal := app.Proposal{
		SourceID: in.SourceID, ProjectID: in.ProjectID, Title: in.Title, Brief: &in.Brief, Key: in.Key, Hashes: map[string]string{},
	}
	documents, err := c.company.App.ReadProductSource(r.Context(), in.ProductID, in.SourceID)
	for _, d := range documents {
		proposal.Links = append(proposal.Links, d.Link)
		proposal.Hashes[d.Link] = d.ContentHash
	}
	proposed := store.TaskInPlace{}
	if err == nil {
		proposed, err = c.company.App.Intake(r.Context(), in.RoutineID, in.ProductID, in.RunID, proposal)
	}
	if err != nil {
		answer(w, map[string]any{"error": string(task.KindOf(err)), "detail": err.Error()})
		return
	}
	record, err := wire.Marshal(wire.NewTask(proposed.Task, false))
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	answer(w, json.RawMessage(record))
}

// automation passes and refuses as the recorded exchanges expect. Ticks come by the control route alone.
func automation() local.Automation {
	always := func(answer bool) app.Check {
		return func(context.Context, app.CheckedProposal) (bool, error) { return answer, nil }
	}
	return local.Automation{
		Checks: map[string]app.Check{"always_true": always(true), "always_false": always(false)},
	}
}
