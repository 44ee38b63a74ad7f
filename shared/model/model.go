// Package model is what an agent without a sandbox thinks with: a model that answers and may ask for tools, whoever provides it,
// and the count of what a run uses of it. The client of a provider is a package of its own, which a program that asks no model
// does not link.
package model

import (
	"context"
	"encoding/json"

	"companyos/shared/executor"
	"companyos/shared/task"
)

// Secrets reads the values of secrets by their names.
type Secrets func(ctx context.Context, names []string) (map[string]string, error)

// Provider is where models are asked.
type Provider interface {
	// Open prepares an agent. The error is that there is no way to the model.
	Open(ctx context.Context, c Config) (Agent, *EndError)
}

// Agent is a model with its conversation. It answers one question at a time.
type Agent interface {
	// Answer asks and lets the model use its tools until it answers in words. After an error the conversation is over.
	Answer(ctx context.Context, question string) (string, *EndError)
}

// Config is what an agent needs.
type Config struct {
	Secrets Secrets
	Meter   *Meter // of the run
	Model   string
	Price   *executor.Price // of the model; nil: not known
	System  string
	Tools   []Tool
	Earlier []Turn
	Turns   int // answers for one question; the last has to do without tools
}

// Tool is something that the model can ask for.
type Tool struct {
	Name        string
	Description string
	Properties  map[string]any // of its input, as JSON Schema has them
	Required    []string
	Call        func(ctx context.Context, input json.RawMessage) (string, error) // an error is told to the model
}

// Turn is what was said before: what was asked, and the answer.
type Turn struct{ Asked, Answered string }

// EndError is an end that is no answer.
type EndError struct {
	Kind  task.EndKind
	Text  string // for people
	Cause error
}

// Error returns the text.
func (e *EndError) Error() string { return e.Text }

// Unwrap returns what lies behind it.
func (e *EndError) Unwrap() error { return e.Cause }
