package agent

import (
	"context"
	"errors"
	"time"

	"companyos/shared/wire"
)

// claimFor is how long a supervisor asks for its work: an unclaimed launch token is refused ten minutes after the launch.
const claimFor = 10 * time.Minute

// claim exchanges the launch token for the work. The instance's id is made once, so that the claim may be repeated when
// an answer was lost. On failure it says how the supervisor ends.
func claim(ctx context.Context, client *wire.SandboxClient, token, instance string) (wire.ClaimResponse, *Exit) {
	asking, cancel := context.WithTimeout(ctx, claimFor)
	defer cancel()
	work, err := client.Claim(asking, token, wire.ClaimRequest{Instance: instance})
	switch {
	case err == nil:
		return work, nil
	case errors.Is(err, wire.ErrFenced), errors.Is(err, wire.ErrCancelled):
		return work, &Exit{Reason: ReasonFenced, Err: err}
	case errors.Is(err, wire.ErrTokenRefused):
		return work, &Exit{Reason: ReasonTokenRefused, Err: err}
	case ctx.Err() != nil:
		return work, &Exit{Reason: ReasonInterrupted, Err: err}
	case asking.Err() != nil:
		return work, &Exit{Reason: ReasonUnclaimed, Err: err}
	default:
		return work, &Exit{Reason: ReasonInternal, Err: err}
	}
}
