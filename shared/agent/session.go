package agent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"companyos/shared/agent/redact"
	"companyos/shared/gitcmd"
	"companyos/shared/task"
	"companyos/shared/wire"
)

// The bounds of what a claim's URLs answer.
const (
	inputMost        = 4 << 20
	conversationMost = outputDefault
	patchMost        = 1 << 30 // the largest output limit of an executor

	transcriptFor = 15 * time.Second
)

// restore brings in what the attempt starts from beside the commit: its input, the last completed attempt's changes and
// conversation, which is kept aside until the agent starts. Errors: *EndError.
func (s *supervisor) restore(ctx context.Context) ([]byte, error) {
	input, err := s.client.Download(ctx, s.work.InputURL, inputMost)
	if err != nil {
		return nil, brokenOff(ctx, failuref(task.EndInternal, err, "The attempt's input could not be read."))
	}
	if p := s.work.Patch; p != nil {
		size, err := s.restorePatch(ctx, *p)
		if err != nil {
			return nil, err
		}
		s.log.note("the changes of the earlier attempt are back (%d bytes)", size)
	}
	s.restoreConversation(ctx)
	return input, context.Cause(ctx)
}

// restoreConversation fetches the conversation of the earlier attempts. One that is missing, or not fit to be continued, is
// said, and the attempt begins a new one.
func (s *supervisor) restoreConversation(ctx context.Context) {
	t := s.work.Session
	if t == nil {
		if s.work.Patch != nil {
			s.warn(warning{text: "There is no conversation to go on with: it was not kept, held a secret, or was given up after it failed twice. A new one begins."})
		}
		return
	}
	content, err := s.fetchConversation(ctx, *t)
	if err != nil {
		if ctx.Err() == nil {
			s.lost(failureOf(err).Text)
		}
		return
	}
	r, err := s.harness.Profile().conversation.read(content)
	if err != nil {
		s.lost("The file is not readable: " + err.Error())
		return
	}
	if r.torn {
		s.warn(warning{text: "The last line of the earlier conversation is not whole and is left out."})
	}
	s.earlier = &r
}

// lost says that the conversation of the earlier attempts cannot be continued.
func (s *supervisor) lost(why string) {
	s.log.note("session lost: %s", why)
	s.events.addLast(wire.Event{
		Type: wire.EventWarning, Session: wire.SessionLost,
		Text: "The earlier conversation cannot be continued, so a new one begins with what was said as text. " + why,
	})
}

// restorePatch puts back the earlier attempt's changes, by way of a file: they may be large.
func (s *supervisor) restorePatch(ctx context.Context, p wire.WorkPatch) (size int64, err error) {
	file, err := os.Create(filepath.Join(s.layout.private, "earlier"))
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, file.Close(), os.Remove(file.Name())) }()
	if err := s.client.Save(ctx, p.URL, patchMost, file); err != nil {
		return 0, brokenOff(ctx, failuref(task.EndInternal, err, "The earlier attempt's changes could not be read."))
	}
	hash := sha256.New()
	if size, err = io.Copy(hash, file); err != nil {
		return 0, err
	}
	if hex.EncodeToString(hash.Sum(nil)) != p.SHA256 {
		return 0, failuref(task.EndInternal, nil, "The earlier attempt's changes are not what was stored: sha256 differs.")
	}
	return size, restore(ctx, s.git, s.layout.workspace, io.NewSectionReader(file, 0, size))
}

// fetchConversation reads the earlier attempts' conversation and checks that it is the one.
func (s *supervisor) fetchConversation(ctx context.Context, t wire.WorkTranscript) ([]byte, error) {
	content, err := s.client.Download(ctx, t.TranscriptURL, conversationMost)
	if err != nil {
		return nil, brokenOff(ctx, failuref(task.EndInternal, err, "The earlier attempt's conversation could not be read."))
	}
	if sum := sha256.Sum256(content); hex.EncodeToString(sum[:]) != t.SHA256 {
		return nil, failuref(task.EndInternal, nil, "The earlier attempt's conversation is not what was stored: sha256 differs.")
	}
	return content, nil
}

// brokenOff is the cause of ctx's end, else the error.
func brokenOff(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// transcript copies the conversation out of the agent's home, as the agent's user: whatever the agent put there, a link or
// a pipe, opens nothing that it could not read itself. A nil artifact means that there is none.
func (s *supervisor) transcript(ctx context.Context, to string) (*artifact, error) {
	file, err := os.OpenFile(to, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	redacted := s.redact.Writer(file)
	bounded := &limitedBuffer{to: redacted, left: s.outputLimit()}
	ctx, cancel := context.WithTimeout(ctx, transcriptFor) // a pipe in its place would never end
	defer cancel()
	c := s.harness.Profile().conversation
	_, err = child{
		args: append(append([]string{}, s.Self...), SubcommandTranscript, filepath.Join(s.layout.home, c.dir), c.pattern),
		dir:  s.layout.empty, env: gitcmd.Environment(s.layout.empty, nil), cell: s.cell, own: s.children, stdout: bounded,
	}.run(ctx)
	err = errors.Join(redacted.Close(), file.Close(), err)
	if bounded.left < 0 {
		return nil, &EndError{Kind: task.EndOutputLimit, Limit: LimitOutput, Text: "The conversation is larger than the output limit.", Err: err}
	}
	if failed, ok := errors.AsType[*childError](err); ok && failed.exit == 1 {
		return nil, nil // there is no such file, or not one to be read
	}
	if err != nil {
		return nil, fmt.Errorf("copying the conversation: %w", err)
	}
	return newArtifact(to, redacted)
}

// newArtifact hashes a file on its way out.
func newArtifact(path string, by *redact.Writer) (*artifact, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	hash := sha256.New()
	size, err := io.Copy(hash, file)
	if err != nil {
		return nil, err
	}
	return &artifact{path: path, sha256: hex.EncodeToString(hash.Sum(nil)), size: size, redacted: by != nil && by.Found()}, nil
}
