package messages

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/anthropics/anthropic-sdk-go"

	"companyos/shared/agent/provider"
	"companyos/shared/model"
	"companyos/shared/task"
)

// maxTokens is the longest answer: every model that is offered takes it.
const maxTokens = 16384

var (
	errSilent = errors.New("the provider fell silent")
	errEnough = errors.New("the answer is over")
)

// ask gets one answer of the model.
func (a *agent) ask(ctx context.Context, params anthropic.MessageNewParams) (*anthropic.Message, *model.EndError) {
	count, spent := a.Meter.Begin(a.Price)
	if spent != nil {
		return nil, spent
	}
	began := false
	defer func() { count.End(began) }()
	asking, stop := context.WithCancelCause(ctx)
	defer stop(errEnough)
	silence := time.AfterFunc(a.silence, func() { stop(errSilent) })
	defer silence.Stop()
	stream := a.api.NewStreaming(asking, params)
	defer stream.Close()
	var message anthropic.Message
	for stream.Next() {
		silence.Reset(a.silence)
		event := stream.Current()
		began = began || event.Type == "message_start"
		if over := counted(count, &event); over != nil {
			return nil, over
		}
		if err := message.Accumulate(event); err != nil {
			return nil, &model.EndError{Kind: task.EndModelUnavailable, Text: "The answer of the model's provider is not readable.", Cause: err}
		}
		if event.Type == "message_stop" {
			return &message, nil
		}
	}
	return nil, a.broken(ctx, asking, stream.Err())
}

// broken says why an answer did not come to its end.
func (a *agent) broken(ctx, asking context.Context, err error) *model.EndError {
	refused, isRefusal := errors.AsType[*anthropic.Error](err)
	switch {
	case ctx.Err() != nil:
		return &model.EndError{Kind: task.EndCancelled, Text: task.CancelledRun, Cause: context.Cause(ctx)}
	case errors.Is(context.Cause(asking), errSilent):
		return &model.EndError{Kind: task.EndModelUnavailable, Text: "The model's provider sent nothing for " + a.silence.String() + ".", Cause: errSilent}
	case isRefusal:
		return refusal(refused)
	case err != nil && strings.Contains(err.Error(), "unexpected end of JSON") || err == nil:
		return &model.EndError{Kind: task.EndModelUnavailable, Text: "The answer of the model's provider broke off.", Cause: err}
	}
	return &model.EndError{Kind: task.EndModelUnavailable, Text: "The model's provider could not be reached, or its answer broke off.", Cause: err}
}

// refusal sorts an error that the provider told, as an answer of its own or, with status 200, within a stream.
func refusal(e *anthropic.Error) *model.EndError {
	var told struct {
		Error   provider.Error `json:"error"`
		Message string         `json:"message"` // Bedrock's
	}
	_ = json.Unmarshal([]byte(e.RawJSON()), &told) // a gateway's page is no JSON
	if told.Error.Message == "" {
		told.Error.Message = told.Message
	}
	failure := told.Error.Failure()
	if e.StatusCode != 0 && e.StatusCode != http.StatusOK {
		var header http.Header
		if e.Response != nil {
			header = e.Response.Header
		}
		failure = told.Error.Refusal(e.StatusCode, header, time.Now())
	} else if told.Error.Type == "" {
		failure.Kind = task.EndModelUnavailable
	}
	return &model.EndError{Kind: failure.Kind, Text: failure.Text, Cause: e}
}
