package main

import (
	"encoding/json"
	"regexp"
	"slices"
	"sync"
	"time"
)

// A Task's brief may hold a line FIXTURE: {"turns": [{…}, …]}. Turn k belongs to the k-th attempt that was started; the
// last turn repeats.
var scriptLine = regexp.MustCompile(`FIXTURE: (\{.*\})`)

// turn is what one attempt does.
type turn struct {
	Commit  string  `json:"commit"`
	Branch  string  `json:"branch"`
	URL     string  `json:"url"`
	NoPin   bool    `json:"no_pin"`
	Delay   float64 `json:"delay"`
	Status  string  `json:"status"`
	Content *string `json:"content"`
}

func (t turn) delay() time.Duration { return time.Duration(t.Delay * float64(time.Second)) }

func (t turn) content(otherwise string) string {
	if t.Content != nil {
		return *t.Content
	}
	return otherwise
}

// script returns the turn for the n-th started attempt, counted from 0.
func script(input []byte, n int) turn {
	var in struct {
		Brief string `json:"brief"`
	}
	var file struct {
		Turns []turn `json:"turns"`
	}
	if json.Unmarshal(input, &in) != nil {
		return turn{}
	}
	found := scriptLine.FindStringSubmatch(in.Brief)
	if found == nil || json.Unmarshal([]byte(found[1]), &file) != nil || len(file.Turns) == 0 {
		return turn{}
	}
	return file.Turns[min(n, len(file.Turns)-1)]
}

// ordinals remembers in which order the runs of a session or Task were started.
type ordinals struct {
	mu   sync.Mutex
	runs map[string][]string
}

func (o *ordinals) of(session, run string) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.runs == nil {
		o.runs = map[string][]string{}
	}
	if !slices.Contains(o.runs[session], run) {
		o.runs[session] = append(o.runs[session], run)
	}
	return slices.Index(o.runs[session], run)
}
