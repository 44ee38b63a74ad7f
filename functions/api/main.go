// Command api answers the HTTP API: the Company's routes for people and the sandbox's for supervisors.
package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"

	"companyos/shared/cloud"
	"companyos/shared/config"
	"companyos/shared/lambdahttp"
)

func main() {
	log := cloud.NewLog(os.Stdout)
	slog.SetDefault(log)
	c, err := config.ReadAPI()
	if err != nil {
		fmt.Fprintln(os.Stderr, "api:", err)
		os.Exit(1)
	}
	lambda.Start(handler(c, log))
}

// handler puts the server together at its first event. Until that has worked it answers 503.
func handler(c config.API, log *slog.Logger) lambdahttp.Handler {
	open := cloud.Once(func(ctx context.Context) (lambdahttp.Handler, error) { return serve(ctx, c, log) })
	return func(ctx context.Context, event events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
		h, err := open(ctx)
		if err != nil {
			log.ErrorContext(ctx, "the function is not ready", "error", err)
			h = notReady(log)
		}
		return h(ctx, event)
	}
}
