// Command migrate brings the schema up to date, as a step of a deployment that comes before the functions change.
package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"github.com/aws/aws-lambda-go/cfn"
	"github.com/aws/aws-lambda-go/lambda"

	"companyos/shared/cloud"
	"companyos/shared/config"
)

func main() {
	log := cloud.NewLog(os.Stdout)
	slog.SetDefault(log)
	c, err := config.ReadMigrate()
	if err != nil {
		fmt.Fprintln(os.Stderr, "migrate:", err)
		os.Exit(1)
	}
	log.Info("settings", "values", slog.GroupValue(c.Values...))
	m := migration{aws: cloud.Config(), database: c.Database, log: log}
	lambda.Start(func(ctx context.Context, event cfn.Event) (string, error) {
		if event.ResponseURL == "" { // called by hand
			_, _, err := m.answer(ctx, event)
			return "", err
		}
		return cfn.LambdaWrap(m.answer)(ctx, event)
	})
}
