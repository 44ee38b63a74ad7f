package agent

import (
	"path/filepath"

	"companyos/shared/task"
	"companyos/shared/wire"
)

// Harness drives one kind of agent: a program that gets a prompt on its standard input and prints its stream on its
// standard output.
type Harness interface {
	// Name is the harness as executors name it.
	Name() string
	// Command says what to start. Errors: *EndError of kind harness_missing, or failed for an input it cannot use.
	Command(in HarnessInput) (Command, error)
	// Parser makes a reader of one process's output.
	Parser() Parser
}

// HarnessInput is one turn to be done.
type HarnessInput struct {
	Self         []string // the command that re-executes this program
	RunID        string
	Attempt      int
	Session      string // the Task's session id
	Resume       bool   // the transcript of the earlier attempts is in place
	Model        string
	Instructions string
	Input        []byte // the frozen input of the attempt, JSON
	Home         string // of the agent's user, made afresh for this attempt
	Workspace    string
}

// Transcript is where a harness of ours keeps the conversation, below the agent's home.
func (in HarnessInput) Transcript() string { return filepath.Join(in.Home, "transcript.jsonl") }

// Command is a harness's program.
type Command struct {
	Args  []string
	Env   []string // beside the agent's own environment
	Stdin []byte
}

// Parser turns a stream into events. It never fails: what it does not understand is no event, and goes to the log.
type Parser interface {
	// Line reads one line, without its newline; a line longer than lineLimit arrives cut. Known is false for a line that
	// is not the harness's.
	Line(line []byte) (events []wire.Event, known bool)
	// End says what the process came to, given its exit code (-1: killed by a signal).
	End(exitCode int) Outcome
}

// Outcome is what a harness's process came to.
type Outcome struct {
	Kind   task.EndKind // completed, failed, no_output, or what the harness knows better
	Answer string       // the agent's answer, or why there is none
	Usage  *task.Usage
}

// lineLimit bounds a line of a harness's output. The rest of a longer one is dropped.
const lineLimit = 4 << 20

// harnesses are those that this build can run.
func harnesses() map[string]Harness {
	all := map[string]Harness{}
	for _, h := range []Harness{fixtureHarness{}} {
		all[h.Name()] = h
	}
	return all
}
