// Command sweep repairs and tidies, every hour: it wakes runs that are overdue and folds counters. The event that starts
// it says nothing but "now": whatever else it holds is not read.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/aws/aws-lambda-go/lambda"

	"companyos/shared/app"
	"companyos/shared/cloud"
	"companyos/shared/config"
)

func main() {
	log := cloud.NewLog(os.Stdout)
	slog.SetDefault(log)
	c, err := config.ReadSweep()
	if err != nil {
		fmt.Fprintln(os.Stderr, "sweep:", err)
		os.Exit(1)
	}
	open := cloud.Once(func(ctx context.Context) (*app.Company, error) {
		log.LogAttrs(ctx, slog.LevelInfo, "settings", c.Values...)
		return cloud.Open(ctx, cloud.Config(), c.Company, cloud.Parts{Log: log})
	})
	lambda.Start(func(ctx context.Context) error {
		company, err := open(ctx)
		if err != nil {
			return err
		}
		return sweep(ctx, company)
	})
}

// sweep does each duty, whatever became of the others.
func sweep(ctx context.Context, company *app.Company) error {
	err := company.Sweep(ctx)
	_, folded := company.DB.FoldCounts(ctx)
	return errors.Join(err, folded)
}
