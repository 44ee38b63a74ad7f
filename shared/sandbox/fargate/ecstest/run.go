package ecstest

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

const (
	region  = "eu-central-1"
	account = "111122223333"
)

// Order is what RunTask was asked for.
type Order struct {
	Cluster, TaskDefinition string
	StartedBy, ClientToken  string
	Subnets                 []string
	SecurityGroups          []string
	PublicIP                bool
	CPU, Memory             string
	DiskGiB                 int
	Spot                    bool
	Env                     map[string]string // of the one container override
}

type token struct {
	request string
	arn     string
	at      time.Time
}

type keyValue struct{ Name, Value string }

type runTaskInput struct {
	Cluster, TaskDefinition, ClientToken, StartedBy, LaunchType string
	Count                                                       int
	CapacityProviderStrategy                                    []struct{ CapacityProvider string }
	NetworkConfiguration                                        *struct {
		AwsvpcConfiguration struct {
			Subnets, SecurityGroups []string
			AssignPublicIp          string
		}
	}
	Overrides json.RawMessage
}

type overrides struct {
	CPU, Memory        string
	TaskRoleArn        string
	EphemeralStorage   struct{ SizeInGiB int }
	ContainerOverrides []struct {
		Name        string
		Environment []keyValue
	}
}

var (
	tokenForm     = regexp.MustCompile(`^[!-~]{1,64}$`)
	startedByForm = regexp.MustCompile(`^[A-Za-z0-9/_-]{1,128}$`)
)

// read checks what ECS checks.
func (in *runTaskInput) read() (o Order, refused *failure) {
	var over overrides
	if err := json.Unmarshal(in.Overrides, &over); err != nil {
		return o, invalid("overrides: %v", err)
	}
	switch {
	case in.Count != 1:
		return o, invalid("this server starts one task at a time, not %d", in.Count)
	case !tokenForm.MatchString(in.ClientToken):
		return o, invalid("clientToken %q", in.ClientToken)
	case !startedByForm.MatchString(in.StartedBy):
		return o, invalid("startedBy %q", in.StartedBy)
	case len(in.Overrides) > 8192:
		return o, invalid("overrides: %d characters", len(in.Overrides))
	case in.NetworkConfiguration == nil || len(in.NetworkConfiguration.AwsvpcConfiguration.Subnets) == 0:
		return o, invalid("Network Configuration must be provided when networkMode 'awsvpc' is specified.")
	case (in.LaunchType == "") == (len(in.CapacityProviderStrategy) == 0):
		return o, invalid("a launch type or a capacity provider strategy, not both")
	case over.EphemeralStorage.SizeInGiB != 0 && (over.EphemeralStorage.SizeInGiB < 21 || over.EphemeralStorage.SizeInGiB > 200):
		return o, invalid("ephemeral storage of %d GiB", over.EphemeralStorage.SizeInGiB)
	case len(over.ContainerOverrides) != 1 || over.TaskRoleArn != "":
		return o, invalid("one container override and no role")
	}
	vpc := in.NetworkConfiguration.AwsvpcConfiguration
	o = Order{
		Cluster: in.Cluster, TaskDefinition: in.TaskDefinition, StartedBy: in.StartedBy, ClientToken: in.ClientToken,
		Subnets: vpc.Subnets, SecurityGroups: vpc.SecurityGroups, PublicIP: vpc.AssignPublicIp == "ENABLED",
		CPU: over.CPU, Memory: over.Memory, DiskGiB: over.EphemeralStorage.SizeInGiB,
		Spot: len(in.CapacityProviderStrategy) > 0, Env: map[string]string{},
	}
	for _, e := range over.ContainerOverrides[0].Environment {
		o.Env[e.Name] = e.Value
	}
	return o, nil
}

type runTaskOutput struct {
	Tasks    []taskRecord    `json:"tasks"`
	Failures []failureRecord `json:"failures"`
}

type failureRecord struct {
	ARN    string `json:"arn,omitempty"`
	Reason string `json:"reason"`
}

func (s *Server) runTask(in runTaskInput) (any, *failure) {
	order, refused := in.read()
	if refused != nil {
		return nil, refused
	}
	request, err := json.Marshal(in)
	if err != nil {
		return nil, invalid("%v", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.take() {
		return nil, throttled()
	}
	now := s.options.Now()
	key := order.Cluster + " " + order.ClientToken
	if known, ok := s.tokens[key]; ok && now.Sub(known.at) < s.options.TokenTTL {
		if known.request != string(request) {
			return nil, &failure{Type: "ConflictException", Message: "The provided clientToken is already in use with a different request", ResourceIDs: []string{known.arn}}
		}
		return runTaskOutput{Tasks: []taskRecord{s.tasks[known.arn].record()}, Failures: []failureRecord{}}, nil
	}
	if s.options.Place != nil {
		if reason := s.options.Place(order); reason != "" {
			return runTaskOutput{Tasks: []taskRecord{}, Failures: []failureRecord{{Reason: reason}}}, nil
		}
	}
	t := &Task{
		ARN:   fmt.Sprintf("arn:aws:ecs:%s:%s:task/%s/%032x", region, account, clusterName(order.Cluster), len(s.order)+1),
		Order: order, LastStatus: "PROVISIONING", DesiredStatus: "RUNNING", CreatedAt: now,
	}
	s.tasks[t.ARN], s.tokens[key] = t, token{string(request), t.ARN, now}
	s.order = append(s.order, t.ARN)
	s.changed(t)
	if s.options.RunAtOnce {
		s.run(t)
	}
	return runTaskOutput{Tasks: []taskRecord{t.record()}, Failures: []failureRecord{}}, nil
}

// take takes one call out of the bucket.
func (s *Server) take() bool {
	if s.options.Burst == 0 {
		return true
	}
	now := s.options.Now()
	s.level = min(float64(s.options.Burst), s.level+now.Sub(s.filled).Seconds()*s.options.PerSecond)
	s.filled = now
	if s.level < 1 {
		return false
	}
	s.level--
	return true
}

func clusterName(cluster string) string { return cluster[strings.LastIndexByte(cluster, '/')+1:] }

func family(taskDefinition string) string {
	name, _, _ := strings.Cut(taskDefinition[strings.LastIndexByte(taskDefinition, '/')+1:], ":")
	return name
}

// Alive counts the tasks of a startedBy that have not stopped.
func (s *Server) Alive(startedBy string) int {
	return len(slices.DeleteFunc(s.Tasks(), func(t Task) bool { return t.Order.StartedBy != startedBy || t.LastStatus == "STOPPED" }))
}
