package wire

import "companyos/shared/task"

// Executors is what a Task can be accepted for. Stale: the operator's file breaks a rule since it was changed, and what it
// said before is in use.
type Executors struct {
	Data     []Executor `json:"data"`
	Revision string     `json:"revision"` // of the operator's file
	Stale    bool       `json:"stale"`
}

// Executor is one executor's record. Reason says why no Task can be accepted or started for it now, null when one can.
type Executor struct {
	Type       task.ExecutorKind   `json:"type"`
	ID         string              `json:"id"`
	Name       string              `json:"name"`
	Harness    string              `json:"harness"`
	Model      *string             `json:"model"`
	Sandboxed  bool                `json:"sandboxed"`
	Repository *ExecutorRepository `json:"repository"`
	Members    []string            `json:"members"` // of a team, its leader first
	Steps      []string            `json:"steps"`   // of a workflow
	Usable     bool                `json:"usable"`
	Reason     *string             `json:"reason"`
	Code       *string             `json:"code"`
	Remedy     *string             `json:"remedy"`
}

// ExecutorRepository is what a sandboxed executor works on.
type ExecutorRepository struct {
	URL    string `json:"url"`
	Branch string `json:"branch"`
}
