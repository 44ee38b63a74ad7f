package bedrock_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"companyos/shared/cloud/bedrock"
	"companyos/shared/executor"
	"companyos/shared/model"
	"companyos/shared/task"
)

// answer is one answer as Bedrock streams it: the provider's events in frames.
func answer(t *testing.T, w io.Writer) {
	t.Helper()
	for _, event := range []string{
		`{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","model":"x","content":[],"usage":{"input_tokens":12,"output_tokens":1}}}`,
		`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"from the cloud"}}`,
		`{"type":"content_block_stop","index":0}`,
		`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":3}}`,
		`{"type":"message_stop"}`,
	} {
		payload, err := json.Marshal(map[string][]byte{"bytes": []byte(event)})
		if err != nil {
			t.Error(err)
		}
		err = eventstream.NewEncoder().Encode(w, eventstream.Message{
			Headers: eventstream.Headers{
				{Name: ":message-type", Value: eventstream.StringValue("event")}, {Name: ":event-type", Value: eventstream.StringValue("chunk")},
			},
			Payload: payload,
		})
		if err != nil {
			t.Error(err)
		}
	}
}

func TestBedrock(t *testing.T) {
	t.Parallel()
	refuse := ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if auth := r.Header.Get("Authorization"); !strings.Contains(auth, "Credential=AKID/") || !strings.Contains(auth, "/eu-central-1/bedrock/") || r.Header.Get("X-Api-Key") != "" {
			t.Errorf("signed by %q", auth)
		}
		if r.URL.Path != "/model/eu.anthropic.claude/invoke-with-response-stream" {
			t.Errorf("path %s", r.URL.Path)
		}
		if refuse != "" {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			io.WriteString(w, refuse)
			return
		}
		w.Header().Set("Content-Type", "application/vnd.amazon.eventstream")
		answer(t, w)
	}))
	t.Cleanup(server.Close)
	provider := bedrock.Provider(aws.Config{
		Region: "eu-central-1", BaseEndpoint: &server.URL, Credentials: credentials.NewStaticCredentialsProvider("AKID", "secret", ""),
	})
	config := model.Config{Meter: model.NewMeter(executor.Limits{}), Model: "eu.anthropic.claude", Turns: 1}
	ask := func() (string, *model.EndError) {
		agent, failed := provider.Open(t.Context(), config)
		if failed != nil {
			return "", failed
		}
		return agent.Answer(t.Context(), "hello")
	}
	if got, failed := ask(); failed != nil || got != "from the cloud" {
		t.Fatalf("%q %+v", got, failed)
	}
	if u := config.Meter.Usage(); u == nil || u.InputTokens != 12 || u.OutputTokens != 3 || u.CostKnown {
		t.Errorf("%+v", u)
	}
	refuse = `{"message":"Input is too long for requested model."}`
	if _, failed := ask(); failed == nil || failed.Kind != task.EndContextExceeded {
		t.Errorf("%+v", failed)
	}
}
