// Package fargate starts sandboxes as tasks of Amazon ECS on Fargate, or on anything that speaks its API.
//
// What ties a task to a launch is written into the order: the client token "<run>/<launch>" makes a repeated order the
// same order, and startedBy, the same text, finds its task again. Both hold within one cluster.
package fargate

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"companyos/shared/sandbox"
)

// Container is the name of the supervisor's container in the task definition.
const Container = "sandbox"

// The environment that a launch adds to its container. Nothing else is passed.
const (
	EnvURL   = "COMPANY_PUBLIC_URL"
	EnvToken = "COMPANY_LAUNCH_TOKEN"
)

// Client is what the launcher needs of *ecs.Client.
type Client interface {
	RunTask(ctx context.Context, in *ecs.RunTaskInput, opts ...func(*ecs.Options)) (*ecs.RunTaskOutput, error)
	ListTasks(ctx context.Context, in *ecs.ListTasksInput, opts ...func(*ecs.Options)) (*ecs.ListTasksOutput, error)
	DescribeTasks(ctx context.Context, in *ecs.DescribeTasksInput, opts ...func(*ecs.Options)) (*ecs.DescribeTasksOutput, error)
	StopTask(ctx context.Context, in *ecs.StopTaskInput, opts ...func(*ecs.Options)) (*ecs.StopTaskOutput, error)
}

// Config says where sandboxes run.
type Config struct {
	Cluster        string   // name or ARN
	TaskDefinition string   // ARN or family:revision; its container is named Container
	Subnets        []string // one in each availability zone that may be used, at most 16
	SecurityGroups []string // at most 5
	PublicIP       bool     // public subnets without a NAT gateway need it
	Spot           bool     // a run's first launch is on Spot; FARGATE_SPOT must be a capacity provider of the cluster
}

// Launcher implements sandbox.Sandboxes on ECS.
type Launcher struct {
	client  Client
	config  Config
	retryer aws.Retryer
	pause   func(ctx context.Context, try int) error
}

var _ sandbox.Sandboxes = (*Launcher)(nil)

// Bounds of one Start. It ends well within the time of the function that calls it: what is not settled then is settled
// at the run's next look, with the same bytes.
const (
	maxCalls   = 3 // of which the outcome was unknown
	callTime   = 5 * time.Second
	maxTries   = 3 // of one call that was throttled
	maxBackoff = time.Second
	firstPause = 200 * time.Millisecond
)

// New returns a launcher.
func New(client Client, c Config) *Launcher {
	return &Launcher{client: client, config: c, retryer: throttlesOnly(), pause: pause}
}

// throttlesOnly repeats what ECS certainly did not look at, with jitter. A call whose outcome is unknown is Start's own
// to repeat, since it has to remember that there was one.
func throttlesOnly() aws.Retryer {
	return retry.NewStandard(func(o *retry.StandardOptions) {
		o.MaxAttempts, o.MaxBackoff = maxTries, maxBackoff
		o.Retryables = []retry.IsErrorRetryable{retry.RetryableErrorCode{Codes: retry.DefaultThrottleErrorCodes}}
	})
}

func pause(ctx context.Context, try int) error {
	base := firstPause << (try - 1)
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(base + rand.N(base)):
		return nil
	}
}

// Start implements sandbox.Sandboxes. A task that the launch already has is adopted, whatever was changed since: the
// token tells ECS that it is the same order. A definite failure that follows a call of unknown outcome is unknown too,
// for that call may still arrive.
func (l *Launcher) Start(ctx context.Context, spec sandbox.Spec) (string, error) {
	order := l.order(spec)
	var earlier error
	for try := 1; ; try++ {
		handle, err := l.call(ctx, order)
		switch outcome := sandbox.OutcomeOf(err); {
		case outcome == sandbox.OutcomeStarted:
			return handle, nil
		case outcome == sandbox.OutcomeUnknown && try < maxCalls && l.pause(ctx, try) == nil:
			earlier = err
		case outcome == sandbox.OutcomeFailed && earlier != nil:
			return "", fmt.Errorf("start %s: %w, after which: %v", name(spec.RunID, spec.Launch), earlier, err) //nolint:errorlint // whoever asks for the outcome finds the unknown one
		default:
			return "", fmt.Errorf("start %s: %w", name(spec.RunID, spec.Launch), err)
		}
	}
}

// call orders a task once.
func (l *Launcher) call(ctx context.Context, order *ecs.RunTaskInput) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	out, err := l.client.RunTask(ctx, order, func(o *ecs.Options) { o.Retryer = l.retryer })
	if conflict, ok := errors.AsType[*types.ConflictException](err); ok {
		if len(conflict.ResourceIds) == 0 {
			return "", fmt.Errorf("the client token is taken by an unnamed task: %w", err)
		}
		return conflict.ResourceIds[0], nil
	}
	switch {
	case err != nil:
		return "", failedCall(err)
	case len(out.Tasks) > 0 && aws.ToString(out.Tasks[0].TaskArn) != "":
		return *out.Tasks[0].TaskArn, nil
	case len(out.Failures) > 0:
		return "", failedPlacement(out.Failures[0])
	default:
		return "", errors.New("ECS answered neither a task nor a failure")
	}
}

// order is what one launch orders. Everything in it follows from the spec and the configuration: a repeat has the same
// bytes.
func (l *Launcher) order(spec sandbox.Spec) *ecs.RunTaskInput {
	place := l.config.place(spec)
	id := name(spec.RunID, spec.Launch)
	public := types.AssignPublicIpDisabled
	if l.config.PublicIP {
		public = types.AssignPublicIpEnabled
	}
	in := &ecs.RunTaskInput{
		Cluster:        &l.config.Cluster,
		TaskDefinition: &l.config.TaskDefinition,
		Count:          aws.Int32(1),
		ClientToken:    &id,
		StartedBy:      &id,
		NetworkConfiguration: &types.NetworkConfiguration{AwsvpcConfiguration: &types.AwsVpcConfiguration{
			Subnets: place.subnets, SecurityGroups: l.config.SecurityGroups, AssignPublicIp: public,
		}},
		Overrides: &types.TaskOverride{
			Cpu:    aws.String(strconv.Itoa(place.cpu)),
			Memory: aws.String(strconv.Itoa(place.memory)),
			ContainerOverrides: []types.ContainerOverride{{
				Name: aws.String(Container),
				Environment: []types.KeyValuePair{
					{Name: aws.String(EnvURL), Value: &spec.APIURL},
					{Name: aws.String(EnvToken), Value: &spec.Token},
				},
			}},
		},
	}
	if spec.Disk > 0 {
		in.Overrides.EphemeralStorage = &types.EphemeralStorage{SizeInGiB: int32(spec.Disk)}
	}
	if place.spot {
		in.CapacityProviderStrategy = []types.CapacityProviderStrategyItem{{CapacityProvider: aws.String("FARGATE_SPOT"), Weight: 1}}
	} else {
		in.LaunchType = types.LaunchTypeFargate
	}
	return in
}

// name is a launch's client token and startedBy: at most 64 and 128 characters, letters, digits, '-' and '/'.
func name(runID string, launch int) string { return runID + "/" + strconv.Itoa(launch) }

// parseName is the reverse of name; ok is false for a task that no launcher started.
func parseName(startedBy string) (runID string, launch int, ok bool) {
	runID, number, found := strings.Cut(startedBy, "/")
	launch, err := strconv.Atoi(number)
	if !found || err != nil || launch < 1 || len(runID) != 36 {
		return "", 0, false
	}
	return runID, launch, true
}
