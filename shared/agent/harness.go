package agent

import (
	"companyos/shared/agent/broker"
	"companyos/shared/task"
	"companyos/shared/wire"
)

// Harness drives one kind of agent: a program that gets a prompt on its standard input and prints its stream on its
// standard output.
type Harness interface {
	// Profile says what it needs and how it keeps a conversation.
	Profile() Profile
	// Command says what to start. Errors: *EndError of kind failed for an input that it cannot use.
	Command(in HarnessInput) (Command, error)
	// Parser makes a reader of one process's output.
	Parser(in HarnessInput) Parser
}

// Profile is what a harness is.
type Profile struct {
	Program  string     // of the command line, found in PATH; empty: this program itself
	Tested   string     // the version that this build was tested with
	API      broker.API // of the model; None: it works without one, and may run without a lock
	Key      string     // the secret that holds the model's key
	BaseURL  string     // the secret that names another address of the provider's API
	Upstream string     // the provider's own

	conversation conversation
}

// HarnessInput is one turn to be done.
type HarnessInput struct {
	Self         []string // the command that re-executes this program
	Program      string   // the path of Profile.Program
	RunID        string
	Attempt      int
	Session      string // of the harness: the one to continue, or the one to begin
	Resume       bool   // the conversation of the earlier attempts is in place
	History      string // what was said in one that cannot be continued
	Model        string
	Instructions string
	Input        []byte // the frozen input of the attempt, JSON
	Home         string // of the agent's user, made afresh
	Workspace    string
	Broker       string // its URL, where the model is
	Token        string // what opens it
	Tools        string // the Company's tools, by the Model Context Protocol; empty for none
	Proxy        string // the way to the declared hosts, empty for none
}

// Command is a harness's program.
type Command struct {
	Args  []string
	Env   []string // beside the agent's own environment
	Stdin []byte
	Files map[string]string // written below the home before it starts
}

// Parser turns a stream into events. It never fails: what it does not understand is no event, and goes to the log. Usage is
// the broker's to tell, the end the supervisor's: a stream is the agent's word.
type Parser interface {
	// Line reads one line, without its newline. Known is false for a line that is not the harness's.
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

// failed is an outcome that something kept from being completed. What the agent answered is part of it.
func (o Outcome) failed(f *EndError) Outcome {
	if o.Kind == task.EndCompleted {
		o.Answer = f.Text + "\n\nThe agent's answer was:\n\n" + o.Answer
	} else {
		o.Answer = f.Text
	}
	o.Kind = f.Kind
	return o
}

// without is the outcome of a run of whose work something is lost: one that was completed has failed, any other keeps its
// own reason.
func (o Outcome) without(f *EndError) Outcome {
	if o.Kind == task.EndCompleted {
		return o.failed(f)
	}
	return o
}

// harnesses are those that this build can run, as executors name them.
func harnesses() map[string]Harness {
	return map[string]Harness{"fixture": fixtureHarness{}, "claude": claudeHarness{}, "codex": codexHarness{}}
}

// answered is the outcome of a process that said it succeeded.
func answered(answer string) Outcome {
	if answer == "" {
		return Outcome{Kind: task.EndNoOutput, Answer: "The agent ended without an answer."}
	}
	return Outcome{Kind: task.EndCompleted, Answer: answer}
}
