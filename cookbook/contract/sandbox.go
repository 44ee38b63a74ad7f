package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"companyos/shared/local"
	"companyos/shared/sandbox"
	"companyos/shared/task"
	"companyos/shared/wire"
)

// double stands for sandboxes whose repositories do not exist: each launch is a goroutine that speaks the sandbox's API
// as a supervisor does and does what the Task's script says.
type double struct {
	api      string
	log      *slog.Logger
	mu       sync.Mutex
	launches map[string]*launch
	pins     map[string]wire.PreparedRequest // by session: what it checked out first
	starts   []startRecord
	turns    ordinals
}

type launch struct {
	stop    context.CancelFunc
	started time.Time
	stopped time.Time
}

// startRecord is what a sandbox was started with, for the control route that shows it.
type startRecord struct {
	RunID     string         `json:"run_id"`
	SessionID string         `json:"session_id"`
	AgentID   string         `json:"agent_id"`
	Turn      int            `json:"turn"`
	Metadata  map[string]any `json:"metadata"`
}

func newDouble(p local.Paths) *double {
	return &double{api: p.APIURL, log: p.Log, launches: map[string]*launch{}, pins: map[string]wire.PreparedRequest{}}
}

func handleOf(run string, n int) string { return run + "/" + strconv.Itoa(n) }

// Start implements sandbox.Sandboxes.
func (d *double) Start(ctx context.Context, spec sandbox.Spec) (string, error) {
	handle := handleOf(spec.RunID, spec.Launch)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.launches[handle] != nil {
		return handle, nil
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	l := &launch{stop: cancel, started: time.Now()}
	d.launches[handle] = l
	go func() {
		defer func() {
			d.mu.Lock()
			defer d.mu.Unlock()
			cancel()
			l.stopped = time.Now()
		}()
		if err := d.supervise(ctx, spec); err != nil && ctx.Err() == nil {
			d.log.WarnContext(ctx, "the double of a sandbox ended", "run_id", spec.RunID, "error", err)
		}
	}()
	return handle, nil
}

// Describe implements sandbox.Sandboxes.
func (d *double) Describe(_ context.Context, handle string) (sandbox.Status, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	run, n, _ := strings.Cut(handle, "/")
	launch, _ := strconv.Atoi(n)
	s := sandbox.Status{Handle: handle, RunID: run, Launch: launch, State: sandbox.StateMissing}
	if l := d.launches[handle]; l != nil {
		s.State, s.StartedAt, s.StoppedAt = sandbox.StateRunning, l.started, l.stopped
		if !l.stopped.IsZero() {
			s.State = sandbox.StateStopped
		}
	}
	return s, nil
}

// List implements sandbox.Sandboxes.
func (d *double) List(ctx context.Context, runID string, n int) ([]sandbox.Status, error) {
	s, err := d.Describe(ctx, handleOf(runID, n))
	if err != nil || s.State == sandbox.StateMissing {
		return nil, err
	}
	return []sandbox.Status{s}, nil
}

// Stop implements sandbox.Sandboxes.
func (d *double) Stop(_ context.Context, handle, _ string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if l := d.launches[handle]; l != nil {
		l.stop()
	}
	return nil
}

// Running implements local.Launcher.
func (d *double) Running(context.Context) (running []sandbox.Status, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for handle, l := range d.launches {
		if l.stopped.IsZero() {
			running = append(running, sandbox.Status{Handle: handle, State: sandbox.StateRunning, StartedAt: l.started})
		}
	}
	return running, nil
}

// Prune implements local.Launcher. The replayer ends before anything is old.
func (d *double) Prune(context.Context, time.Time) error { return nil }

// supervise is one launch.
func (d *double) supervise(ctx context.Context, spec sandbox.Spec) error {
	client := wire.NewSandboxClient(d.api, nil)
	claimed, err := client.Claim(ctx, spec.Token, wire.ClaimRequest{Instance: "double-" + handleOf(spec.RunID, spec.Launch)})
	if err != nil {
		return err
	}
	work := claimed.Work
	input, err := fetch(ctx, work.InputURL)
	if err != nil {
		return err
	}
	n := d.turns.of(work.SessionID, work.RunID)
	t := script(input, n)
	pin := d.record(work, t, n)
	if !t.NoPin {
		if _, err := client.Prepared(ctx, pin); err != nil {
			return err
		}
	}
	kind, err := d.work(ctx, client, t)
	if err != nil {
		return err
	}
	content := t.content(fmt.Sprintf("fixture turn %d %s", n+1, strings.ToLower(cmp.Or(t.Status, "COMPLETED"))))
	return report(ctx, client, wire.ResultFile{Kind: kind, Content: content})
}

// record remembers the start and decides what is reported as checked out.
func (d *double) record(work wire.Work, t turn, n int) wire.PreparedRequest {
	d.mu.Lock()
	defer d.mu.Unlock()
	metadata := map[string]any(nil)
	sent := ""
	if work.Repository.Commit != nil {
		sent = *work.Repository.Commit
		metadata = map[string]any{"repository": map[string]any{"commit": sent}}
	}
	d.starts = append(d.starts, startRecord{RunID: work.RunID, SessionID: work.SessionID, Turn: n, Metadata: metadata})
	held := d.pins[work.SessionID]
	pin := wire.PreparedRequest{
		URL:    cmp.Or(t.URL, work.Repository.URL),
		Branch: cmp.Or(t.Branch, work.Repository.Branch),
		Commit: cmp.Or(t.Commit, held.Commit, sent, strings.Repeat("a", 40)),
	}
	if held.Commit == "" {
		d.pins[work.SessionID] = pin
	}
	return pin
}

// work takes the script's time and asks every second whether the run is to end.
func (d *double) work(ctx context.Context, client *wire.SandboxClient, t turn) (task.EndKind, error) {
	end := time.After(t.delay())
	ask := time.NewTicker(500 * time.Millisecond)
	defer ask.Stop()
	for n := 1; ; n++ {
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-end:
			if t.Status == string(task.ResultError) {
				return task.EndFailed, nil
			}
			return task.EndCompleted, nil
		case <-ask.C:
			answer, err := client.Events(ctx, wire.EventsRequest{N: n})
			if err != nil {
				return "", err
			}
			if answer.Cancel {
				return task.EndCancelled, nil
			}
		}
	}
}

func report(ctx context.Context, client *wire.SandboxClient, file wire.ResultFile) error {
	raw, err := json.Marshal(file)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(raw)
	hash := hex.EncodeToString(sum[:])
	to, err := client.Artifact(ctx, wire.ArtifactRequest{Kind: wire.ArtifactResult, SHA256: hash, Size: int64(len(raw))})
	if err != nil {
		return err
	}
	if err := client.Upload(ctx, to.PutURL, bytes.NewReader(raw), int64(len(raw))); err != nil {
		return err
	}
	_, err = client.Result(ctx, wire.ResultRequest{SHA256: hash})
	return err
}

func fetch(ctx context.Context, url string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, errors.New("the input of the run: " + res.Status)
	}
	return io.ReadAll(io.LimitReader(res.Body, 4<<20))
}

// started returns what was started so far, oldest first.
func (d *double) started() []startRecord {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]startRecord(nil), d.starts...)
}
