package fargate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/google/go-cmp/cmp"

	"companyos/shared/sandbox"
	"companyos/shared/sandbox/fargate/ecstest"
	"companyos/shared/task"
)

const (
	run     = "6f1d2a8e-0f0b-5b6e-9a51-0d8f6f4f6a11"
	cluster = "company"
)

func config() Config {
	return Config{
		Cluster: cluster, TaskDefinition: "arn:aws:ecs:eu-central-1:111122223333:task-definition/sandbox:7",
		Subnets: []string{"subnet-a", "subnet-b"}, SecurityGroups: []string{"sg-1"}, PublicIP: true,
	}
}

func spec(launch int) sandbox.Spec {
	return sandbox.Spec{
		RunID: run, Launch: launch, Token: fmt.Sprintf("cl1.%s.%d.%s", run, launch, strings.Repeat("x", 43)),
		APIURL: "https://company.example", CPU: 1024, Memory: 2048, Disk: 21, Harness: "claude",
	}
}

// setup returns a launcher that does not wait between its tries.
func setup(t *testing.T, o ecstest.Options, c Config) (*Launcher, *ecstest.Server) {
	t.Helper()
	server := ecstest.New(t, o)
	l := New(server.Client(), c)
	l.pause = func(ctx context.Context, _ int) error { return ctx.Err() }
	l.retryer = retry.AddWithMaxBackoffDelay(throttlesOnly(), time.Millisecond)
	return l, server
}

// clock is one that a test moves.
type clock struct{ at atomic.Int64 }

func (c *clock) now() time.Time {
	return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(c.at.Load()))
}
func (c *clock) add(d time.Duration) { c.at.Add(int64(d)) }

func TestStartOrdersWhatTheLaunchIs(t *testing.T) {
	t.Parallel()
	l, server := setup(t, ecstest.Options{}, config())
	handle, err := l.Start(t.Context(), spec(3))
	if err != nil {
		t.Fatal(err)
	}
	want := ecstest.Order{
		Cluster: cluster, TaskDefinition: config().TaskDefinition, StartedBy: run + "/3", ClientToken: run + "/3",
		Subnets: []string{"subnet-b"}, SecurityGroups: []string{"sg-1"}, PublicIP: true, CPU: "1024", Memory: "2048", DiskGiB: 21,
		Env: map[string]string{"COMPANY_PUBLIC_URL": "https://company.example", "COMPANY_LAUNCH_TOKEN": spec(3).Token},
	}
	task := server.Tasks()[0]
	if diff := cmp.Diff(want, task.Order); diff != "" || task.ARN != handle {
		t.Errorf("handle %s, ordered (-want +got):\n%s", handle, diff)
	}
}

// A repeat, also at the same time and after the task has stopped, is the same task.
func TestStartIsIdempotent(t *testing.T) {
	t.Parallel()
	l, server := setup(t, ecstest.Options{}, config())
	handles := make([]string, 8)
	var all sync.WaitGroup
	for i := range handles {
		all.Go(func() {
			handle, err := l.Start(t.Context(), spec(1))
			if err != nil {
				t.Error(err)
			}
			handles[i] = handle
		})
	}
	all.Wait()
	server.Exit(handles[0], ecstest.Exited(0))
	again, err := l.Start(t.Context(), spec(1))
	if err != nil || len(server.Tasks()) != 1 || len(slices.Compact(append(handles, again))) != 1 {
		t.Errorf("%d tasks, handles %q, %v", len(server.Tasks()), append(handles, again), err)
	}
	if other, err := l.Start(t.Context(), spec(2)); err != nil || other == again {
		t.Errorf("the next launch got %q, %v", other, err)
	}
}

