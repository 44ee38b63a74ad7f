package modeltest

import (
	"encoding/json"
	"fmt"
	"strings"
)

// readResponses reads a request of OpenAI's API: how many answers it holds, and what the last tool said.
func readResponses(body []byte) (model string, answers int, last string) {
	var in struct {
		Model string `json:"model"`
		Input []struct {
			Type   string          `json:"type"`
			Role   string          `json:"role"`
			Output json.RawMessage `json:"output"`
		} `json:"input"`
	}
	_ = json.Unmarshal(body, &in)
	for _, item := range in.Input {
		switch {
		case item.Type == "function_call", item.Type == "message" && item.Role == "assistant":
			answers++
		case item.Type == "function_call_output":
			last = textOf(item.Output)
			if _, printed, ok := strings.Cut(last, "\nOutput:\n"); ok { // after Codex's own lines
				last = printed
			}
		}
	}
	return in.Model, answers, last
}

// responses answers with a stream.
func (a *answer) responses(string) {
	a.begin()
	if f := a.step.Fault; f != nil && f.Garbage {
		a.midway(nil)
		return
	}
	id := fmt.Sprintf("resp_%d", a.id)
	a.event("response.created", fields{"response": fields{"id": id, "object": "response", "status": "in_progress", "model": a.model, "output": []any{}}})
	var item fields
	if a.step.Run != "" {
		arguments, _ := json.Marshal(fields{"cmd": a.step.Run, "yield_time_ms": 30000})
		item = fields{
			"type": "function_call", "id": "fc_" + id, "call_id": "call_" + id, "status": "completed", "name": "exec_command", "arguments": string(arguments),
		}
		a.event("response.output_item.added", fields{"output_index": 0, "item": item})
	} else {
		message := "msg_" + id
		a.event("response.output_item.added", fields{"output_index": 0, "item": fields{"type": "message", "id": message, "status": "in_progress", "role": "assistant", "content": []any{}}})
		say := func(text string) {
			a.event("response.output_text.delta", fields{"item_id": message, "output_index": 0, "content_index": 0, "delta": text})
		}
		if a.midway(say) {
			return
		}
		say(a.step.Say)
		item = fields{
			"type": "message", "id": message, "status": "completed", "role": "assistant",
			"content": []any{fields{"type": "output_text", "text": a.step.Say, "annotations": []any{}}},
		}
	}
	a.wait()
	a.event("response.output_item.done", fields{"output_index": 0, "item": item})
	input, output := tokens(a.step.Input, 100), tokens(a.step.Output, 40)
	a.event("response.completed", fields{"response": fields{
		"id": id, "object": "response", "status": "completed", "model": a.model, "output": []any{item},
		"usage": fields{
			"input_tokens": input, "input_tokens_details": fields{"cached_tokens": 50}, "output_tokens": output,
			"output_tokens_details": fields{"reasoning_tokens": 5}, "total_tokens": input + output,
		},
	}})
}
