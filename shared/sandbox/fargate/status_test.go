package fargate

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"companyos/shared/sandbox"
	"companyos/shared/sandbox/fargate/ecstest"
	"companyos/shared/task"
)

func TestALifeAsDescribed(t *testing.T) {
	t.Parallel()
	var now clock
	l, server := setup(t, ecstest.Options{Now: now.now}, config())
	handle, err := l.Start(t.Context(), spec(1))
	if err != nil {
		t.Fatal(err)
	}
	look := func(want sandbox.State) sandbox.Status {
		t.Helper()
		s, err := l.Describe(t.Context(), handle)
		if err != nil || s.State != want || s.Handle != handle {
			t.Fatalf("%+v, %v; want %s", s, err, want)
		}
		return s
	}
	look(sandbox.StateStarting)
	now.add(20 * time.Second)
	server.Run(handle)
	s := look(sandbox.StateRunning)
	if s.RunID != run || s.Launch != 1 || s.Image != ecstest.Image+"@"+ecstest.Digest || !s.StartedAt.Equal(now.now()) || !s.StoppedAt.IsZero() {
		t.Errorf("running: %+v", s)
	}
	if err := l.Stop(t.Context(), handle, "the run is over"); err != nil {
		t.Fatal(err)
	}
	look(sandbox.StateRunning) // until everything in it has ended
	now.add(time.Minute)
	server.Exit(handle, ecstest.Exited(137))
	s = look(sandbox.StateStopped)
	if s.Reason != task.EndLost || !strings.Contains(s.Detail, "the run is over") || s.ExitCode == nil || *s.ExitCode != 137 || !s.StoppedAt.Equal(now.now()) {
		t.Errorf("stopped: %+v", s)
	}
	found, err := l.List(t.Context(), run, 1)
	if err != nil || len(found) != 1 || found[0].State != sandbox.StateStopped {
		t.Errorf("listed after its end: %+v, %v", found, err)
	}
	now.add(61 * time.Minute)
	look(sandbox.StateMissing)
	if err := l.Stop(t.Context(), handle, "again"); err != nil {
		t.Errorf("stopping what is gone: %v", err)
	}
}

func TestUnknownHandles(t *testing.T) {
	t.Parallel()
	l, server := setup(t, ecstest.Options{}, config())
	handle := "arn:aws:ecs:eu-central-1:111122223333:task/company/ffffffffffffffffffffffffffffffff"
	if s, err := l.Describe(t.Context(), handle); err != nil || s.State != sandbox.StateMissing || s.Handle != handle {
		t.Errorf("%+v, %v", s, err)
	}
	if err := l.Stop(t.Context(), handle, "x"); err != nil {
		t.Errorf("stop: %v", err)
	}
	server.Fail("StopTask", ecstest.FaultBefore, ecstest.FaultBefore, ecstest.FaultBefore)
	if err := l.Stop(t.Context(), handle, "x"); err == nil {
		t.Error("an order that did not arrive was no error")
	}
}

// Where ECS takes no second filter the launcher does without stopped tasks.
func TestListWithOneFilter(t *testing.T) {
	t.Parallel()
	l, server := setup(t, ecstest.Options{OneFilter: true}, config())
	handle, err := l.Start(t.Context(), spec(1))
	if err != nil {
		t.Fatal(err)
	}
	if found, err := l.List(t.Context(), run, 1); err != nil || len(found) != 1 {
		t.Fatalf("%v, %v", found, err)
	}
	server.Exit(handle, ecstest.Exited(0))
	if found, err := l.List(t.Context(), run, 1); err != nil || len(found) != 0 {
		t.Errorf("%v, %v", found, err)
	}
}

