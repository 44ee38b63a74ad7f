package messages

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/anthropics/anthropic-sdk-go"

	"companyos/shared/model"
	"companyos/shared/task"
)

// agent is a model with its conversation.
type agent struct {
	model.Config
	api     anthropic.MessageService
	silence time.Duration
	said    []anthropic.MessageParam
}

// Open implements model.Provider.
func (p *Provider) Open(ctx context.Context, c model.Config) (model.Agent, *model.EndError) {
	api, failed := p.client(ctx, c.Secrets)
	if failed != nil {
		return nil, failed
	}
	a := &agent{Config: c, api: api, silence: p.Silence}
	if a.silence == 0 {
		a.silence = defaultSilence
	}
	for _, t := range c.Earlier {
		a.said = append(a.said, anthropic.NewUserMessage(anthropic.NewTextBlock(t.Asked)), anthropic.NewAssistantMessage(anthropic.NewTextBlock(t.Answered)))
	}
	return a, nil
}

// Answer implements model.Agent.
func (a *agent) Answer(ctx context.Context, question string) (string, *model.EndError) {
	block := anthropic.NewTextBlock(question)
	block.OfText.CacheControl = anthropic.NewCacheControlEphemeralParam() // each further turn reads it again
	from := len(a.said)
	a.said = append(a.said, anthropic.NewUserMessage(block))
	defer func() { a.uncache(from) }()
	for turn := 1; turn <= a.Turns; turn++ {
		message, failed := a.ask(ctx, a.params(turn == a.Turns))
		if failed != nil {
			return "", failed
		}
		a.said = append(a.said, message.ToParam())
		if message.StopReason != anthropic.StopReasonToolUse {
			return concluded(message)
		}
		if turn == a.Turns {
			break // it was told to do without
		}
		results := a.use(ctx, message)
		if ctx.Err() != nil {
			return "", &model.EndError{Kind: task.EndCancelled, Text: task.CancelledRun, Cause: context.Cause(ctx)}
		}
		a.said = append(a.said, anthropic.NewUserMessage(results...))
	}
	return "", &model.EndError{Kind: task.EndFailed, Text: fmt.Sprintf("The model asked for tools in all of its %d turns and gave no answer.", a.Turns)}
}

// uncache takes the mark off a question that is answered: a request may hold only a few.
func (a *agent) uncache(at int) {
	a.said[at].Content[0].OfText.CacheControl = anthropic.CacheControlEphemeralParam{}
}

func (a *agent) params(last bool) anthropic.MessageNewParams {
	p := anthropic.MessageNewParams{Model: a.Model, MaxTokens: maxTokens, Messages: a.said}
	if a.System != "" {
		p.System = []anthropic.TextBlockParam{{Text: a.System}}
	}
	for _, t := range a.Tools {
		p.Tools = append(p.Tools, anthropic.ToolUnionParam{OfTool: &anthropic.ToolParam{
			Name: t.Name, Description: anthropic.String(t.Description),
			InputSchema: anthropic.ToolInputSchemaParam{Properties: properties(t), Required: t.Required},
		}})
	}
	if last && len(a.Tools) > 0 {
		p.ToolChoice = anthropic.ToolChoiceUnionParam{OfNone: &anthropic.ToolChoiceNoneParam{}}
	}
	return p
}

func properties(t model.Tool) map[string]any {
	if t.Properties == nil {
		return map[string]any{}
	}
	return t.Properties
}

// concluded is the answer that a message is, by why it ended.
func concluded(message *anthropic.Message) (string, *model.EndError) {
	var text strings.Builder
	for _, block := range message.Content {
		text.WriteString(block.Text)
	}
	answer := strings.TrimSpace(text.String())
	switch message.StopReason {
	case anthropic.StopReasonMaxTokens:
		return "", &model.EndError{Kind: task.EndOutputLimit, Text: fmt.Sprintf("The model's answer was cut off at %d tokens.", maxTokens)}
	case anthropic.StopReasonRefusal:
		return "", &model.EndError{Kind: task.EndModelRejected, Text: "The model refused to answer."}
	case anthropic.StopReasonModelContextWindowExceeded:
		return "", &model.EndError{Kind: task.EndContextExceeded, Text: "The conversation is longer than what the model can read."}
	case anthropic.StopReasonEndTurn, anthropic.StopReasonStopSequence, anthropic.StopReasonToolUse, anthropic.StopReasonPauseTurn:
	}
	if answer == "" {
		return "", &model.EndError{Kind: task.EndNoOutput, Text: "The run ended without an answer."}
	}
	return answer, nil
}

// use runs the tools that a message asks for, one after the other: some change records.
func (a *agent) use(ctx context.Context, message *anthropic.Message) (results []anthropic.ContentBlockParamUnion) {
	for _, block := range message.Content {
		if block.Type != "tool_use" {
			continue
		}
		text, err := a.call(ctx, block.Name, block.Input)
		if err != nil {
			text = err.Error()
		}
		if text == "" {
			text = "Done."
		}
		results = append(results, anthropic.NewToolResultBlock(block.ID, cut(text), err != nil))
	}
	return results
}

func (a *agent) call(ctx context.Context, name string, input json.RawMessage) (string, error) {
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	for _, t := range a.Tools {
		if t.Name == name {
			return t.Call(ctx, input)
		}
	}
	return "", fmt.Errorf("there is no tool %q", name)
}

// resultMost bounds what one tool tells the model.
const resultMost = 512 << 10

func cut(s string) string {
	if len(s) <= resultMost {
		return s
	}
	n := resultMost
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "\n[cut: the rest does not fit]"
}