// Whatever a deploy changes between two tries, the task of the first one is the launch's.
func TestStartAdoptsTheTaskOfAnEarlierOrder(t *testing.T) {
	t.Parallel()
	before, server := setup(t, ecstest.Options{}, config())
	handle, err := before.Start(t.Context(), spec(1))
	if err != nil {
		t.Fatal(err)
	}
	changed := config()
	changed.TaskDefinition, changed.Subnets = "sandbox:8", []string{"subnet-c"}
	after := New(server.Client(), changed)
	adopted, err := after.Start(t.Context(), spec(1))
	if err != nil || adopted != handle || len(server.Tasks()) != 1 {
		t.Errorf("adopted %q of %q, %d tasks, %v", adopted, handle, len(server.Tasks()), err)
	}
}

func TestStartSettlesAnUnknownOutcome(t *testing.T) {
	t.Parallel()
	for _, faults := range [][]ecstest.Fault{
		{ecstest.FaultBefore},
		{ecstest.FaultAfter},
		{ecstest.FaultAfter, ecstest.FaultBefore},
		{ecstest.FaultThrottle, ecstest.FaultAfter, ecstest.FaultThrottle},
	} {
		t.Run(fmt.Sprint(faults), func(t *testing.T) {
			t.Parallel()
			l, server := setup(t, ecstest.Options{}, config())
			server.Fail("RunTask", faults...)
			handle, err := l.Start(t.Context(), spec(1))
			if err != nil || len(server.Tasks()) != 1 || server.Tasks()[0].ARN != handle {
				t.Errorf("handle %q, %d tasks, %v", handle, len(server.Tasks()), err)
			}
		})
	}
}

// An order that is carried out and never answered is found again by its startedBy.
func TestListFindsWhatStartDidNotHear(t *testing.T) {
	t.Parallel()
	var now clock
	l, server := setup(t, ecstest.Options{Now: now.now, ListLag: 30 * time.Second}, config())
	server.Fail("RunTask", ecstest.FaultHang)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err := l.Start(ctx, spec(1))
	if sandbox.OutcomeOf(err) != sandbox.OutcomeUnknown || len(server.Tasks()) != 1 {
		t.Fatalf("%v, %d tasks; want an unknown outcome and one task", err, len(server.Tasks()))
	}
	if found, err := l.List(t.Context(), run, 1); err != nil || len(found) != 0 {
		t.Fatalf("while lists lag: %v, %v", found, err)
	}
	now.add(time.Minute)
	found, err := l.List(t.Context(), run, 1)
	if err != nil || len(found) != 1 || found[0].Handle != server.Tasks()[0].ARN || found[0].State != sandbox.StateStarting {
		t.Errorf("found %+v, %v", found, err)
	}
	if other, err := l.List(t.Context(), run, 2); err != nil || len(other) != 0 {
		t.Errorf("of another launch: %v, %v", other, err)
	}
}

// A failure that is definite by itself is not after a call that may still arrive.
func TestStartDoesNotTrustAFailureAfterAnUnknownOutcome(t *testing.T) {
	t.Parallel()
	l, server := setup(t, ecstest.Options{Place: func(ecstest.Order) string { return "RESOURCE:CPU" }}, config())
	server.Fail("RunTask", ecstest.FaultBefore)
	if _, err := l.Start(t.Context(), spec(1)); sandbox.OutcomeOf(err) != sandbox.OutcomeUnknown {
		t.Errorf("%v; want an unknown outcome", err)
	}
	if _, err := l.Start(t.Context(), spec(1)); !errors.Is(err, sandbox.ErrNoCapacity) {
		t.Errorf("%v; want no capacity", err)
	}
}

func TestStartThrottled(t *testing.T) {
	t.Parallel()
	l, server := setup(t, ecstest.Options{Burst: 1}, config())
	if _, err := l.Start(t.Context(), spec(1)); err != nil {
		t.Fatal(err)
	}
	_, err := l.Start(t.Context(), spec(2))
	if !errors.Is(err, sandbox.ErrThrottled) || sandbox.OutcomeOf(err) != sandbox.OutcomeThrottled {
		t.Errorf("%v; want throttled", err)
	}
	if calls := server.Calls("RunTask"); calls != 1+maxTries {
		t.Errorf("%d calls, want %d", calls, 1+maxTries)
	}
}

