//go:build attack && linux && (amd64 || arm64)

package netlock

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
)

// scriptedModel answers as a model would that calls one tool, a shell command,
// and then says what the tool printed.
type scriptedModel struct {
	command string

	mu    sync.Mutex
	turns []string // paths asked for
	tool  string   // what the tool printed
}

type object = map[string]any

func (m *scriptedModel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 8<<20))
	var req struct {
		Stream   bool             `json:"stream"`
		Model    string           `json:"model"`
		Messages []map[string]any `json:"messages"`
		Input    []map[string]any `json:"input"`
		Tools    []map[string]any `json:"tools"`
	}
	if err != nil || len(body) > 0 && json.Unmarshal(body, &req) != nil {
		http.Error(w, "bad request", http.StatusBadRequest)
		return
	}
	m.mu.Lock()
	m.turns = append(m.turns, r.Method+" "+r.URL.Path)
	m.mu.Unlock()
	switch {
	case r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/messages"):
		m.messages(events{w}, req.Model, toolResult(req.Messages, "tool_result", "content"), len(req.Tools) > 0)
	case r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/responses"):
		m.responses(events{w}, req.Model, toolResult(req.Input, "function_call_output", "output"))
	default:
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"data":[],"has_more":false,"input_tokens":1}`)
	}
}

// toolResult finds what a tool printed in a conversation.
func toolResult(items []map[string]any, typ, field string) string {
	for _, it := range items {
		if it["type"] == typ {
			b, _ := json.Marshal(it[field])
			return string(b)
		}
		parts, _ := it["content"].([]any)
		for _, p := range parts {
			if o, ok := p.(object); ok && o["type"] == typ {
				b, _ := json.Marshal(o[field])
				return string(b)
			}
		}
	}
	return ""
}

type events struct{ w http.ResponseWriter }

func (e events) send(typ string, o object) {
	e.w.Header().Set("Content-Type", "text/event-stream")
	o["type"] = typ
	b, _ := json.Marshal(o)
	fmt.Fprintf(e.w, "event: %s\ndata: %s\n\n", typ, b)
	e.w.(http.Flusher).Flush()
}

func (m *scriptedModel) answer(tool string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.tool = tool
	return "DONE: " + tool
}

// messages answers in Anthropic's form.
func (m *scriptedModel) messages(e events, model, tool string, hasTools bool) {
	usage := object{"input_tokens": 10, "output_tokens": 5}
	e.send("message_start", object{"message": object{"id": "msg_1", "type": "message", "role": "assistant", "model": model, "content": []any{}, "usage": usage}})
	stop := "end_turn"
	if tool == "" && hasTools {
		stop = "tool_use"
		input, _ := json.Marshal(object{"command": m.command, "description": "scripted"})
		e.send("content_block_start", object{"index": 0, "content_block": object{"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": object{}}})
		e.send("content_block_delta", object{"index": 0, "delta": object{"type": "input_json_delta", "partial_json": string(input)}})
	} else {
		e.send("content_block_start", object{"index": 0, "content_block": object{"type": "text", "text": ""}})
		e.send("content_block_delta", object{"index": 0, "delta": object{"type": "text_delta", "text": m.answer(tool)}})
	}
	e.send("content_block_stop", object{"index": 0})
	e.send("message_delta", object{"delta": object{"stop_reason": stop, "stop_sequence": nil}, "usage": object{"output_tokens": 5}})
	e.send("message_stop", object{})
}

// responses answers in OpenAI's form.
func (m *scriptedModel) responses(e events, model, tool string) {
	item := object{"type": "message", "id": "msg_1", "status": "completed", "role": "assistant"}
	if tool == "" {
		args, _ := json.Marshal(object{"cmd": m.command, "yield_time_ms": 20000})
		item = object{"type": "function_call", "id": "fc_1", "status": "completed", "call_id": "call_1", "name": "exec_command", "arguments": string(args)}
	} else {
		item["content"] = []any{object{"type": "output_text", "text": m.answer(tool), "annotations": []any{}}}
	}
	response := object{"id": "resp_1", "object": "response", "status": "completed", "model": model, "output": []any{item}}
	response["usage"] = object{"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}
	e.send("response.created", object{"response": object{"id": "resp_1", "object": "response", "status": "in_progress", "model": model, "output": []any{}}})
	e.send("response.output_item.added", object{"output_index": 0, "item": item})
	e.send("response.output_item.done", object{"output_index": 0, "item": item})
	e.send("response.completed", object{"response": response})
}
