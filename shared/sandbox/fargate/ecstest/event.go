package ecstest

import (
	"encoding/json"
	"fmt"
	"time"
)

// taskRecord is a task as ECS writes it, in answers and, with other times, in events.
type taskRecord struct {
	TaskARN              string            `json:"taskArn"`
	ClusterARN           string            `json:"clusterArn"`
	TaskDefinitionARN    string            `json:"taskDefinitionArn"`
	StartedBy            string            `json:"startedBy"`
	Group                string            `json:"group"`
	LaunchType           string            `json:"launchType,omitempty"`
	CapacityProviderName string            `json:"capacityProviderName,omitempty"`
	CPU                  string            `json:"cpu"`
	Memory               string            `json:"memory"`
	LastStatus           string            `json:"lastStatus"`
	DesiredStatus        string            `json:"desiredStatus"`
	Version              int               `json:"version"`
	CreatedAt            any               `json:"createdAt,omitempty"`
	StartedAt            any               `json:"startedAt,omitempty"`
	StoppedAt            any               `json:"stoppedAt,omitempty"`
	StopCode             string            `json:"stopCode,omitempty"`
	StoppedReason        string            `json:"stoppedReason,omitempty"`
	Containers           []containerRecord `json:"containers"`
	Overrides            any               `json:"overrides"`
}

type containerRecord struct {
	Name        string `json:"name"`
	Image       string `json:"image"`
	ImageDigest string `json:"imageDigest,omitempty"`
	LastStatus  string `json:"lastStatus"`
	ExitCode    *int   `json:"exitCode,omitempty"`
	Reason      string `json:"reason,omitempty"`
}

// Image and Digest are what every task runs.
const (
	Image  = account + ".dkr.ecr." + region + ".amazonaws.com/sandbox"
	Digest = "sha256:6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b"
)

func (t *Task) record() taskRecord { return t.recordWith(seconds) }

func (t *Task) recordWith(at func(time.Time) any) taskRecord {
	c := containerRecord{Name: "sandbox", Image: Image, LastStatus: t.LastStatus, ExitCode: t.Stop.ExitCode, Reason: t.Stop.ContainerReason}
	if !t.StartedAt.IsZero() {
		c.ImageDigest = Digest
	}
	var env []map[string]string
	for name, value := range t.Order.Env {
		env = append(env, map[string]string{"name": name, "value": value})
	}
	r := taskRecord{
		TaskARN: t.ARN, ClusterARN: fmt.Sprintf("arn:aws:ecs:%s:%s:cluster/%s", region, account, clusterName(t.Order.Cluster)),
		TaskDefinitionARN: t.Order.TaskDefinition, StartedBy: t.Order.StartedBy, Group: "family:" + family(t.Order.TaskDefinition),
		LaunchType: "FARGATE", CPU: t.Order.CPU, Memory: t.Order.Memory, LastStatus: t.LastStatus, DesiredStatus: t.DesiredStatus,
		Version: t.Version, CreatedAt: at(t.CreatedAt), StartedAt: at(t.StartedAt), StoppedAt: at(t.StoppedAt),
		StopCode: t.Stop.Code, StoppedReason: t.Stop.Reason, Containers: []containerRecord{c},
		Overrides: map[string]any{"containerOverrides": []any{map[string]any{"name": "sandbox", "environment": env}}},
	}
	if t.Order.Spot {
		r.LaunchType, r.CapacityProviderName = "", "FARGATE_SPOT"
	}
	return r
}

// seconds is a time in an answer, text one in an event.
func seconds(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return float64(t.UnixMilli()) / 1000
}

func text(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}

// Event is a task's state change, as EventBridge gets it.
type Event struct {
	StartedBy  string
	LastStatus string
	Version    int
	Body       []byte
}

// Message is what the rule of EventBridge makes of an event: the body of a message that names the run of startedBy and
// nothing else.
func (e Event) Message() string { return fmt.Sprintf(`{"v":1,"run":%q}`, e.StartedBy) }

// Events returns the state changes so far, in order.
func (s *Server) Events() []Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Event{}, s.events...)
}

// OnEvent calls f, on its own goroutine, for each state change.
func (s *Server) OnEvent(f func(Event)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.onEvent = f
}

func (s *Server) changed(t *Task) {
	t.Version++
	now := s.options.Now()
	body, err := json.Marshal(map[string]any{
		"version": "0", "id": fmt.Sprintf("%08x-0000-4000-8000-%012x", t.Version, len(s.events)+1), "detail-type": "ECS Task State Change",
		"source": "aws.ecs", "account": account, "time": now.UTC().Format(time.RFC3339), "region": region,
		"resources": []string{t.ARN}, "detail": t.recordWith(text),
	})
	if err != nil {
		panic(err) // texts, numbers and lists
	}
	e := Event{StartedBy: t.Order.StartedBy, LastStatus: t.LastStatus, Version: t.Version, Body: body}
	s.events = append(s.events, e)
	if s.onEvent != nil {
		go s.onEvent(e)
	}
}