func TestThrottlesAreRepeatedWithJitter(t *testing.T) {
	t.Parallel()
	waits := map[time.Duration]bool{}
	for range 20 {
		d, err := throttlesOnly().RetryDelay(2, errors.New("x"))
		if err != nil || d > maxBackoff {
			t.Fatalf("%v, %v", d, err)
		}
		waits[d] = true
	}
	if len(waits) < 15 {
		t.Errorf("20 waits had %d different lengths", len(waits))
	}
}

func TestStartKinds(t *testing.T) {
	t.Parallel()
	tests := []struct {
		reason string
		want   error
	}{
		{"Capacity is unavailable at this time. Please try again later or in a different availability zone", sandbox.ErrNoCapacity},
		{"RESOURCE:MEMORY", sandbox.ErrNoCapacity},
		{"AGENT", sandbox.ErrNoCapacity},
		{"A reason of next year", sandbox.ErrNoCapacity},
		{"MISSING", sandbox.ErrRefused},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			t.Parallel()
			l, _ := setup(t, ecstest.Options{Place: func(ecstest.Order) string { return tt.reason }}, config())
			if _, err := l.Start(t.Context(), spec(1)); !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.reason) {
				t.Errorf("%v, want %v", err, tt.want)
			}
		})
	}
	nowhere, tiny := config(), spec(1)
	nowhere.Subnets, tiny.Disk = nil, 1
	for name, tt := range map[string]struct {
		config Config
		spec   sandbox.Spec
	}{"refused by the client": {nowhere, spec(1)}, "refused by ECS": {config(), tiny}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, _ := setup(t, ecstest.Options{}, tt.config)
			if _, err := l.Start(t.Context(), tt.spec); !errors.Is(err, sandbox.ErrRefused) || sandbox.EndKindOf(err) != task.EndNeverStarted {
				t.Errorf("%v, want refused", err)
			}
		})
	}
}

// The next launches ask for something else until there is capacity.
func TestPlaceTriesSubnetsAndSizes(t *testing.T) {
	t.Parallel()
	both, a, b := []string{"subnet-a", "subnet-b"}, []string{"subnet-a"}, []string{"subnet-b"}
	larger := placement{both, 2048, 4096, false}
	ordinary := []placement{{both, 1024, 2048, false}, {a, 1024, 2048, false}, {b, 1024, 2048, false}, larger}
	spot := config()
	spot.Spot = true
	for name, tt := range map[string]struct {
		config Config
		want   []placement
	}{
		"on demand": {config(), slices.Concat(ordinary, ordinary)},
		"spot":      {spot, append([]placement{{both, 1024, 2048, true}}, ordinary...)},
	} {
		for i, want := range tt.want {
			got := tt.config.place(spec(i + 1))
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(placement{})); diff != "" {
				t.Errorf("%s, launch %d:\n%s", name, i+1, diff)
			}
		}
	}
	largest := sandbox.Spec{Launch: 4, CPU: 16384, Memory: 122880}
	if p := config().place(largest); p.cpu != 16384 || p.memory != 122880 {
		t.Errorf("the largest size became %d/%d", p.cpu, p.memory)
	}
}

func TestSpotIsACapacityProvider(t *testing.T) {
	t.Parallel()
	c := config()
	c.Spot = true
	l, server := setup(t, ecstest.Options{}, c)
	for launch := 1; launch <= 2; launch++ {
		if _, err := l.Start(t.Context(), spec(launch)); err != nil {
			t.Fatal(err)
		}
	}
	if tasks := server.Tasks(); !tasks[0].Order.Spot || tasks[1].Order.Spot {
		t.Errorf("spot: %v, then %v", tasks[0].Order.Spot, tasks[1].Order.Spot)
	}
}
