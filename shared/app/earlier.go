package app

import (
	"context"
	"errors"

	"companyos/shared/blob"
	"companyos/shared/task"
)

// Conversation is what was said in a Task's session so far.
type Conversation struct {
	Turns []ConversationTurn // oldest first
	Left  int                // earlier turns that are not among them: too many, or not kept any more
}

// ConversationTurn is a completed attempt: what it was given, and its answer.
type ConversationTurn struct {
	Input  []byte
	Answer string
}

// The bounds of a conversation that is put back. Its end counts.
const (
	maxConversation      = 2 << 20 // bytes
	maxConversationTurns = 20
)

// earlier reads the conversation that a run continues: the completed attempts of its Task by the same executor. What
// another executor answered is part of the input, as the previous result.
func (c *Company) earlier(ctx context.Context, run *task.Run) (Conversation, error) {
	var out Conversation
	size := 0
	for attempt := run.Attempt; ; {
		before, ok, err := c.DB.LastCompleted(ctx, run.TaskID, attempt)
		if err != nil || !ok {
			return out, err
		}
		attempt = before.Attempt
		if before.ExecutorType != run.ExecutorType || before.ExecutorID != run.ExecutorID {
			continue
		}
		if out.Left > 0 || len(out.Turns) == maxConversationTurns {
			out.Left++
			continue
		}
		input, err := c.readBlob(ctx, before.InputKey, maxInput)
		if err != nil && !errors.Is(err, blob.ErrNotFound) {
			return out, err
		}
		if size += len(input) + len(before.Content); err != nil || size > maxConversation {
			out.Left++
			continue
		}
		out.Turns = append([]ConversationTurn{{input, before.Content}}, out.Turns...)
	}
}
