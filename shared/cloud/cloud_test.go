package cloud

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/google/uuid"

	"companyos/shared/config"
	"companyos/shared/executor"
	"companyos/shared/queue"
	"companyos/shared/task"
)

// services answers as Secrets Manager (a POST with a target) and as S3 (a GET of /bucket/key).
type services struct {
	secrets map[string]string
	objects map[string]string
	down    bool
}

func (s *services) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.down {
		http.Error(w, `{"__type":"AccessDeniedException","message":"no"}`, http.StatusForbidden)
		return
	}
	if r.Method == http.MethodGet {
		object, ok := s.objects[r.URL.Path]
		if !ok {
			http.Error(w, `<Error><Code>NoSuchKey</Code><Message>none</Message></Error>`, http.StatusNotFound)
			return
		}
		io.WriteString(w, object)
		return
	}
	var in struct{ SecretId string }
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		panic(err)
	}
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	value, ok := s.secrets[in.SecretId]
	if !ok {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"__type":"ResourceNotFoundException","message":"Secrets Manager can't find the specified secret."}`)
		return
	}
	json.NewEncoder(w).Encode(map[string]string{"Name": in.SecretId, "SecretString": value})
}

func serve(t *testing.T, s *services) aws.Config {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return aws.Config{
		Region: "eu-central-1", BaseEndpoint: &server.URL, HTTPClient: client(), RetryMaxAttempts: 1,
		Credentials: credentials.NewStaticCredentialsProvider("key", "secret", ""),
	}
}

func TestSecretsAreReadUnderThePrefix(t *testing.T) {
	t.Parallel()
	a := serve(t, &services{secrets: map[string]string{"company/ANTHROPIC_API_KEY": "sk-1\n", "company/GITHUB_READ_TOKEN": "ghp", "OTHER": "x", "company/EMPTY": ""}})
	read := Secrets(a, "company")
	values, err := read(t.Context(), []string{"ANTHROPIC_API_KEY", "GITHUB_READ_TOKEN"})
	if err != nil || len(values) != 2 || values["ANTHROPIC_API_KEY"] != "sk-1" || values["GITHUB_READ_TOKEN"] != "ghp" {
		t.Errorf("%v, %v", values, err)
	}
	if values, err := read(t.Context(), nil); err != nil || len(values) != 0 {
		t.Errorf("none: %v, %v", values, err)
	}
	for name, want := range map[string]string{"OTHER": "OTHER", "EMPTY": "EMPTY"} {
		rule, _ := errors.AsType[*executor.RuleError](func() error { _, err := read(t.Context(), []string{name}); return err }())
		if rule == nil || rule.Code != executor.CodeSecretMissing || rule.Remedy != "Create company/"+name+" in Secrets Manager." {
			t.Errorf("%s: %+v", name, rule)
		}
		if values, err := read(t.Context(), []string{"GITHUB_READ_TOKEN", name}); err == nil || values != nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "ghp") {
			t.Errorf("%s: %v, %v", name, values, err)
		}
	}
}

const executors = "agents:\n  - {id: fixture, harness: fixture}\nworkflows:\n  - {id: notes, steps: [collect, write]}\n"

func settings(file string) config.Company {
	return config.Company{
		Database: config.Database{Secret: "database"}, Executors: file, AttemptsQueueURL: "https://sqs/a", WorkQueueURL: "https://sqs/w",
		ArtifactsBucket: "artifacts", MaxSandboxes: 2, MaxPending: 3, PublicURL: "https://company.example",
	}
}

func TestOpen(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "executors.yaml")
	if err := os.WriteFile(path, []byte(executors), 0o600); err != nil {
		t.Fatal(err)
	}
	s := &services{secrets: map[string]string{"database": "postgres://u:hunter2@127.0.0.1:1/d"}, objects: map[string]string{"/deployment/executors.yaml": executors}}
	a := serve(t, s)
	for _, file := range []string{path, "s3://deployment/executors.yaml"} {
		var log strings.Builder
		c, err := Open(t.Context(), a, settings(file), Parts{Log: NewLog(&log)})
		if err != nil {
			t.Fatal(err)
		}
		registry := c.Executors.Registry()
		if _, ok := registry.Workflow("notes"); !ok || !strings.Contains(log.String(), registry.Revision()) || len(registry.Revision()) != 64 {
			t.Errorf("%s: log %s", file, &log)
		}
		if c.Sandboxes != nil || c.MaxSandboxes != 2 || c.DispatchTimeout != config.DispatchTimeout || c.ExecuteTimeout < executor.PlainRunLimit {
			t.Errorf("%+v", c.Config)
		}
		c.DB.Close()
	}
	for name, change := range map[string]struct {
		settings func(*config.Company)
		want     string
	}{
		"no executors":    {func(c *config.Company) { c.Executors = "s3://deployment/none.yaml" }, "s3://deployment/none.yaml"},
		"no bucket":       {func(c *config.Company) { c.Executors = "s3://deployment" }, "s3://bucket/key"},
		"no such step":    {func(c *config.Company) {}, `"write"`},
		"no database":     {func(c *config.Company) { c.Database.Secret = "gone" }, "gone does not exist"},
		"a URL that isnt": {func(c *config.Company) { c.Database = config.Database{URL: "postgres://u:hunter2@h:x/d"} }, "not valid"},
		"git hosts":       {func(c *config.Company) { c.GitHosts = "http://example.com" }, "example.com"},
	} {
		c, parts := settings(path), Parts{Log: NewLog(io.Discard)}
		change.settings(&c)
		if name == "no such step" {
			parts.Steps = []string{"collect"}
		}
		if _, err := Open(t.Context(), a, c, parts); err == nil || !strings.Contains(err.Error(), change.want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestDatabaseOfACluster(t *testing.T) {
	t.Parallel()
	a := serve(t, &services{})
	c, err := Database(t.Context(), a, config.Database{DSQLEndpoint: "abc.dsql.eu-central-1.on.aws", DSQLUser: "company_api", Region: "eu-central-1"})
	if err != nil || c.MaxConns != 1 || !strings.Contains(c.URL, "company_api@abc.dsql.eu-central-1.on.aws") {
		t.Fatalf("%+v, %v", c, err)
	}
	if token, err := c.Password(t.Context()); err != nil || !strings.Contains(token, "Action=DbConnect&") {
		t.Errorf("%s, %v", token, err)
	}
}

func TestOnceTriesAgainAfterAFailure(t *testing.T) {
	t.Parallel()
	calls := 0
	open := Once(func(context.Context) (int, error) {
		if calls++; calls == 1 {
			return 0, errors.New("away")
		}
		return calls, nil
	})
	if _, err := open(t.Context()); err == nil {
		t.Error("no error")
	}
	for range 3 {
		if n, err := open(t.Context()); n != 2 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
	}
}

func TestLinesThatAreCounted(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	log := NewLog(&b).With("function", "dispatch")
	log.Info("a message names an unknown run", "run_id", "r")
	log.Info("something else")
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	var line map[string]any
	if err := json.Unmarshal([]byte(lines[0]), &line); err != nil {
		t.Fatal(err)
	}
	meta, _ := json.Marshal(line["_aws"].(map[string]any)["CloudWatchMetrics"])
	if line["UnknownRuns"] != 1.0 || line["run_id"] != "r" || string(meta) != `[{"Dimensions":[[]],"Metrics":[{"Name":"UnknownRuns","Unit":"Count"}],"Namespace":"Company"}]` {
		t.Errorf("%s", lines[0])
	}
	if strings.Contains(lines[1], "_aws") {
		t.Errorf("%s", lines[1])
	}
}

func TestHandled(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	log, id := NewLog(&b), uuid.New()
	if err := Handled(t.Context(), log, id, nil); err != nil || b.Len() != 0 {
		t.Errorf("%v, %s", err, &b)
	}
	away := task.Unavailable("database_unavailable", "The database is not reachable", errors.New("x"))
	if err := Handled(t.Context(), log, id, away); !errors.Is(err, queue.ErrAway) || !strings.Contains(b.String(), `"DatabaseAway":1`) {
		t.Errorf("%v, %s", err, &b)
	}
	busy := task.Unavailable("busy", "The run keeps changing", nil)
	if err := Handled(t.Context(), log, id, busy); errors.Is(err, queue.ErrAway) || !errors.Is(err, busy) || !strings.Contains(b.String(), `"msg":"settle failed"`) || !strings.Contains(b.String(), id.String()) {
		t.Errorf("%v, %s", err, &b)
	}
}
