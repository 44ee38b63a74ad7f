// Command sweep repairs, automates and tidies: it wakes runs that are overdue, fires the Routines whose time has come,
// accepts and starts what nobody has to look at, folds counters and removes what is old. The event that starts it says
// nothing but "now": whatever else it holds is not read.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/aws/aws-lambda-go/lambda"

	"companyos/functions/sweep/checks"
	"companyos/shared/app"
	"companyos/shared/cloud"
	"companyos/shared/config"
	"companyos/shared/routine"
	"companyos/shared/source/gitless"
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
		company, err := cloud.Open(ctx, cloud.Config(), c.Company, cloud.Parts{Checks: checks.Registered(), Sources: gitless.Reader, Log: log})
		if err == nil {
			company.Retention = routine.Retention{HistoryDays: c.AutomationHistoryRetention, ArtifactDays: c.RetentionDays}
		}
		return company, err
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
	_, ticked := company.Tick(ctx)
	woken := company.WakeRoutines(ctx)
	folded := company.FoldCounts(ctx)
	_, cleaned := company.CleanUp(ctx, false)
	return errors.Join(err, ticked, woken, folded, cleaned)
}
