// Command record is a function that keeps the events it is started with, so that events/ holds what really arrives. It
// puts each into the bucket of its environment as events/<function>/<request id>.json, and answers what every trigger
// accepts.
package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"
)

type recorder struct{ url string }

// Invoke implements lambda.Handler: the event as it came, byte for byte.
func (r recorder) Invoke(ctx context.Context, event []byte) ([]byte, error) {
	call, _ := lambdacontext.FromContext(ctx)
	url := fmt.Sprintf("%s/events/%s/%s.json", r.url, lambdacontext.FunctionName, call.AwsRequestID)
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, url, bytes.NewReader(event))
	if err != nil {
		return nil, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("keep the event: %s", res.Status)
	}
	return []byte(`{"statusCode":204,"batchItemFailures":[]}`), nil
}

func main() {
	lambda.Start(recorder{url: os.Getenv("AWS_ENDPOINT_URL") + "/" + os.Getenv("COMPANY_ARTIFACTS_BUCKET")})
}
