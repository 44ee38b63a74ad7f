package ecstest

import (
	"slices"
	"strconv"
	"time"
)

// Task is a task of the server.
type Task struct {
	ARN                       string
	Order                     Order
	LastStatus, DesiredStatus string
	CreatedAt                 time.Time
	StartedAt, StoppedAt      time.Time
	Version                   int
	Stop                      Stop
	asked                     string // the reason that StopTask was given
	gone                      bool
}

// Stop is why a task stopped.
type Stop struct {
	Code            string // TaskFailedToStart, EssentialContainerExited, …, or one that does not exist yet
	Reason          string
	ContainerReason string
	ExitCode        *int
}

// Exited is the end of a task whose container ended by itself.
func Exited(code int) Stop {
	return Stop{Code: "EssentialContainerExited", Reason: "Essential container in task exited", ExitCode: &code}
}

// Tasks returns a copy of all tasks, as ordered.
func (s *Server) Tasks() []Task {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]Task, len(s.order))
	for i, arn := range s.order {
		all[i] = *s.tasks[arn]
	}
	return all
}

// Run lets a task run.
func (s *Server) Run(arn string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.tasks[arn]; t != nil && t.LastStatus != "STOPPED" {
		s.run(t)
	}
}

func (s *Server) run(t *Task) {
	t.LastStatus, t.StartedAt = "RUNNING", s.options.Now()
	s.changed(t)
	if s.onRun != nil {
		go s.onRun(*t)
	}
}

// Exit stops a task. One that StopTask was called for stops for that.
func (s *Server) Exit(arn string, why Stop) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.tasks[arn]; t != nil && t.LastStatus != "STOPPED" {
		s.exit(t, why)
	}
}

func (s *Server) exit(t *Task, why Stop) {
	if t.DesiredStatus == "STOPPED" {
		why.Code, why.Reason = "UserInitiated", t.asked
	}
	t.LastStatus, t.DesiredStatus, t.Stop, t.StoppedAt = "STOPPED", "STOPPED", why, s.options.Now()
	s.changed(t)
}

// forgotten says that a task is not known any more, or not yet.
func (s *Server) forgotten(t *Task) bool {
	now := s.options.Now()
	return t.gone || now.Sub(t.CreatedAt) < s.options.ListLag || t.LastStatus == "STOPPED" && now.Sub(t.StoppedAt) > s.options.Remember
}

type listTasksInput struct {
	Cluster, Family, StartedBy, DesiredStatus, NextToken string
	MaxResults                                           int
}

type listTasksOutput struct {
	TaskARNs  []string `json:"taskArns"`
	NextToken string   `json:"nextToken,omitempty"`
}

func (s *Server) listTasks(in listTasksInput) (any, *failure) {
	if in.StartedBy != "" && (in.Family != "" || s.options.OneFilter && in.DesiredStatus != "") {
		return nil, invalid("startedBy must be the only filter")
	}
	want := in.DesiredStatus
	if want == "" {
		want = "RUNNING"
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	arns := []string{}
	for _, arn := range s.order {
		t := s.tasks[arn]
		if t.Order.Cluster == in.Cluster && t.DesiredStatus == want && !s.forgotten(t) &&
			(in.StartedBy == "" || in.StartedBy == t.Order.StartedBy) && (in.Family == "" || in.Family == family(t.Order.TaskDefinition)) {
			arns = append(arns, arn)
		}
	}
	most := 100
	if in.MaxResults > 0 {
		most = in.MaxResults
	}
	from, _ := strconv.Atoi(in.NextToken)
	page := listTasksOutput{TaskARNs: arns[min(from, len(arns)):min(from+most, len(arns))]}
	if from+most < len(arns) {
		page.NextToken = strconv.Itoa(from + most)
	}
	return page, nil
}

type describeTasksInput struct {
	Cluster string
	Tasks   []string
}

func (s *Server) describeTasks(in describeTasksInput) (any, *failure) {
	if len(in.Tasks) == 0 || len(in.Tasks) > 100 {
		return nil, invalid("%d tasks", len(in.Tasks))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	out := runTaskOutput{Tasks: []taskRecord{}, Failures: []failureRecord{}}
	for _, arn := range in.Tasks {
		if t := s.tasks[arn]; t != nil && t.Order.Cluster == in.Cluster && !s.forgotten(t) {
			out.Tasks = append(out.Tasks, t.record())
		} else {
			out.Failures = append(out.Failures, failureRecord{arn, "MISSING"})
		}
	}
	return out, nil
}

type stopTaskInput struct{ Cluster, Task, Reason string }

func (s *Server) stopTask(in stopTaskInput) (any, *failure) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tasks[in.Task]
	if t == nil || t.Order.Cluster != in.Cluster || s.forgotten(t) {
		return nil, invalid("The referenced task was not found.")
	}
	if t.DesiredStatus != "STOPPED" {
		t.DesiredStatus, t.asked = "STOPPED", in.Reason
		if t.asked == "" {
			t.asked = "Task stopped by user"
		}
		s.changed(t)
	}
	if s.options.StopAtOnce && t.LastStatus != "STOPPED" {
		s.exit(t, Exited(143))
	}
	return struct {
		Task taskRecord `json:"task"`
	}{t.record()}, nil
}

// Stops counts the tasks that StopTask was called for.
func (s *Server) Stops() int {
	return len(slices.DeleteFunc(s.Tasks(), func(t Task) bool { return t.asked == "" }))
}

// Forget makes a task unknown, as a stopped one is after an hour.
func (s *Server) Forget(arn string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.tasks[arn]; t != nil {
		t.gone = true
	}
}
