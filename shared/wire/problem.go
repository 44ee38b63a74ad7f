package wire

import (
	"encoding/json"
	"fmt"
	"time"
)

// Problem is an answer that is not a success, as a client sees it.
type Problem struct { // its name in the API
	Status     int
	Detail     string        // the contract's text; for a list of broken fields their messages
	Code       string        // stable, machine-readable
	Remedy     string        // what to do, one sentence
	Retryable  bool          // the same request may succeed later
	RetryAfter time.Duration // 0 when the API named none
	RequestID  string
	Fields     []FieldError // what is wrong with the request; empty for other problems
	Open       []OpenTask   // a refused archive: the Tasks in the way
}

// FieldError is one entry of a 422's list.
type FieldError struct {
	Type  string          `json:"type"`
	Loc   []any           `json:"loc"`
	Msg   string          `json:"msg"`
	Input json.RawMessage `json:"input,omitempty"` // what was sent; left out when it is long
	Ctx   map[string]any  `json:"ctx,omitempty"`
}

// OpenTask is a Task that keeps its parent from being archived.
type OpenTask struct {
	ID    string `json:"id"`
	Title string `json:"title"`
}

// Error gives status, text and remedy.
func (p *Problem) Error() string {
	if p.Remedy == "" {
		return fmt.Sprintf("%d %s", p.Status, p.Detail)
	}
	return fmt.Sprintf("%d %s (%s)", p.Status, p.Detail, p.Remedy)
}

// parseProblem reads the body of an answer with an error status; a body that is not ours becomes the detail's lack.
func parseProblem(status int, body []byte) *Problem {
	p := &Problem{Status: status}
	var raw struct {
		Detail    json.RawMessage `json:"detail"`
		Code      string          `json:"code"`
		Remedy    string          `json:"remedy"`
		Retryable bool            `json:"retryable"`
		RequestID string          `json:"request_id"`
	}
	if err := json.Unmarshal(body, &raw); err != nil {
		p.Detail = "the answer is not this API's"
		p.Retryable = status >= 500
		return p
	}
	p.Code, p.Remedy, p.Retryable, p.RequestID = raw.Code, raw.Remedy, raw.Retryable, raw.RequestID
	if json.Unmarshal(raw.Detail, &p.Detail) == nil {
		return p
	}
	if json.Unmarshal(raw.Detail, &p.Fields) == nil {
		for i, f := range p.Fields {
			if i > 0 {
				p.Detail += "; "
			}
			p.Detail += fmt.Sprintf("%v: %s", f.Loc, f.Msg)
		}
		return p
	}
	var refused struct {
		Message string     `json:"message"`
		Tasks   []OpenTask `json:"tasks"`
	}
	if json.Unmarshal(raw.Detail, &refused) == nil {
		p.Detail, p.Open = refused.Message, refused.Tasks
	}
	return p
}
