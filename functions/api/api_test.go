package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/sivchari/kumo"

	"companyos/shared/api"
	"companyos/shared/cloud"
	"companyos/shared/config"
	"companyos/shared/lambdahttp"
	"companyos/shared/store"
	"companyos/shared/store/schema"
	"companyos/shared/store/storetest"
	"companyos/shared/task"
)

const secret = "a secret of the tests, 32 bytes or more"

func configuration(database, executors string) config.API {
	return config.API{JWTAudience: "company", JWTHS256Secret: secret, Company: config.Company{
		Database: config.Database{URL: database}, Executors: executors, AttemptsQueueURL: "https://sqs/attempts", WorkQueueURL: "https://sqs/work",
		ArtifactsBucket: "artifacts", SecretsPrefix: "company", MaxSandboxes: 2, MaxPending: 10, PublicURL: "https://company.example",
	}}
}

// ask sends one event and returns the status and the body.
func ask(t *testing.T, h lambdahttp.Handler, method, path, body string) (events.APIGatewayV2HTTPResponse, map[string]any) {
	t.Helper()
	token, err := api.DevelopmentToken(secret, "company", "alice", []string{task.AdminScope}, time.Now(), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	event := events.APIGatewayV2HTTPRequest{RawPath: path, Body: body, Headers: map[string]string{"authorization": "Bearer " + token, "content-type": "application/json"}}
	event.RequestContext.RequestID, event.RequestContext.HTTP.Method = "request-1", method
	out, err := h(t.Context(), event)
	if err != nil {
		t.Fatal(err)
	}
	var record map[string]any
	if err := json.Unmarshal([]byte(out.Body), &record); err != nil {
		t.Fatalf("%s %s: %d %s", method, path, out.StatusCode, out.Body)
	}
	return out, record
}

// A database that cannot be reached, and a deployment that is not complete, are answered in time and said to pass.
func TestWhatIsAwayIsAnsweredInTime(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "executors.yaml")
	h := handler(configuration("postgres://u@192.0.2.1:5432/d?connect_timeout=60", file), slog.New(slog.DiscardHandler)) // an address of nobody
	for _, code := range []string{"not_ready", "database_unavailable"} {
		began := time.Now()
		out, body := ask(t, h, "GET", "/company/products", "")
		if out.StatusCode != 503 || out.Headers["Retry-After"] == "" || body["code"] != code || body["retryable"] != true || body["request_id"] != "request-1" {
			t.Errorf("%d %v %s", out.StatusCode, out.Headers, out.Body)
		}
		if took := time.Since(began); took > 3*time.Second {
			t.Errorf("%s took %v", code, took)
		}
		if err := os.WriteFile(file, []byte("agents: [{id: fixture, harness: fixture}]"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// The whole way of a start through the function's own clients and its one connection.
func TestAStartReachesQueueAndBucket(t *testing.T) { // the environment names the emulator
	server := kumo.NewServer()
	t.Cleanup(server.Close)
	for name, value := range map[string]string{"AWS_ENDPOINT_URL": server.URL, "AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret"} {
		t.Setenv(name, value)
	}
	queues := awssqs.NewFromConfig(cloud.Config())
	queue, err := queues.CreateQueue(t.Context(), &awssqs.CreateQueueInput{QueueName: aws.String("work")})
	if err != nil {
		t.Fatal(err)
	}
	objects := s3.NewFromConfig(cloud.Config(), func(o *s3.Options) { o.UsePathStyle = true })
	if _, err := objects.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: aws.String("artifacts")}); err != nil {
		t.Fatal(err)
	}
	key, err := store.SchemaKey()
	if err != nil {
		t.Fatal(err)
	}
	c := configuration(storetest.New(t, schema.Migrate, key), "testdata/executors.yaml")
	c.WorkQueueURL = *queue.QueueUrl
	h := handler(c, slog.New(slog.DiscardHandler))
	make := func(path, body string) string {
		t.Helper()
		out, record := ask(t, h, "POST", path, body)
		if out.StatusCode > 299 {
			t.Fatalf("POST %s: %d %s", path, out.StatusCode, out.Body)
		}
		id, _ := record["id"].(string)
		return id
	}
	product := make("/company/products", `{"name":"Widget"}`)
	project := make("/company/projects", fmt.Sprintf(`{"product_id":%q,"name":"Launch"}`, product))
	id := make("/company/tasks", fmt.Sprintf(`{"product_id":%q,"project_id":%q,"title":"Try"}`, product, project))
	make("/company/tasks/"+id+"/transitions", `{"target":"ready","reason":"do it","executor_type":"agent","executor_id":"fixture"}`)
	out, started := ask(t, h, "POST", "/company/tasks/"+id+"/runs", `{"attempt":1}`)
	run, _ := started["run_id"].(string)
	if out.StatusCode != 202 || run == "" {
		t.Fatalf("%d %s", out.StatusCode, out.Body)
	}
	received, err := queues.ReceiveMessage(t.Context(), &awssqs.ReceiveMessageInput{QueueUrl: queue.QueueUrl, MaxNumberOfMessages: 10})
	if err != nil || len(received.Messages) != 1 || *received.Messages[0].Body != fmt.Sprintf(`{"v":1,"run":"%s"}`, run) {
		t.Errorf("the queue has %+v, %v", received, err)
	}
	stored, err := objects.ListObjectsV2(t.Context(), &s3.ListObjectsV2Input{Bucket: aws.String("artifacts")})
	if err != nil || len(stored.Contents) != 1 {
		t.Fatalf("the bucket has %+v, %v", stored, err)
	}
	input, err := objects.GetObject(t.Context(), &s3.GetObjectInput{Bucket: aws.String("artifacts"), Key: stored.Contents[0].Key})
	if err != nil {
		t.Fatal(err)
	}
	defer input.Body.Close()
	if text, err := io.ReadAll(input.Body); err != nil || !strings.Contains(string(text), id) {
		t.Errorf("the input is %s, %v", text, err)
	}
}
