package docker

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"companyos/shared/agent"
	"companyos/shared/sandbox"
	"companyos/shared/task"
)

// inspected is what the engine says of a container.
type inspected struct {
	Name   string
	Image  string
	Config struct {
		Image  string
		Labels map[string]string
	}
	State struct {
		Status     string // created, running, paused, restarting, removing, exited, dead
		OOMKilled  bool
		ExitCode   int
		Error      string
		StartedAt  time.Time
		FinishedAt time.Time
	}
}

func (l *Launcher) inspect(ctx context.Context, handle string) (inspected, error) {
	var out inspected
	err := l.engine.call(ctx, http.MethodGet, "/containers/"+handle+"/json", nil, nil, &out)
	return out, err
}

// Describe looks at one container.
func (l *Launcher) Describe(ctx context.Context, handle string) (sandbox.Status, error) {
	missing := sandbox.Status{Handle: handle, State: sandbox.StateMissing}
	if !l.isHandle(handle) {
		return missing, nil
	}
	seen, err := l.inspect(ctx, handle)
	if statusOf(err) == http.StatusNotFound {
		return missing, nil
	}
	if err != nil {
		return missing, err
	}
	return statusFrom(handle, seen), nil
}

// killedBy is the exit code of a process that SIGKILL ended.
const killedBy = 128 + 9

func statusFrom(handle string, seen inspected) sandbox.Status {
	launch, _ := strconv.Atoi(seen.Config.Labels[labelLaunch])
	s := sandbox.Status{
		Handle: handle, RunID: seen.Config.Labels[labelRun], Launch: launch, Image: seen.Config.Image + "@" + seen.Image,
	}
	if seen.State.StartedAt.Year() > 1 {
		s.StartedAt = seen.State.StartedAt
	}
	switch seen.State.Status {
	case "created":
		s.State = sandbox.StateStarting
	case "exited", "dead", "removing":
		s.State, s.StoppedAt = sandbox.StateStopped, seen.State.FinishedAt
		ended(&s, seen)
	default:
		s.State = sandbox.StateRunning
	}
	return s
}

// ended reads how a container ended. A supervisor ends by itself, with a code of its own, unless it was killed.
func ended(s *sandbox.Status, seen inspected) {
	code := seen.State.ExitCode
	s.ExitCode, s.Detail = &code, seen.State.Error
	switch {
	case s.StartedAt.IsZero():
		s.ExitCode, s.Reason = nil, task.EndNeverStarted
	case seen.State.OOMKilled && code != 0:
		s.Reason, s.Detail = task.EndOutOfMemory, "the container's memory was used up"
	case code == killedBy:
		s.ExitCode, s.Reason, s.Detail = nil, task.EndLost, "the supervisor was killed"
	case code == agent.Exit{Reason: agent.ReasonNoToken}.Code():
		s.Reason = task.EndNeverStarted
	}
}

// List finds the containers of one launch, by their labels.
func (l *Launcher) List(ctx context.Context, runID string, launch int) ([]sandbox.Status, error) {
	return l.find(ctx, true, labelRun+"="+runID, labelLaunch+"="+strconv.Itoa(launch))
}

// Running lists the sandboxes that run, for a clean shutdown and for a reset.
func (l *Launcher) Running(ctx context.Context) ([]sandbox.Status, error) {
	return l.find(ctx, false, labelRun)
}

func (l *Launcher) find(ctx context.Context, all bool, labels ...string) ([]sandbox.Status, error) {
	filters, err := json.Marshal(map[string][]string{"label": labels})
	if err != nil {
		return nil, err
	}
	var listed []struct{ Names []string }
	query := url.Values{"all": {strconv.FormatBool(all)}, "filters": {string(filters)}}
	if err := l.engine.call(ctx, http.MethodGet, "/containers/json", query, nil, &listed); err != nil {
		return nil, err
	}
	var found []sandbox.Status
	for _, c := range listed {
		for _, name := range c.Names {
			if len(name) < 2 || !l.isHandle(name[1:]) { // the engine puts a slash before it
				continue
			}
			status, err := l.Describe(ctx, name[1:])
			if err != nil {
				return nil, err
			}
			if status.State != sandbox.StateMissing {
				found = append(found, status)
			}
		}
	}
	return found, nil
}

// placed is how long Stop waits to hear that its order was refused.
const placed = 300 * time.Millisecond

// Stop has the engine send SIGTERM and, after the grace, SIGKILL to everything in the container. The engine goes on with
// that when nobody waits for its answer any more.
func (l *Launcher) Stop(ctx context.Context, handle, reason string) error {
	status, err := l.Describe(ctx, handle)
	if err != nil || status.State.Stopped() {
		return err
	}
	l.Log.InfoContext(ctx, "stopping a sandbox", "container", handle, "reason", reason)
	result := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.Grace+time.Minute)
		defer cancel()
		query := url.Values{"t": {strconv.Itoa(int(l.Grace / time.Second))}}
		err := l.engine.call(ctx, http.MethodPost, "/containers/"+handle+"/stop", query, nil, nil)
		if err != nil && statusOf(err) != http.StatusNotFound && statusOf(err) != http.StatusNotModified {
			l.Log.ErrorContext(ctx, "a sandbox could not be stopped", "container", handle, "error", err)
			result <- err
			return
		}
		result <- nil
	}()
	timer := time.NewTimer(placed)
	defer timer.Stop()
	select {
	case err := <-result:
		return err
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// remove removes a container with its volume.
func (l *Launcher) remove(ctx context.Context, handle string) error {
	err := l.engine.call(ctx, http.MethodDelete, "/containers/"+handle, url.Values{"force": {"true"}, "v": {"true"}}, nil, nil)
	if statusOf(err) == http.StatusNotFound {
		return nil
	}
	return err
}

// keptMost bounds how long a stopped container stays: its volume holds a whole checkout.
const keptMost = 24 * time.Hour

// Prune removes the containers that stopped before a time, or more than a day ago, with their volumes.
func (l *Launcher) Prune(ctx context.Context, before time.Time) error {
	all, err := l.find(ctx, true, labelRun)
	if err != nil {
		return err
	}
	if day := time.Now().Add(-keptMost); day.After(before) {
		before = day
	}
	for _, s := range all {
		if s.State == sandbox.StateStopped && s.StoppedAt.Before(before) {
			if err := l.remove(ctx, s.Handle); err != nil {
				return err
			}
		}
	}
	return nil
}
