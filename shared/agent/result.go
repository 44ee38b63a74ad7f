package agent

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"companyos/shared/task"
	"companyos/shared/wire"
)

// artifact is a file on its way to the API's store.
type artifact struct {
	kind     wire.ArtifactKind
	path     string // of a file, else content
	content  []byte
	sha256   string
	size     int64
	redacted bool
}

// The bounds of a run's end.
const (
	contentLimit  = 160 << 10 // of the answer: result.json, however it is escaped, stays below the API's 1 MiB
	snapshotFor   = 2 * time.Minute
	lastEventsFor = 20 * time.Second
	outputDefault = 64 << 20 // of the patch and of the transcript where the executor sets no limit
	reportTries   = 5
)

func (s *supervisor) outputLimit() int64 {
	if s.work.Limits.Output > 0 {
		return s.work.Limits.Output
	}
	return outputDefault
}

// finish brings out what the run made and reports its end. Everything is uploaded before the result is reported, so that
// a report which never arrives loses nothing.
func (s *supervisor) finish(ctx context.Context, outcome Outcome) Exit {
	result := wire.ResultFile{Usage: outcome.Usage}
	if s.cell != nil {
		outcome = s.collect(ctx, outcome, &result)
	}
	if left := s.events.left(); left > 0 {
		s.warn(warning{text: fmt.Sprintf("%d events found no room and were left out.", left)})
	}
	kind, err := s.deliver(ctx, outcome, result)
	exit := Exit{Reason: ReasonReported, Kind: kind}
	switch {
	case err == nil:
	case errors.Is(err, wire.ErrFenced), errors.Is(err, wire.ErrTokenRefused):
		exit.Reason, exit.Err = ReasonFenced, err
	default:
		exit.Reason, exit.Err = ReasonUnreported, err
	}
	return exit
}

// collect takes the patch and the conversation from the agent's files. What goes wrong there ends a run that would have
// been completed, and is a note for any other; the agent's answer stays.
func (s *supervisor) collect(ctx context.Context, outcome Outcome, result *wire.ResultFile) Outcome {
	taking, cancel := context.WithTimeout(ctx, snapshotFor)
	defer cancel()
	s.freeReserve()
	worse := func(err error) {
		f := failureOf(err)
		s.log.note("%s", f.Text)
		s.Log.Warn("collecting", "kind", f.Kind, "error", s.redact.String(err.Error()))
		outcome = outcome.without(f)
	}
	if err := s.collectPatch(taking, result); err != nil {
		worse(err)
	}
	if conversation, err := s.collectConversation(taking, outcome.Kind, result); err != nil {
		worse(err)
	} else if conversation != nil {
		outcome = s.refine(outcome, conversation.path)
	}
	// Looking at the agent's files may have started something of the agent's again.
	t := turn{cell: s.cell, children: s.children}
	if err := t.killAll(context.WithoutCancel(ctx)); err != nil {
		worse(err)
	}
	return outcome
}

// collectConversation takes the conversation. A run is complete without it; then it is said, and the next attempt begins a
// new one. Errors: *EndError of kind output_limit.
func (s *supervisor) collectConversation(ctx context.Context, kind task.EndKind, result *wire.ResultFile) (*artifact, error) {
	taken, err := s.transcript(ctx, filepath.Join(s.layout.private, "transcript"))
	if f, ok := errors.AsType[*EndError](err); ok {
		return nil, f
	}
	switch {
	case err != nil:
		s.Log.Warn("collecting", "error", s.redact.String(err.Error()))
		s.warn(warning{text: "The conversation could not be kept; the next attempt begins a new one."})
	case taken == nil && kind == task.EndCompleted:
		s.warn(warning{text: "The agent left no conversation; the next attempt begins a new one."})
	case taken != nil:
		s.put(wire.ArtifactTranscript, *taken)
		result.Transcript = &wire.ResultArtifact{SHA256: taken.sha256, Size: taken.size, TakenAt: s.Now().Unix(), Redacted: taken.redacted}
	}
	return taken, nil
}

// refine takes from the conversation why a turn failed, where only that tells it.
func (s *supervisor) refine(o Outcome, path string) Outcome {
	if o.Kind != task.EndFailed {
		return o
	}
	file, err := os.Open(path)
	if err != nil {
		return o
	}
	defer file.Close()
	if kind, known := s.harness.Profile().conversation.kind(file); known {
		o.Kind = kind
	}
	return o
}

// collectPatch takes the last patch. Where that fails, the last one that was saved stands.
func (s *supervisor) collectPatch(ctx context.Context, result *wire.ResultFile) error {
	taken, file, err := s.takePatch(ctx, "patch", s.layout.workspace, s.layout.home, s.layout.scratch)
	if err != nil {
		result.Patch = s.saved
		return err
	}
	if taken == nil {
		return nil
	}
	for _, w := range taken.warnings {
		s.warn(w)
	}
	s.put(wire.ArtifactPatch, *file)
	result.Patch = &wire.ResultArtifact{SHA256: file.sha256, Size: file.size, Files: taken.files, TakenAt: taken.takenAt.Unix(), Redacted: taken.redacted}
	s.events.addLast(wire.Event{Type: wire.EventPatched, SHA256: file.sha256, Size: file.size, Files: taken.files, Redacted: taken.redacted})
	return nil
}

