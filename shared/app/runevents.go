package app

import (
	"encoding/json"
	"time"

	"companyos/shared/store"
	"companyos/shared/task"
)

// The events that have a meaning here. The first five are written here and never taken from a sandbox.
const (
	eventWaiting    = "waiting"
	eventLaunched   = "launched"
	eventClaimed    = "claimed"
	eventPrepared   = "prepared"
	eventCancelling = "cancelling"
	eventFinished   = "finished"
	eventStarted    = "started"
	eventUsage      = "usage"
	eventWarning    = "warning"
	eventPatched    = "patched"
)

// eventsOf are the events that a change of a run makes.
func eventsOf(before, after *task.Run, now time.Time) (events []store.Event) {
	add := func(kind string, body map[string]any) {
		events = append(events, store.Event{At: now, Type: kind, Body: eventBody(body)})
	}
	if after.WaitingReason != "" && after.WaitingReason != before.WaitingReason {
		add(eventWaiting, map[string]any{"reason": after.WaitingReason})
	}
	if after.SandboxARN != "" && after.SandboxARN != before.SandboxARN {
		add(eventLaunched, map[string]any{"launch": after.Launch})
	}
	if after.ClaimedBy != "" && before.ClaimedBy == "" && after.Sandboxed {
		add(eventClaimed, map[string]any{"launch": after.Launch})
	}
	if after.PreparedAt != nil && before.PreparedAt == nil {
		add(eventPrepared, map[string]any{"url": after.Checkout.URL, "branch": after.Checkout.Branch, "commit": after.Checkout.Commit})
	}
	if after.State == task.StateCancelling && before.State != task.StateCancelling {
		add(eventCancelling, map[string]any{})
	}
	// A supervisor that reported its result has told its own end.
	if after.State.Terminal() && !before.State.Terminal() && after.ResultSHA256 == "" {
		add(eventFinished, map[string]any{"kind": after.Ended.Kind, "text": after.Ended.Message})
	}
	return events
}

// firstEvent says that a reserved run waits, nil where it does not.
func firstEvent(r *task.Run) *store.Event {
	events := eventsOf(&task.Run{}, r, r.CreatedAt)
	if len(events) == 0 {
		return nil
	}
	return &events[0]
}

func eventBody(fields map[string]any) json.RawMessage {
	raw, err := json.Marshal(fields)
	if err != nil {
		panic(err) // only texts and numbers come here
	}
	return raw
}
