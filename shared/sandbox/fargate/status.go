package fargate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"companyos/shared/sandbox"
)

// mostDescribed is how many tasks DescribeTasks takes.
const mostDescribed = 100

// Describe implements sandbox.Sandboxes. ECS forgets a stopped task after about an hour, and does not know a new one for
// a moment: both are sandbox.StateMissing.
func (l *Launcher) Describe(ctx context.Context, handle string) (sandbox.Status, error) {
	all, err := l.describe(ctx, []string{handle})
	if err != nil {
		return sandbox.Status{}, fmt.Errorf("describe %s: %w", handle, err)
	}
	return all[0], nil
}

// List implements sandbox.Sandboxes. Listing lags behind RunTask.
func (l *Launcher) List(ctx context.Context, runID string, launch int) ([]sandbox.Status, error) {
	id := name(runID, launch)
	handles, err := l.list(ctx, ecs.ListTasksInput{StartedBy: &id})
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", id, err)
	}
	all, err := l.describe(ctx, handles)
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", id, err)
	}
	for i := range all {
		all[i].RunID, all[i].Launch = runID, launch // a task that is missing does not say
	}
	return all, nil
}

// Running returns every sandbox that has not been told to stop, of any run: whoever asks looks for those that nobody
// wants any more. Tasks of the same family that somebody else started are left out.
func (l *Launcher) Running(ctx context.Context) ([]sandbox.Status, error) {
	family := l.config.TaskDefinition[strings.LastIndexByte(l.config.TaskDefinition, '/')+1:]
	family, _, _ = strings.Cut(family, ":")
	handles, err := l.pages(ctx, ecs.ListTasksInput{Family: &family, DesiredStatus: types.DesiredStatusRunning})
	if err != nil {
		return nil, fmt.Errorf("list what runs: %w", err)
	}
	all, err := l.describe(ctx, handles)
	if err != nil {
		return nil, fmt.Errorf("list what runs: %w", err)
	}
	return slices.DeleteFunc(all, func(s sandbox.Status) bool { return s.RunID == "" || s.State.Stopped() }), nil
}

// Stop implements sandbox.Sandboxes.
func (l *Launcher) Stop(ctx context.Context, handle, reason string) error {
	_, err := l.client.StopTask(ctx, &ecs.StopTaskInput{Cluster: &l.config.Cluster, Task: &handle, Reason: &reason})
	if err == nil || unknownTask(err) {
		return nil
	}
	return fmt.Errorf("stop %s: %w", handle, err)
}

// unknownTask says that ECS knows no such task: it stopped long ago.
func unknownTask(err error) bool {
	invalid, ok := errors.AsType[*types.InvalidParameterException](err)
	return ok && strings.Contains(strings.ToLower(invalid.ErrorMessage()), "task was not found")
}

// list returns what is running and what has stopped: ECS gives one or the other, running ones unless asked. Its
// reference says that startedBy is to be the only filter. Where a desired status counts as a second one, stopped tasks
// are left out: then the launch's deadline says that nothing runs, and only why it stopped is lost.
func (l *Launcher) list(ctx context.Context, in ecs.ListTasksInput) ([]string, error) {
	running, err := l.pages(ctx, in)
	if err != nil {
		return nil, err
	}
	in.DesiredStatus = types.DesiredStatusStopped
	stopped, err := l.pages(ctx, in)
	if err != nil && !errors.As(err, new(*types.InvalidParameterException)) {
		return nil, err
	}
	// One that stopped between the two is in both.
	return slices.Compact(slices.Sorted(slices.Values(slices.Concat(running, stopped)))), nil
}

func (l *Launcher) pages(ctx context.Context, in ecs.ListTasksInput) (handles []string, err error) {
	in.Cluster = &l.config.Cluster
	for {
		out, err := l.client.ListTasks(ctx, &in)
		if err != nil {
			return nil, err
		}
		handles = append(handles, out.TaskArns...)
		if aws.ToString(out.NextToken) == "" {
			return handles, nil
		}
		in.NextToken = out.NextToken
	}
}

// describe returns the status of each handle, in their order.
func (l *Launcher) describe(ctx context.Context, handles []string) ([]sandbox.Status, error) {
	known := make(map[string]sandbox.Status, len(handles))
	for part := range slices.Chunk(handles, mostDescribed) {
		out, err := l.client.DescribeTasks(ctx, &ecs.DescribeTasksInput{Cluster: &l.config.Cluster, Tasks: part})
		if err != nil {
			return nil, err
		}
		for _, f := range out.Failures {
			if reason := aws.ToString(f.Reason); reason != "MISSING" {
				return nil, fmt.Errorf("%s: %s %s", aws.ToString(f.Arn), reason, aws.ToString(f.Detail))
			}
		}
		for _, t := range out.Tasks {
			known[aws.ToString(t.TaskArn)] = statusOf(t)
		}
	}
	all := make([]sandbox.Status, len(handles))
	for i, handle := range handles {
		status, ok := known[handle]
		if !ok {
			status = sandbox.Status{Handle: handle, State: sandbox.StateMissing}
		}
		all[i] = status
	}
	return all, nil
}

// statusOf reads one task. A status that is not known counts as running: nothing is freed for it.
func statusOf(t types.Task) sandbox.Status {
	s := sandbox.Status{
		Handle: aws.ToString(t.TaskArn), State: sandbox.StateRunning,
		StartedAt: aws.ToTime(t.StartedAt), StoppedAt: aws.ToTime(t.StoppedAt),
	}
	s.RunID, s.Launch, _ = parseName(aws.ToString(t.StartedBy))
	var c types.Container
	if i := slices.IndexFunc(t.Containers, func(c types.Container) bool { return aws.ToString(c.Name) == Container }); i >= 0 {
		c = t.Containers[i]
	} else if len(t.Containers) > 0 {
		c = t.Containers[0]
	}
	s.Image = aws.ToString(c.Image)
	if digest := aws.ToString(c.ImageDigest); digest != "" && !strings.Contains(s.Image, "@") {
		s.Image += "@" + digest
	}
	switch aws.ToString(t.LastStatus) {
	case "PROVISIONING", "PENDING", "ACTIVATING":
		s.State = sandbox.StateStarting
	case "STOPPED", "DELETED":
		s.State = sandbox.StateStopped
		if c.ExitCode != nil {
			s.ExitCode = aws.Int(int(*c.ExitCode))
		}
		s.Reason, s.Detail = stopOf(t.StopCode, aws.ToString(t.StoppedReason), aws.ToString(c.Reason), s.ExitCode)
	}
	return s
}