// takePatch takes a snapshot into a file of the supervisor's. A nil patch means that nothing was changed. When nothing of the
// agent's runs any more, unlock names its folders.
func (s *supervisor) takePatch(ctx context.Context, name string, unlock ...string) (*patch, *artifact, error) {
	shot := snapshot{
		self: s.Self, unlock: unlock, git: s.git, base: s.layout.base, workspace: s.layout.workspace, scratch: s.layout.scratch, commit: s.commit,
		limit: s.outputLimit(), redact: s.redact,
	}
	taken, err := shot.take(ctx, filepath.Join(s.layout.private, name), s.Now())
	if err != nil || taken == nil {
		return nil, nil, err
	}
	file, err := newArtifact(taken.file, nil)
	return taken, file, err
}

func (s *supervisor) put(kind wire.ArtifactKind, a artifact) {
	a.kind = kind
	s.artifacts = append(s.artifacts, a)
}

// deliver uploads everything, sends the last events and reports the result, for as long as ctx allows. A store that lost
// an object gets it again. The kind is that of the result.
func (s *supervisor) deliver(ctx context.Context, outcome Outcome, result wire.ResultFile) (task.EndKind, error) {
	s.collectLog()
	for try := 1; ; try++ {
		var err error
		if outcome, err = s.uploadAll(ctx, outcome, &result); err != nil {
			return outcome.Kind, err
		}
		result.Kind, result.Content = outcome.Kind, cut(s.redact.String(outcome.Answer), contentLimit)
		text, err := json.Marshal(result)
		if err != nil {
			return outcome.Kind, err
		}
		sum := sha256.Sum256(text)
		report := artifact{kind: wire.ArtifactResult, content: text, sha256: hex.EncodeToString(sum[:]), size: int64(len(text))}
		if err := s.upload(ctx, report); err != nil {
			return outcome.Kind, err
		}
		if try == 1 {
			s.events.addLast(wire.Event{Type: wire.EventFinished, Kind: outcome.Kind, Text: result.Content})
			s.sendLastEvents(ctx)
		}
		_, err = s.client.Result(ctx, wire.ResultRequest{SHA256: report.sha256})
		if !errors.Is(err, wire.ErrArtifactMissing) || try == reportTries {
			return outcome.Kind, err
		}
		s.Log.Warn("an artifact is missing, all are uploaded again", "try", try)
	}
}

// uploadAll uploads what the run made. What is refused for good is left out, and said: the run is reported without it
// rather than not at all. It is not completed without its patch.
func (s *supervisor) uploadAll(ctx context.Context, outcome Outcome, result *wire.ResultFile) (Outcome, error) {
	var kept []artifact
	for _, a := range s.artifacts {
		err := s.upload(ctx, a)
		if err == nil {
			kept = append(kept, a)
			continue
		}
		refused, ok := errors.AsType[*EndError](err)
		if !ok {
			return outcome, err
		}
		s.Log.Warn("leaving out an artifact", "artifact", a.kind, "error", refused.Err)
		s.warn(warning{text: refused.Text})
		switch a.kind {
		case wire.ArtifactPatch:
			result.Patch, outcome = s.saved, outcome.without(refused)
		case wire.ArtifactTranscript:
			result.Transcript = nil
		case wire.ArtifactLog, wire.ArtifactResult: // named by no result
		}
	}
	s.artifacts = kept
	return outcome, nil
}

// collectLog ends the log. A run is reported without one rather than not at all: the disk may be what failed.
func (s *supervisor) collectLog() {
	if s.log == nil {
		return
	}
	err := s.log.close()
	var file *artifact
	if err == nil {
		file, err = newArtifact(filepath.Join(s.layout.private, "log"), nil)
	}
	if err != nil {
		s.Log.Warn("the log is lost", "error", err)
		return
	}
	s.put(wire.ArtifactLog, *file)
}

// sendLastEvents empties the line of events. They follow the uploads, which wait for an API that does not answer.
func (s *supervisor) sendLastEvents(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, lastEventsFor)
	defer cancel()
	s.events.finish(ctx)
}

// upload announces one artifact and puts it where the API says. The address is good for a while only, so a refusal asks
// for another one. Errors: *EndError for what is refused for good or is not there any more, else of the report as a whole.
func (s *supervisor) upload(ctx context.Context, a artifact) error {
	refused := func(err error) error {
		f := failuref(task.EndInternal, errors.New(err.Error()), "The %s could not be stored: %v", a.kind, err) // what the store says of a token is not the run's
		if p, ok := errors.AsType[*wire.Problem](err); ok && p.Code == "artifact_too_large" {
			f.Kind, f.Limit = task.EndOutputLimit, LimitOutput
			f.Text = fmt.Sprintf("The %s of %d bytes is over the executor's output limit, which is lower now than when the run began.", a.kind, a.size)
		}
		return f
	}
	var body io.ReaderAt = bytes.NewReader(a.content)
	if a.path != "" {
		file, err := os.Open(a.path)
		if err != nil {
			return refused(err)
		}
		defer file.Close()
		body = file
	}
	for try := 1; ; try++ {
		answer, err := s.client.Artifact(ctx, wire.ArtifactRequest{Kind: a.kind, SHA256: a.sha256, Size: a.size})
		if err != nil {
			if ctx.Err() != nil || errors.Is(err, wire.ErrFenced) || errors.Is(err, wire.ErrTokenRefused) {
				return err
			}
			return refused(err)
		}
		err = s.client.Upload(ctx, answer.PutURL, body, a.size)
		if err == nil || ctx.Err() != nil {
			return err
		}
		if try == reportTries {
			return refused(err)
		}
	}
}
