package sandboxtest

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"companyos/shared/wire"
)

// Cancel makes the API answer that the run is to end.
func (l *Launch) Cancel() {
	l.api.mu.Lock()
	defer l.api.mu.Unlock()
	l.cancel = true
}

// Settle ends the run on the API's side, as a limit or another launch does.
func (l *Launch) Settle() {
	l.api.mu.Lock()
	defer l.api.mu.Unlock()
	l.settle()
}

// LoseUpload makes the store lose the next upload of a kind.
func (l *Launch) LoseUpload(kind wire.ArtifactKind) {
	l.api.mu.Lock()
	defer l.api.mu.Unlock()
	l.lose[kind]++
}

// RefuseUpload makes the store refuse every upload of a kind.
func (l *Launch) RefuseUpload(kind wire.ArtifactKind) {
	l.api.mu.Lock()
	defer l.api.mu.Unlock()
	l.refuse[kind] = true
}

// Instances lists the distinct instances that asked for the work.
func (l *Launch) Instances() []string {
	l.api.mu.Lock()
	defer l.api.mu.Unlock()
	var distinct []string
	seen := map[string]bool{}
	for _, instance := range l.instances {
		if !seen[instance] {
			seen[instance] = true
			distinct = append(distinct, instance)
		}
	}
	return distinct
}

// Prepared lists the reported checkouts.
func (l *Launch) Prepared() []wire.PreparedRequest {
	l.api.mu.Lock()
	defer l.api.mu.Unlock()
	return append([]wire.PreparedRequest(nil), l.prepared...)
}

// Events lists the events taken so far.
func (l *Launch) Events() []wire.Event {
	l.api.mu.Lock()
	defer l.api.mu.Unlock()
	return append([]wire.Event(nil), l.events...)
}

// Asked counts the calls of events, empty ones too.
func (l *Launch) Asked() int {
	l.api.mu.Lock()
	defer l.api.mu.Unlock()
	return l.calls
}

// Reports counts the reports of a result that were accepted.
func (l *Launch) Reports() int {
	l.api.mu.Lock()
	defer l.api.mu.Unlock()
	return len(l.results)
}

// Artifact is the newest upload of a kind, nil for none.
func (l *Launch) Artifact(kind wire.ArtifactKind) []byte {
	l.api.mu.Lock()
	defer l.api.mu.Unlock()
	return l.api.blobs[l.uploaded[kind]]
}

// Stored joins everything that the API holds of this launch: events and artifacts.
func (l *Launch) Stored() string {
	events, _ := json.Marshal(l.Events())
	l.api.mu.Lock()
	defer l.api.mu.Unlock()
	var all strings.Builder
	all.Write(events)
	for key := range l.announced {
		all.Write(l.api.blobs[key])
	}
	return all.String()
}

// Await waits for the run's end and returns its result, nil where there is none.
func (l *Launch) Await(t testing.TB) *wire.ResultFile {
	t.Helper()
	return l.AwaitFor(t, 30*time.Second)
}

// AwaitFor is Await with a patience.
func (l *Launch) AwaitFor(t testing.TB, patience time.Duration) *wire.ResultFile {
	t.Helper()
	select {
	case <-l.done:
	case <-time.After(patience):
		t.Fatalf("the run did not end; events: %s", l.lastEvents())
	}
	text := l.Artifact(wire.ArtifactResult)
	if text == nil {
		return nil
	}
	var result wire.ResultFile
	if err := json.Unmarshal(text, &result); err != nil {
		t.Fatalf("result.json: %v in %s", err, text)
	}
	return &result
}

// AwaitEvent waits for an event that satisfies a condition.
func (l *Launch) AwaitEvent(t testing.TB, what string, is func(wire.Event) bool) wire.Event {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		for _, e := range l.Events() {
			if is(e) {
				return e
			}
		}
	}
	t.Fatalf("no event: %s; got %s", what, l.lastEvents())
	return wire.Event{}
}

// lastEvents is what a failed test shows of the events.
func (l *Launch) lastEvents() []byte {
	events := l.Events()
	text, _ := json.Marshal(events[max(0, len(events)-20):])
	return text
}

// Script is the input of an attempt whose fixture does these steps in every turn.
func Script(steps ...map[string]any) map[string]any {
	return map[string]any{
		"brief": "Do what the script says.", "wiki": []any{}, "evidence": []any{},
		"script": map[string]any{"turns": []any{map[string]any{"steps": steps}}},
	}
}

// Do is a step of a script: Do("answer", "text").
func Do(name string, value any) map[string]any { return map[string]any{name: value} }