func TestRunningReadsAllPages(t *testing.T) {
	t.Parallel()
	l, server := setup(t, ecstest.Options{RunAtOnce: true}, config())
	const tasks = 230
	for i := range tasks {
		s := spec(1)
		s.RunID = fmt.Sprintf("6f1d2a8e-0f0b-5b6e-9a51-%012x", i)
		if _, err := l.Start(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	all := server.Tasks()
	server.Exit(all[0].ARN, ecstest.Exited(0))
	if err := l.Stop(t.Context(), all[1].ARN, "x"); err != nil {
		t.Fatal(err)
	}
	other := config()
	other.TaskDefinition = "another:1"
	if _, err := New(server.Client(), other).Start(t.Context(), spec(9)); err != nil {
		t.Fatal(err)
	}
	running, err := l.Running(t.Context())
	if err != nil || len(running) != tasks-2 {
		t.Errorf("%d run, %v; want %d", len(running), err, tasks-2)
	}
}

func TestStopReasons(t *testing.T) {
	t.Parallel()
	code := func(n int32) *int32 { return &n }
	tests := []struct {
		name             string
		code             types.TaskStopCode
		reason, inside   string
		exit             *int32
		want             task.EndKind
		contains, absent string
	}{
		{name: "ended by itself", code: "EssentialContainerExited", reason: "Essential container in task exited", exit: code(0), want: "", contains: "(exit code 0)"},
		{name: "failed by itself", code: "EssentialContainerExited", reason: "Essential container in task exited", exit: code(1), want: "", contains: "(exit code 1)"},
		{name: "out of memory", code: "EssentialContainerExited", reason: "Essential container in task exited", inside: "OutOfMemoryError: Container killed due to memory usage", exit: code(137), want: task.EndOutOfMemory},
		{name: "out of memory without a word", code: "EssentialContainerExited", reason: "Essential container in task exited", exit: code(137), want: task.EndOutOfMemory, contains: "exited: killed without a reason, as for lack of memory (exit code 137)"},
		{name: "out of memory and nothing else told", code: "EssentialContainerExited", exit: code(137), want: task.EndOutOfMemory, contains: "killed without a reason, as for lack of memory (exit code 137)"},
		{name: "told to stop and killed", code: "UserInitiated", reason: "the run is over", exit: code(137), want: task.EndLost, contains: "the run is over"},
		{name: "told to stop and out of memory", code: "UserInitiated", reason: "the run is over", inside: "OutOfMemoryError: x", exit: code(137), want: task.EndLost},
		{name: "disk", code: "EssentialContainerExited", reason: "Essential container in task exited", inside: "write /x: no space left on device", exit: code(2), want: task.EndStorageFull},
		{name: "image", code: "TaskFailedToStart", reason: "CannotPullContainerError: pull image manifest has been retried 1 time(s): failed to resolve ref 111122223333.dkr.ecr.eu-central-1.amazonaws.com/sandbox:gone: not found", want: task.EndImageUnavailable, contains: "not found", absent: "111122223333"},
		{name: "image, newer words", code: "TaskFailedToStart", reason: "Task failed to start", inside: "CannotPullImageManifestError: Error response from daemon", want: task.EndImageUnavailable},
		{name: "secrets", code: "TaskFailedToStart", reason: "ResourceInitializationError: unable to pull secrets or registry auth: execution resource retrieval failed", want: task.EndNeverStarted},
		{name: "container", code: "TaskFailedToStart", reason: "CannotStartContainerError: failed to create shim task", want: task.EndNeverStarted},
		{name: "capacity", code: "TaskFailedToStart", reason: "Capacity is unavailable at this time. Please try again later or in a different availability zone", want: task.EndNoCapacity},
		{name: "addresses", code: "TaskFailedToStart", reason: "Unexpected EC2 error while attempting to Create Network Interface in subnet 'subnet-a': InsufficientFreeAddressesInSubnet", want: task.EndNoCapacity},
		{name: "start, unknown words", code: "TaskFailedToStart", reason: "Something new", want: task.EndNeverStarted, contains: "Something new"},
		{name: "spot", code: "SpotInterruption", reason: "Your Spot Task was interrupted.", exit: code(143), want: task.EndInterrupted},
		{name: "spot and killed", code: "SpotInterruption", reason: "Your Spot Task was interrupted.", exit: code(137), want: task.EndInterrupted},
		{name: "retirement", code: "TerminationNotice", reason: "", want: task.EndInterrupted, contains: "TerminationNotice"},
		{name: "a code of the future", code: "QuantumDecoherence", reason: "The task was both", want: task.EndLost, contains: "The task was both"},
		{name: "a code of the future, known words", code: "QuantumDecoherence", reason: "OutOfMemoryError: x", want: task.EndOutOfMemory},
		{name: "no code", reason: "", want: task.EndLost},
		{name: "a token in the reason", code: "TaskFailedToStart", reason: "CannotStartContainerError: bad env COMPANY_LAUNCH_TOKEN=" + spec(1).Token + "\nmore", want: task.EndNeverStarted, contains: "[token] more", absent: "xxxx"},
		{name: "a long reason", code: "TaskFailedToStart", reason: strings.Repeat("é", 1000), want: task.EndNeverStarted, contains: "…"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := statusOf(types.Task{
				TaskArn: aws.String("arn"), StartedBy: aws.String(run + "/2"), LastStatus: aws.String("STOPPED"), StopCode: tt.code, StoppedReason: &tt.reason,
				Containers: []types.Container{{Name: aws.String("other"), ExitCode: code(9)}, {Name: aws.String(Container), Reason: &tt.inside, ExitCode: tt.exit}},
			})
			if s.State != sandbox.StateStopped || s.Reason != tt.want || s.RunID != run || s.Launch != 2 {
				t.Errorf("%+v; want %q", s, tt.want)
			}
			if !strings.Contains(s.Detail, tt.contains) || tt.absent != "" && strings.Contains(s.Detail, tt.absent) || strings.Contains(s.Detail, "\n") || len(s.Detail) > mostDetail+30 {
				t.Errorf("detail %q", s.Detail)
			}
		})
	}
}

func TestStatesThatAreNotKnownHoldTheirSlot(t *testing.T) {
	t.Parallel()
	for status, want := range map[string]sandbox.State{
		"PROVISIONING": sandbox.StateStarting, "PENDING": sandbox.StateStarting, "ACTIVATING": sandbox.StateStarting, "RUNNING": sandbox.StateRunning,
		"DEACTIVATING": sandbox.StateRunning, "STOPPING": sandbox.StateRunning, "DEPROVISIONING": sandbox.StateRunning, "HIBERNATING": sandbox.StateRunning,
		"STOPPED": sandbox.StateStopped, "DELETED": sandbox.StateStopped,
	} {
		if s := statusOf(types.Task{LastStatus: &status}); s.State != want {
			t.Errorf("%s is %s, want %s", status, s.State, want)
		}
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	if id, launch, ok := parseName(name(run, 12)); !ok || id != run || launch != 12 || len(name(run, 1e9)) > 64 {
		t.Errorf("%q %d %v", id, launch, ok)
	}
	for _, other := range []string{"", "ecs-svc/9223370", run, run + "/", run + "/0", run + "/x", "/1"} {
		if _, _, ok := parseName(other); ok {
			t.Errorf("%q is a launch", other)
		}
	}
}
