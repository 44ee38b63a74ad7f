package process

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"companyos/shared/agent"
	"companyos/shared/agent/proctree"
	"companyos/shared/sandbox"
	"companyos/shared/task"
)

// sweepFor is how long one look tries to end what a dead supervisor left.
const sweepFor = 5 * time.Second

// Describe looks at one sandbox. Where the supervisor is dead it first ends what is left of the agent, so that a stopped
// sandbox is one of which nothing runs.
func (l *Launcher) Describe(ctx context.Context, handle string) (sandbox.Status, error) {
	status := sandbox.Status{Handle: handle, State: sandbox.StateMissing}
	if !isHandle(handle) {
		return status, nil
	}
	rec, starting, err := readRecord(l.path(handle))
	if errors.Is(err, fs.ErrNotExist) {
		return status, nil
	}
	if err != nil {
		return status, fmt.Errorf("reading the launch %s: %w", handle, err)
	}
	status.RunID, status.StartedAt, status.Image = handle[:36], rec.StartedAt, l.Binary[0]
	status.Launch, _ = strconv.Atoi(handle[37:])
	switch {
	case starting:
		status.State = sandbox.StateStarting
	case rec.PID == 0:
		status.State, status.Reason, status.Detail = sandbox.StateStopped, task.EndNeverStarted, rec.Failed
		if rec.Reason != "" {
			status.Reason = rec.Reason
		}
	case rec.alive():
		status.State = sandbox.StateRunning
	default:
		if err := sweep(ctx, rec, handle); err != nil {
			status.State, status.Detail = sandbox.StateRunning, "the supervisor has ended; "+err.Error()
			return status, nil //nolint:nilerr // that something still runs is the answer
		}
		status.State = sandbox.StateStopped
		l.ended(&status, rec)
		l.tidy(rec)
	}
	return status, nil
}

// left matches what a launch's agent may have running without its supervisor.
func left(rec record, handle string) proctree.Match {
	if rec.UID > 0 {
		return proctree.OfUID(rec.UID)
	}
	return proctree.WithEnvironment(agent.EnvLaunch + "=" + handle)
}

// sweep ends what is left of a dead supervisor's agent.
func sweep(ctx context.Context, rec record, handle string) error {
	if rec.Boot != proctree.Boot() {
		return nil // the machine started again since
	}
	ctx, cancel := context.WithTimeout(ctx, sweepFor)
	defer cancel()
	return proctree.Kill(ctx, left(rec, handle))
}

// ended reads what the supervisor left behind about its end.
func (l *Launcher) ended(status *sandbox.Status, rec record) {
	path := filepath.Join(rec.Dir, agent.ExitFile)
	text, err := os.ReadFile(path)
	var exit agent.ExitRecord
	if err != nil || json.Unmarshal(text, &exit) != nil {
		status.Reason, status.Detail = task.EndLost, "the supervisor was killed"
		return
	}
	if info, err := os.Stat(path); err == nil {
		status.StoppedAt = info.ModTime().UTC()
	}
	status.ExitCode, status.Detail = &exit.Code, string(exit.Reason)
	if exit.Reason == agent.ReasonNoToken {
		status.Reason = task.EndNeverStarted
	}
}

// tidy removes a stopped launch's files but for its exit.
func (l *Launcher) tidy(rec record) {
	entries, err := os.ReadDir(rec.Dir)
	if err != nil {
		return
	}
	for _, entry := range entries {
		path := filepath.Join(rec.Dir, entry.Name())
		if entry.Name() == agent.ExitFile {
			continue
		}
		if os.RemoveAll(path) == nil {
			continue
		}
		// The agent may have closed its own folders.
		_ = filepath.WalkDir(path, func(path string, entry fs.DirEntry, err error) error {
			if entry != nil && entry.IsDir() {
				_ = os.Chmod(path, 0o700) //nolint:gosec // a folder
			}
			return nil
		})
		if err := os.RemoveAll(path); err != nil {
			l.Log.Warn("a stopped launch's files could not be removed", "path", path, "error", err)
		}
	}
}

// Stop asks the supervisor to end, and after the grace ends it and everything of its agent's. The time of the first Stop
// is kept beside the record, so that a Stop after a restart does not begin the grace again.
func (l *Launcher) Stop(ctx context.Context, handle, reason string) error {
	status, err := l.Describe(ctx, handle)
	if err != nil || status.State.Stopped() {
		return err
	}
	if status.State == sandbox.StateStarting {
		return fmt.Errorf("stopping %s: it is being started; stop it again", handle)
	}
	rec, _, err := readRecord(l.path(handle))
	if err != nil {
		return err
	}
	since, err := l.stopAsked(handle)
	if err != nil {
		return err
	}
	l.Log.Info("stopping a sandbox", "launch", handle, "reason", reason, "pid", rec.PID)
	proctree.Signal(proctree.Process{PID: rec.PID, Start: rec.Start}, syscall.SIGTERM)
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.stopping[handle] {
		l.stopping[handle] = true
		go l.stop(context.WithoutCancel(ctx), rec, handle, since.Add(l.Grace))
	}
	return nil
}

// stopAsked is when the first Stop came.
func (l *Launcher) stopAsked(handle string) (time.Time, error) {
	path := l.path(handle) + ".stop"
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err == nil {
		return time.Now(), file.Close()
	}
	info, err := os.Stat(path)
	if err != nil {
		return time.Time{}, err
	}
	return info.ModTime(), nil
}

// stop awaits the end until a time, and then makes it.
func (l *Launcher) stop(ctx context.Context, rec record, handle string, until time.Time) {
	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.stopping, handle)
	}()
	for rec.alive() && time.Now().Before(until) {
		time.Sleep(50 * time.Millisecond)
	}
	if err := l.kill(ctx, rec, handle); err != nil {
		l.Log.Error("a sandbox could not be ended", "launch", handle, "error", err)
	}
}

// kill ends a supervisor and its tree. The supervisor is only halted at first: as long as it exists, every orphan of the
// agent's stays below it and is found.
func (l *Launcher) kill(ctx context.Context, rec record, handle string) error {
	ctx, cancel := context.WithTimeout(ctx, 2*sweepFor)
	defer cancel()
	supervisor := proctree.Process{PID: rec.PID, Start: rec.Start}
	if rec.alive() {
		proctree.Signal(supervisor, syscall.SIGSTOP)
		if err := proctree.Kill(ctx, proctree.Any(proctree.Descendants(rec.PID), left(rec, handle))); err != nil {
			l.Log.Warn("ending an agent", "launch", handle, "error", err)
		}
		proctree.Signal(supervisor, syscall.SIGKILL)
	}
	if rec.UID > 0 {
		return proctree.Kill(ctx, left(rec, handle))
	}
	return sweep(ctx, rec, handle)
}
