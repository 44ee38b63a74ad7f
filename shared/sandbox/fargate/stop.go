package fargate

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"companyos/shared/task"
)

// killed is the exit code of a process that SIGKILL ended.
const killed = 137

// reasons are what stop reasons say, first match first. The names are those of
// docs.aws.amazon.com/AmazonECS/latest/developerguide/stopped-task-error-codes.html; the texts behind them vary.
var reasons = []struct {
	words string
	kind  task.EndKind
}{
	{"outofmemoryerror", task.EndOutOfMemory},
	{"killed due to memory usage", task.EndOutOfMemory},
	{"no space left on device", task.EndStorageFull},
	{"cannotpull", task.EndImageUnavailable},
	{"pull image manifest", task.EndImageUnavailable},
	{"resourceinitializationerror", task.EndNeverStarted},
	{"cannotstartcontainererror", task.EndNeverStarted},
	{"cannotcreatecontainererror", task.EndNeverStarted},
	{"cannotcreatevolumeerror", task.EndNeverStarted},
	{"containerruntimeerror", task.EndNeverStarted},
	{"spot interruption", task.EndInterrupted},
}

// stopOf says why a task stopped, in the kinds that people are shown: empty when it ended by itself. Codes that do not
// exist today are told by their texts, else they are EndLost.
func stopOf(code types.TaskStopCode, taskReason, containerReason string, exitCode *int) (task.EndKind, string) {
	text := strings.TrimSpace(taskReason + " " + containerReason)
	kind := kindOf(text)
	switch {
	case code == types.TaskStopCodeSpotInterruption, code == types.TaskStopCodeTerminationNotice:
		kind = task.EndInterrupted
	case code == types.TaskStopCodeUserInitiated, code == types.TaskStopCodeServiceSchedulerInitiated:
		kind = task.EndLost // whatever it was killed with
	case kind != "":
	case code == types.TaskStopCodeTaskFailedToStart:
		kind = task.EndNeverStarted
	case code == types.TaskStopCodeEssentialContainerExited && exitCode != nil && *exitCode == killed:
		kind = task.EndOutOfMemory // nobody else kills in there: every other kill has a code of its own
		text = strings.TrimPrefix(text+": killed without a reason, as for lack of memory", ": ")
	case code == types.TaskStopCodeEssentialContainerExited:
	default:
		kind = task.EndLost
	}
	return kind, detail(string(code), text, exitCode)
}

func kindOf(text string) task.EndKind {
	if saysScarce(text) {
		return task.EndNoCapacity
	}
	lower := strings.ToLower(text)
	for _, r := range reasons {
		if strings.Contains(lower, r.words) {
			return r.kind
		}
	}
	return ""
}

// mostDetail is how long a detail may be, in bytes.
const mostDetail = 400

var (
	launchToken = regexp.MustCompile(`cl1\.[0-9A-Za-z._-]+`)
	accountID   = regexp.MustCompile(`\b[0-9]{12}\b`)
)

// detail is one line for people, without what is nobody's business.
func detail(code, text string, exitCode *int) string {
	text = strings.Join(strings.Fields(text), " ")
	if text == "" {
		text = code
	}
	text = launchToken.ReplaceAllString(text, "[token]")
	text = accountID.ReplaceAllString(text, "[account]")
	if len(text) > mostDetail {
		text = strings.ToValidUTF8(text[:mostDetail], "") + "…"
	}
	if exitCode != nil {
		text += fmt.Sprintf(" (exit code %d)", *exitCode)
	}
	return text
}
