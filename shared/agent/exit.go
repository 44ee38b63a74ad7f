package agent

import (
	"fmt"

	"companyos/shared/task"
)

// Reason says how a supervisor ended. The list is closed.
type Reason string

// The reasons. Reported: the API took the result, whatever its kind. Refused: the API settled the run at prepared, since
// its pin is another; nothing more is to be reported. Fenced: the launch belongs to another instance, or the run is
// settled. NoToken: the launcher died before it passed the token on. TokenRefused: the API does not know the token, or no
// longer. Unclaimed and Unreported: the API did not answer for as long as it made sense to ask. Interrupted: asked to end
// before anything was claimed. Internal: this program or its machine failed before it could claim.
const (
	ReasonReported     Reason = "reported"
	ReasonRefused      Reason = "refused"
	ReasonFenced       Reason = "fenced"
	ReasonNoToken      Reason = "no_token"
	ReasonTokenRefused Reason = "token_refused"
	ReasonUnclaimed    Reason = "unclaimed"
	ReasonUnreported   Reason = "unreported"
	ReasonInterrupted  Reason = "interrupted"
	ReasonInternal     Reason = "internal"
)

// Exit is how a supervisor ended.
type Exit struct {
	Reason Reason
	Kind   task.EndKind // of the run's result, where one was made
	Err    error        // for the log
}

// Code is the process's exit code: 0 when the run's end is known to the API, another one for each other reason.
func (e Exit) Code() int {
	switch e.Reason {
	case ReasonReported, ReasonRefused:
		return 0
	case ReasonFenced:
		return 10
	case ReasonNoToken:
		return 11
	case ReasonTokenRefused:
		return 12
	case ReasonUnclaimed:
		return 13
	case ReasonUnreported:
		return 14
	case ReasonInterrupted:
		return 15
	case ReasonInternal:
		return 16
	}
	return 16
}

// String is one line for the log.
func (e Exit) String() string {
	text := string(e.Reason)
	if e.Kind != "" {
		text += " (" + string(e.Kind) + ")"
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

func exitText(code int) string {
	if code < 0 {
		return "The agent was killed."
	}
	return fmt.Sprintf("The agent ended with exit code %d.", code)
}
