package modeltest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// readMessages reads a request of Anthropic's API: how many answers it holds, and what the last tool said.
func readMessages(body []byte) (model string, answers int, last string) {
	var in struct {
		Model    string `json:"model"`
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
	}
	_ = json.Unmarshal(body, &in)
	for _, m := range in.Messages {
		if m.Role == "assistant" {
			answers++
			continue
		}
		var parts []struct {
			Type    string          `json:"type"`
			Content json.RawMessage `json:"content"`
		}
		_ = json.Unmarshal(m.Content, &parts) // a content may be a text
		for _, part := range parts {
			if part.Type == "tool_result" {
				last, _, _ = strings.Cut(textOf(part.Content), "<system-reminder>") // what Claude Code adds
			}
		}
	}
	return in.Model, answers, last
}

// textOf is a content that is a text or a list of texts.
func textOf(content json.RawMessage) string {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return text
	}
	var parts []struct {
		Text string `json:"text"`
	}
	_ = json.Unmarshal(content, &parts)
	for _, part := range parts {
		text += part.Text
	}
	return text
}

func (a *answer) content() fields {
	if c := a.call(); c != nil {
		return fields{"type": "tool_use", "id": fmt.Sprintf("toolu_%d", a.id), "name": c.Tool, "input": c.Input}
	}
	return fields{"type": "text", "text": a.step.Say}
}

// call is the tool that the answer calls, nil for none; Claude Code runs commands by one.
func (a *answer) call() *Call {
	if a.step.Run != "" {
		return &Call{"Bash", map[string]any{"command": a.step.Run, "description": "as the script says"}}
	}
	return a.step.Call
}

func (a *answer) stop() string {
	if a.step.Stop != "" {
		return a.step.Stop
	}
	if a.call() != nil {
		return "tool_use"
	}
	return "end_turn"
}

func (a *answer) usage(output int) fields {
	return fields{"input_tokens": tokens(a.step.Input, 100), "cache_creation_input_tokens": 7, "cache_read_input_tokens": 50, "output_tokens": output}
}

// message answers without a stream.
func (a *answer) message(string) {
	writeJSON(a.w, http.StatusOK, fields{
		"id": fmt.Sprintf("msg_%d", a.id), "type": "message", "role": "assistant", "model": a.model, "content": []any{a.content()},
		"stop_reason": a.stop(), "stop_sequence": nil, "usage": a.usage(tokens(a.step.Output, 40)),
	})
}

// messages answers with a stream.
func (a *answer) messages(string) {
	a.begin()
	if f := a.step.Fault; f != nil && f.Garbage {
		a.midway(nil)
		return
	}
	a.event("message_start", fields{"message": fields{
		"id": fmt.Sprintf("msg_%d", a.id), "type": "message", "role": "assistant", "model": a.model, "content": []any{},
		"stop_reason": nil, "stop_sequence": nil, "usage": a.usage(1),
	}})
	if c := a.call(); c != nil {
		input, _ := json.Marshal(c.Input)
		a.event("content_block_start", fields{"index": 0, "content_block": fields{"type": "tool_use", "id": fmt.Sprintf("toolu_%d", a.id), "name": c.Tool, "input": fields{}}})
		for _, half := range []string{string(input[:len(input)/2]), string(input[len(input)/2:])} {
			a.event("content_block_delta", fields{"index": 0, "delta": fields{"type": "input_json_delta", "partial_json": half}})
		}
	} else {
		a.event("content_block_start", fields{"index": 0, "content_block": fields{"type": "text", "text": ""}})
		say := func(text string) {
			a.event("content_block_delta", fields{"index": 0, "delta": fields{"type": "text_delta", "text": text}})
		}
		if a.midway(say) {
			return
		}
		say(a.step.Say)
	}
	a.wait()
	a.event("content_block_stop", fields{"index": 0})
	a.event("message_delta", fields{"delta": fields{"stop_reason": a.stop(), "stop_sequence": nil}, "usage": fields{"output_tokens": tokens(a.step.Output, 40)}})
	a.event("message_stop", fields{})
}
