package task_test

import (
	"strings"
	"testing"

	"companyos/shared/task"
)

func TestPins(t *testing.T) {
	t.Parallel()
	good := task.RunCheckout{URL: "https://github.com/o/r", Branch: "main", Commit: sha}
	pinned := &task.Checkout{SourceID: "source", URL: good.URL, Branch: good.Branch, Commit: sha}
	const (
		none     = "Sandboxed run did not publish a repository pin"
		checkout = "Sandboxed run repository pin does not match the Task checkout"
		product  = "Sandboxed run repository pin does not match the Product git Source"
		hex      = "metadata.repository.commit must be a full 40-hex commit SHA"
	)
	gone := task.SourceMatch{Problem: "Sandboxed executor requires a Product git Source matching repository URL https://github.com/o/r"}
	with := func(change func(*task.RunCheckout)) task.RunCheckout {
		c := good
		change(&c)
		return c
	}
	cases := []struct {
		name   string
		pin    *task.Checkout
		got    task.RunCheckout
		source task.SourceMatch
		kind   task.EndKind
		text   string
	}{
		{"first", nil, good, source, "", ""},
		{"no pin", nil, with(func(c *task.RunCheckout) { c.Commit = "" }), source, task.EndNoPin, none},
		{"no pin again", pinned, with(func(c *task.RunCheckout) { c.Commit = "" }), source, task.EndNoPin, none},
		{"a short commit", nil, with(func(c *task.RunCheckout) { c.Commit = sha[:12] }), source, task.EndNoPin, hex},
		{"a word as commit", nil, with(func(c *task.RunCheckout) { c.Commit = strings.Repeat("g", 40) }), source, task.EndNoPin, hex},
		{"another branch at first", nil, with(func(c *task.RunCheckout) { c.Branch = "dev" }), source, task.EndPinMismatch, product},
		{"another repository at first", nil, with(func(c *task.RunCheckout) { c.URL += "2" }), source, task.EndPinMismatch, product},
		{"no Source at first", nil, good, gone, task.EndSourceGone, gone.Problem},
		{"the same again", pinned, good, task.SourceMatch{}, "", ""},
		{"the same in capitals", pinned, with(func(c *task.RunCheckout) { c.Commit = strings.ToUpper(sha) }), source, "", ""},
		{"without the Source later", pinned, good, gone, "", ""},
		{"another commit", pinned, with(func(c *task.RunCheckout) { c.Commit = strings.Repeat("0", 40) }), source, task.EndPinMismatch, checkout},
		{"another branch", pinned, with(func(c *task.RunCheckout) { c.Branch = "dev" }), source, task.EndPinMismatch, checkout},
		{"another repository", pinned, with(func(c *task.RunCheckout) { c.URL += ".git" }), source, task.EndPinMismatch, checkout},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := runIn(task.StateRunning)
			r.PreparedAt, r.Checkout.Commit, r.Checkout.Requested = nil, "", ""
			k := taskOf(r)
			k.Checkout = c.pin
			after, answer := r.Prepared(&k, c.got, c.source, at)
			if c.text == "" {
				if answer != task.AnswerTaken || after.PreparedAt == nil || after.Checkout.Commit != sha {
					t.Fatalf("prepared: %s, %+v", answer, after.Checkout)
				}
				if again, answer := after.Prepared(&k, c.got, c.source, at); answer != task.AnswerAgain || again.State != task.StateRunning {
					t.Errorf("prepared again: %s", answer)
				}
				settled, done := task.Settle(k, after, task.OutcomeOf(task.EndCompleted, "done"), source, at)
				if done.State != task.StateCompleted || settled.Status != task.StatusInReview || settled.Checkout == nil || *settled.Checkout != *pinned {
					t.Errorf("settled: %s, Task %s with %+v", done.State, settled.Status, settled.Checkout)
				}
				return
			}
			if answer != task.AnswerWrongPin || after.State != task.StateError || after.Ended.Kind != c.kind || after.Content != c.text {
				t.Errorf("prepared: %s, %s %+v", answer, after.State, after.Ended)
			}
			if again, answer := after.Prepared(&k, c.got, c.source, at); answer != task.AnswerWrongPin || again.State != task.StateError {
				t.Errorf("prepared again: %s", answer)
			}
			// The second layer: a result of a run whose checkout is not the Task's does not count either.
			r.Checkout = task.RunCheckout{URL: r.Checkout.URL, Branch: r.Checkout.Branch, Commit: c.got.Commit}
			if c.got.URL == r.Checkout.URL && c.got.Branch == r.Checkout.Branch {
				settled, done := task.Settle(k, r, task.OutcomeOf(task.EndCompleted, "done"), c.source, at)
				if done.State != task.StateError || settled.Status != task.StatusInProgress || settled.Result.Content != c.text || settled.Checkout != c.pin {
					t.Errorf("settled: %s, Task %s %+v", done.State, settled.Status, settled.Result)
				}
			}
		})
	}
}

func TestSettlingWritesTheContractsEntry(t *testing.T) {
	t.Parallel()
	r := runIn(task.StateRunning)
	settled, _ := task.Settle(taskOf(r), r, task.OutcomeOf(task.EndCompleted, "done"), source, at)
	want := task.Entry{From: "in_progress", Target: "in_review", Reason: "Execution completed; human review required", CreatedAt: at.Unix()}
	if len(settled.Transitions) != 1 || settled.Transitions[0] != want {
		t.Errorf("entries %+v", settled.Transitions)
	}
	if settled.Result.ContentType != "str" || settled.Result.SHA256 != "a4c3ed04a95a3da14a9d235c83d868bed7c0f45cf7f3faa751ee8f50598d2211" {
		t.Errorf("result %+v", settled.Result)
	}
}

func TestOutcomesOfResults(t *testing.T) {
	t.Parallel()
	for _, kind := range task.EndKinds() {
		o := task.OutcomeOf(kind, "")
		if (o.State == task.StateCompleted) != (kind == task.EndCompleted) || o.Ended.Kind != kind || (o.Ended.Message == "") != (kind == task.EndCompleted) {
			t.Errorf("%s: %+v", kind, o)
		}
	}
	if o := task.OutcomeOf("of tomorrow", "x"); o.State != task.StateError || o.Ended.Kind != task.EndInternal || o.Ended.Message != "x" {
		t.Errorf("an unknown kind: %+v", o)
	}
	if o := task.OutcomeOf(task.EndIdleTimeout, "x"); o.Ended.Limit != "idle" {
		t.Errorf("idle: %+v", o)
	}
}
