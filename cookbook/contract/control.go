package main

import (
	"encoding/json"
	"net/http"

	"companyos/shared/executor"
	"companyos/shared/local"
	"companyos/shared/task"
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
	if err := c.company.Sweep(r.Context()); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	answer(w, map[string]any{})
}
