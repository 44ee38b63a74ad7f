package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"companyos/shared/sandbox"
	"companyos/shared/task"
)

func TestOutcomeOf(t *testing.T) {
	t.Parallel()
	tests := []struct {
		err     error
		outcome sandbox.Outcome
		kind    task.EndKind
	}{
		{nil, sandbox.OutcomeStarted, ""},
		{fmt.Errorf("run: %w", sandbox.ErrNoCapacity), sandbox.OutcomeFailed, task.EndNoCapacity},
		{fmt.Errorf("run: %w", sandbox.ErrImageUnavailable), sandbox.OutcomeFailed, task.EndImageUnavailable},
		{fmt.Errorf("run: %w", sandbox.ErrRefused), sandbox.OutcomeFailed, task.EndNeverStarted},
		{fmt.Errorf("run: %w", sandbox.ErrThrottled), sandbox.OutcomeThrottled, ""},
		{context.DeadlineExceeded, sandbox.OutcomeUnknown, ""},
		{errors.New("connection reset"), sandbox.OutcomeUnknown, ""},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt.err), func(t *testing.T) {
			t.Parallel()
			if got := sandbox.OutcomeOf(tt.err); got != tt.outcome {
				t.Errorf("OutcomeOf = %q, want %q", got, tt.outcome)
			}
			if got := sandbox.EndKindOf(tt.err); got != tt.kind {
				t.Errorf("EndKindOf = %q, want %q", got, tt.kind)
			}
		})
	}
}
