package cloud

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/google/uuid"

	"companyos/shared/queue"
	"companyos/shared/task"
)

// Handled is what a message's handler answers after it looked at a run: nil for success, queue.ErrAway while the
// database is away, else the error, which was logged with its run.
func Handled(ctx context.Context, log *slog.Logger, id uuid.UUID, err error) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*task.Error](err); ok && e.Code == "database_unavailable" {
		log.WarnContext(ctx, "the database is not reachable", "run_id", id.String(), "error", err)
		return fmt.Errorf("%w: %w", queue.ErrAway, err)
	}
	log.ErrorContext(ctx, "settle failed", "run_id", id.String(), "error", err)
	return err
}
