package app

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"

	"companyos/shared/store"
	"companyos/shared/task"
)

// Events takes the n-th batch of events of a launch and answers whether the run is to end. A batch that was taken already
// is answered again; an empty one only asks. KindConflict "fenced" for a run that is over, KindUnauthorized for a token
// that does not hold.
func (c *Company) Events(ctx context.Context, token string, n int, events []store.Event) (cancel bool, err error) {
	run, tok, err := c.sessionRun(ctx, token)
	if err != nil {
		return false, err
	}
	if n <= run.EventBatches || len(events) == 0 {
		return run.State != task.StateRunning, nil
	}
	for i := range events {
		if events[i].Body, err = cleanJSON(events[i].Body); err != nil {
			return false, task.Invalidf("event_invalid", "Send JSON objects.", "An event is not a JSON object")
		}
	}
	after, err := c.change(ctx, tok.RunID, func(ctx context.Context, v *view) (task.Run, error) {
		if err := session(&v.run, tok, v.now); err != nil {
			return v.run, err
		}
		if n <= v.run.EventBatches {
			return v.run, nil
		}
		if !v.run.Reporting() {
			return v.run, errFenced
		}
		run := learn(v.run, events)
		run.EventBatches = n
		return run, v.tx.AddEvents(ctx, run.ID, fromSandbox(events))
	})
	if err != nil {
		return false, unknownRun(err)
	}
	return after.State != task.StateRunning, nil
}

// fromSandbox leaves out what only this service says.
func fromSandbox(events []store.Event) []store.Event {
	kept := make([]store.Event, 0, len(events))
	for _, e := range events {
		switch e.Type {
		case eventWaiting, eventLaunched, eventClaimed, eventPrepared, eventCancelling:
		default:
			kept = append(kept, e)
		}
	}
	return kept
}

// sessionLost is what a warning says of a session whose conversation could not be continued.
const sessionLost = "lost"

// learn takes from the events what the run itself shows.
func learn(r task.Run, events []store.Event) task.Run {
	for _, e := range events {
		var body struct {
			Usage          *task.Usage `json:"usage"`
			HarnessVersion string      `json:"harness_version"`
			Lock           string      `json:"lock"`
			Session        string      `json:"session"`
			SHA256         string      `json:"sha256"`
			Files          int         `json:"files"`
			Redacted       bool        `json:"redacted"`
		}
		if json.Unmarshal(e.Body, &body) != nil {
			continue
		}
		info := task.SandboxInfo{}
		if r.SandboxInfo != nil {
			info = *r.SandboxInfo
		}
		switch {
		case e.Type == eventUsage && body.Usage != nil:
			r.Usage = body.Usage
		case e.Type == eventStarted:
			info.HarnessVersion, info.Lock = body.HarnessVersion, body.Lock
			r.SandboxInfo = &info
		case e.Type == eventWarning && body.Session == sessionLost:
			info.SessionLost = true
			r.SandboxInfo = &info
		case e.Type == eventPatched:
			if a, ok := r.Announced(task.ArtifactPatch, body.SHA256); ok {
				a.Files, a.TakenAt, a.Redacted = body.Files, e.At.Unix(), body.Redacted
				r = r.WithArtifact(a)
			}
		}
	}
	return r
}

// cleanJSON takes NUL characters out of a JSON object: PostgreSQL keeps none.
func cleanJSON(raw json.RawMessage) (json.RawMessage, error) {
	var object map[string]any
	if len(raw) == 0 {
		return json.RawMessage("{}"), nil
	}
	if !bytes.Contains(raw, []byte(`\u0000`)) {
		return raw, nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&object); err != nil {
		return nil, err
	}
	return json.Marshal(cleanValue(object))
}

func cleanValue(v any) any {
	switch v := v.(type) {
	case string:
		return clean(v)
	case []any:
		for i := range v {
			v[i] = cleanValue(v[i])
		}
	case map[string]any:
		cleaned := make(map[string]any, len(v))
		for key, value := range v {
			cleaned[clean(key)] = cleanValue(value)
		}
		return cleaned
	}
	return v
}

// clean makes a text of somebody else's one that PostgreSQL keeps.
func clean(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "")
}
