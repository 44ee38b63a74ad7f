package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"

	"companyos/shared/agent/broker"
	"companyos/shared/task"
	"companyos/shared/wire"
)

// agent runs the harness, a second time without the earlier conversation when that cannot be continued.
func (s *supervisor) agent(ctx context.Context, input []byte) (Outcome, error) {
	if err := s.askVersion(ctx); err != nil {
		return Outcome{}, err
	}
	outcome, err := s.turn(ctx, input)
	if err == nil && s.dead(ctx, outcome) {
		s.lost("The agent could not go on with it: " + outcome.Answer)
		s.earlier = &restored{history: s.earlier.history}
		outcome, err = s.turn(ctx, input)
	}
	s.refusals.close()
	return s.settledBy(outcome), err
}

// dead says that the conversation that was put back is what failed: the model never gave a whole answer, though it, the key
// and the quota are well. What the provider or the program said about it does not matter; its words change.
func (s *supervisor) dead(ctx context.Context, o Outcome) bool {
	if s.earlier == nil || s.earlier.id == "" || o.Kind == task.EndCompleted || ctx.Err() != nil || s.broker.Answers() > 0 {
		return false
	}
	if s.harness.Profile().API == broker.None {
		return false
	}
	f := s.broker.Failure()
	return f == nil || f.Kind == task.EndModelRejected || f.Kind == task.EndContextExceeded
}

// settledBy prefers what the broker saw: usage is its count, and where the model's provider refused, that is why a turn
// failed, whatever the harness made of it.
func (s *supervisor) settledBy(o Outcome) Outcome {
	if u := s.broker.Usage(); u != nil {
		o.Usage = u
	}
	f := s.broker.Failure()
	switch o.Kind {
	case task.EndFailed, task.EndNoOutput, task.EndModelRejected, task.EndModelUnauthorized, task.EndModelUnavailable, task.EndUsageLimit, task.EndContextExceeded:
		if f != nil {
			o.Kind, o.Answer = f.Kind, f.Text
		}
	case task.EndRunTimeout, task.EndIdleTimeout:
		if f != nil {
			o.Answer += " Before that: " + f.Text
		}
	default:
	}
	return o
}

// used tells the run's usage so far.
func (s *supervisor) used(u task.Usage) { s.events.add(wire.Event{Type: wire.EventUsage, Usage: &u}) }

// turn runs the harness once, in a home of its own.
func (s *supervisor) turn(ctx context.Context, input []byte) (Outcome, error) {
	in := HarnessInput{
		Self: s.Self, Program: s.cli.path, RunID: s.work.RunID, Attempt: s.work.Attempt, Session: s.newSession(), Model: s.work.Model,
		Instructions: s.work.Instructions, Input: input, Home: s.layout.home, Workspace: s.layout.workspace,
		Broker: s.broker.URL(), Token: s.broker.Token(), Proxy: s.broker.ProxyURL(),
	}
	if s.work.Company {
		in.Tools = s.broker.URL() + broker.ToolsPath
	}
	if r := s.earlier; r != nil {
		in.Resume, in.History = r.id != "", r.history
		in.Session = cmp.Or(r.id, in.Session)
	}
	if in.Resume {
		in.History = ""
	}
	command, err := s.harness.Command(in)
	if err != nil {
		return Outcome{}, err
	}
	if err := s.furnish(in, command); err != nil {
		return Outcome{}, fmt.Errorf("preparing the agent's home: %w", err)
	}
	t := turn{
		self: s.Self, cell: s.cell, children: s.children, dir: s.layout.workspace, env: s.agentEnvironment(),
		parser: told{s.harness.Parser(in), s.lock, s.cli.version}, run: s.work.Limits.Run.Duration(), idle: s.work.Limits.Idle.Duration(),
		emit: s.events.add, log: s.log, grace: s.grace, save: s.savePatches, ending: s.broker.Shut,
	}
	return t.play(ctx, command)
}

// newSession names the session that this attempt would begin. One that was lost is not begun again under its name.
func (s *supervisor) newSession() string {
	if s.harness.Profile().API == broker.None {
		return s.work.SessionID
	}
	if s.work.Attempt == 1 && sessionID.MatchString(s.work.SessionID) {
		return s.work.SessionID
	}
	return uuid.NewSHA1(uuid.NameSpaceURL, fmt.Appendf(nil, "company:session:%s:%d", s.work.SessionID, s.work.Attempt)).String()
}

// furnish makes the agent's home afresh: configuration is rebuilt each time, and of what was before only the conversation is
// put back.
func (s *supervisor) furnish(in HarnessInput, c Command) error {
	if err := os.Rename(s.layout.home, fmt.Sprintf("%s.%d", s.layout.home, time.Now().UnixNano())); err != nil {
		return err
	}
	if err := os.Mkdir(s.layout.home, 0o700); err != nil {
		return err
	}
	files := map[string]string{}
	for name, content := range c.Files {
		files[name] = content
	}
	if in.Resume {
		files[s.harness.Profile().conversation.place(in.Session)] = string(s.earlier.content)
	}
	for name, content := range files {
		path := filepath.Join(s.layout.home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			return err
		}
	}
	return chownTree(s.layout.home, s.Agent)
}

// agentEnvironment is everything that the agent gets to know from its environment.
func (s *supervisor) agentEnvironment() []string {
	path := os.Getenv("PATH")
	if s.cli.path != "" {
		path = filepath.Dir(s.cli.path) + string(os.PathListSeparator) + path
	}
	env := []string{
		"PATH=" + path, "HOME=" + s.layout.home, "TMPDIR=" + s.layout.scratch, "LANG=C.UTF-8", "USER=agent", "LOGNAME=agent",
	}
	if s.Mark != "" {
		env = append(env, EnvLaunch+"="+s.Mark)
	}
	return env
}

// told adds to a parser's first word what the supervisor knows better.
type told struct {
	Parser
	lock, version string
}

func (t told) Line(line []byte) ([]wire.Event, bool) {
	events, known := t.Parser.Line(line)
	for i := range events {
		if events[i].Type == wire.EventStarted {
			events[i].Lock, events[i].HarnessVersion = t.lock, cmp.Or(t.version, strings.TrimSpace(events[i].HarnessVersion))
		}
	}
	return events, known
}

// saveEvery is how old the last saved patch of a run may be.
const saveEvery = 30 * time.Second

// savePatches saves the patch while the agent works, so that a lost host, a kill or a timeout loses little.
func (s *supervisor) savePatches(ctx context.Context) {
	ticker := time.NewTicker(cmp.Or(s.SaveEvery, saveEvery))
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if err := s.savePatch(ctx); err != nil && !errors.Is(err, context.Canceled) && ctx.Err() == nil {
				s.log.note("the patch could not be saved: %s", failureOf(err).Text)
			}
		}
	}
}

// savePatch uploads what the agent changed so far, if it changed since the last time.
func (s *supervisor) savePatch(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, snapshotFor)
	defer cancel()
	taken, file, err := s.takePatch(ctx, "saved")
	if err != nil || taken == nil || s.saved != nil && s.saved.SHA256 == file.sha256 {
		return err
	}
	file.kind = wire.ArtifactPatch
	if err := s.upload(ctx, *file); err != nil {
		return err
	}
	s.saved = &wire.ResultArtifact{SHA256: file.sha256, Size: file.size, Files: taken.files, TakenAt: taken.takenAt.Unix(), Redacted: taken.redacted}
	s.events.add(wire.Event{Type: wire.EventPatched, SHA256: file.sha256, Size: file.size, Files: taken.files, Redacted: taken.redacted})
	return nil
}
