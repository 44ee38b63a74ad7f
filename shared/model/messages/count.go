package messages

import (
	"github.com/anthropics/anthropic-sdk-go"

	"companyos/shared/model"
	"companyos/shared/task"
)

// counted counts an event of an answer, and says when it was one too many.
func counted(c *model.Count, e *anthropic.MessageStreamEventUnion) *model.EndError {
	text := 0
	switch e.Type {
	case "message_start":
		u := e.Message.Usage
		c.Usage = task.Usage{
			InputTokens: u.InputTokens, OutputTokens: u.OutputTokens, CacheReadTokens: u.CacheReadInputTokens, CacheWriteTokens: u.CacheCreationInputTokens,
		}
	case "content_block_delta":
		text = len(e.Delta.Text) + len(e.Delta.PartialJSON) + len(e.Delta.Thinking)
	case "message_delta":
		c.Final = told(&c.Usage, e)
	}
	return c.Charge(int64(text))
}

// told takes the provider's last word; what it does not repeat stands as it was.
func told(usage *task.Usage, e *anthropic.MessageStreamEventUnion) bool {
	u := e.Usage
	for _, field := range []struct {
		told bool
		from int64
		to   *int64
	}{
		{u.JSON.InputTokens.Valid(), u.InputTokens, &usage.InputTokens},
		{u.JSON.OutputTokens.Valid(), u.OutputTokens, &usage.OutputTokens},
		{u.JSON.CacheReadInputTokens.Valid(), u.CacheReadInputTokens, &usage.CacheReadTokens},
		{u.JSON.CacheCreationInputTokens.Valid(), u.CacheCreationInputTokens, &usage.CacheWriteTokens},
	} {
		if field.told {
			*field.to = field.from
		}
	}
	return u.JSON.OutputTokens.Valid()
}
