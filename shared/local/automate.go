package local

import (
	"context"
	"fmt"
	"time"

	"companyos/shared/app"
	"companyos/shared/company"
	"companyos/shared/routine"
)

// Automation is what a Company does by itself, and when.
type Automation struct {
	TickCron   string // in UTC; empty: nothing is accepted or started without a person, until Tick is called
	Retention  routine.Retention
	Checks     map[string]app.Check
	ReadSource func(ctx context.Context, source company.Source) ([]company.Document, error)
	Channels   map[string]app.Channel
}

// cleanEvery is how often what is old goes.
const cleanEvery = time.Hour

// automate ticks when the cron line says so. What was missed while the process did not run is not made up for: a tick
// does all that there is to do.
func (c *Company) automate(ctx context.Context) error {
	if c.cfg.Automation.TickCron == "" {
		return nil
	}
	schedule, err := routine.ParseSchedule(c.cfg.Automation.TickCron, "UTC")
	if err != nil {
		return fmt.Errorf("tick-cron: %w", err)
	}
	for {
		next := schedule.Next(time.Now())
		if next == nil {
			return nil
		}
		timer := time.NewTimer(time.Until(*next))
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C:
		}
		tick, err := c.App.Tick(ctx)
		switch {
		case err != nil && ctx.Err() == nil:
			c.cfg.Log.ErrorContext(ctx, "the automation's tick failed; the next one is by its schedule", "error", err)
		case err == nil && tick.Status != app.TickIdle:
			c.cfg.Log.InfoContext(ctx, "the automation ticked", "status", tick.Status, "tasks", len(tick.Tasks), "projects", len(tick.Projects))
		}
	}
}

// clean removes every hour what is older than it is kept, also what the launcher keeps of sandboxes.
func (c *Company) clean(ctx context.Context) error {
	ticker := time.NewTicker(cleanEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			if _, err := c.App.CleanUp(ctx, false); err != nil && ctx.Err() == nil {
				c.cfg.Log.ErrorContext(ctx, "cleaning up failed; the next time is in an hour", "error", err)
			}
			if err := c.launcher.Prune(ctx, c.cfg.Automation.Retention.ArtifactCutoff(time.Now())); err != nil && ctx.Err() == nil {
				c.cfg.Log.ErrorContext(ctx, "sandboxes that stopped long ago were not forgotten; the next time is in an hour", "error", err)
			}
		}
	}
}
