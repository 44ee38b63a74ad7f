package store

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"companyos/shared/store/internal/pgq"
	"companyos/shared/task"
)

func decodeRun(r pgq.Run) (task.Run, error) {
	run := task.Run{
		ID: r.ID, TaskID: r.TaskID, ProductID: r.ProductID, Attempt: int(r.Attempt), SessionID: r.SessionID, UserID: r.UserID,
		StartedBy: r.StartedBy, ExecutorType: task.ExecutorKind(r.ExecutorType), ExecutorID: r.ExecutorID, Sandboxed: r.Sandboxed,
		State: task.State(r.State), InputKey: r.InputKey, InputSHA256: r.InputSha256, SourceID: text(r.SourceID),
		CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt, DueAt: r.DueAt, StartUntil: r.StartUntil, RunUntil: r.RunUntil,
		StopGrace: time.Duration(r.StopGraceMs) * time.Millisecond,

		Launch: int(r.Launch), LaunchToken: text(r.LaunchToken), LaunchHash: text(r.LaunchHash), TokenUntil: r.TokenUntil,
		CallingUntil: r.CallingUntil, SandboxARN: text(r.SandboxHandle), ClaimedBy: text(r.ClaimedBy), ClaimedAt: r.ClaimedAt,
		SessionHash: text(r.SessionHash), LeaseUntil: r.LeaseUntil, CancelAt: r.CancelAt, StoppedAt: r.StoppedAt,
		StopReason: text(r.StopReason), PreparedAt: r.PreparedAt, EventBatches: int(r.EventBatches), ResultKey: text(r.ResultKey),
		ResultSHA256: text(r.ResultSha256), Content: r.Content, ContentType: text(r.ContentType), EndedAt: r.EndedAt,
		WaitingReason: text(r.WaitingReason), WaitingSince: r.WaitingSince,
	}
	var err [5]error
	if r.Checkout != nil {
		err[0] = json.Unmarshal(r.Checkout, &run.Checkout)
	}
	run.Ended, err[1] = decodePtr[task.Ended](r.Ended)
	run.Usage, err[2] = decodePtr[task.Usage](r.Usage)
	run.SandboxInfo, err[3] = decodePtr[task.SandboxInfo](r.Sandbox)
	err[4] = json.Unmarshal(r.Artifacts, &run.Artifacts)
	return run, errors.Join(err[:]...)
}

func oneOrNone(row pgq.Run, err error) (task.Run, bool, error) {
	if errors.Is(err, pgx.ErrNoRows) {
		return task.Run{}, false, nil
	}
	if err != nil {
		return task.Run{}, false, unavailable(err)
	}
	r, err := decodeRun(row)
	return r, err == nil, err
}

// encodeCheckout writes the checkout of an unsandboxed run as a null of SQL.
func encodeCheckout(c task.RunCheckout) json.RawMessage {
	if c == (task.RunCheckout{}) {
		return nil
	}
	return encode(c)
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func textOrNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
