package queue

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"
)

// version is the only form of message there is. A new form gets a new number and is understood by every receiver
// before anybody sends it.
const version = 1

type message struct {
	V   int    `json:"v"`
	Run string `json:"run"`
}

// Encode returns the body of the message that wakes runID: {"v":1,"run":"<uuid>"}. It returns ErrMalformed for the nil
// id.
func Encode(runID uuid.UUID) (string, error) {
	if runID == uuid.Nil {
		return "", fmt.Errorf("%w: no run id", ErrMalformed)
	}
	body, err := json.Marshal(message{V: version, Run: runID.String()})
	return string(body), err
}

// Decode returns the run that a body names. A suffix "/<launch>" of the id is ignored: an ECS event brings the task's
// startedBy as it is. Members that this version does not know are ignored too. Everything else that is not exactly one
// object of version 1 with a run's id is ErrMalformed.
func Decode(body string) (uuid.UUID, error) {
	var m message
	if err := json.Unmarshal([]byte(body), &m); err != nil {
		return uuid.Nil, fmt.Errorf("%w: not the JSON of a message: %w", ErrMalformed, err)
	}
	if m.V != version {
		return uuid.Nil, fmt.Errorf("%w: version %d", ErrMalformed, m.V)
	}
	run, _, _ := strings.Cut(m.Run, "/")
	id, err := uuid.Parse(run)
	// uuid.Parse also takes the urn, braced and undashed forms, which nobody here sends.
	if err != nil || len(run) != len(uuid.Nil.String()) || id == uuid.Nil {
		return uuid.Nil, fmt.Errorf("%w: run %q is not the id of a run", ErrMalformed, run)
	}
	return id, nil
}
