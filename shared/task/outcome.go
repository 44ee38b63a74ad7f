package task

import "time"

// Outcome is how an attempt ended.
type Outcome struct {
	State     State // COMPLETED, ERROR or CANCELLED
	Ended     Ended
	Content   string // the agent's answer; empty: the message of Ended
	Usage     *Usage
	ResultKey string // blob of the result.json that says so, empty when none does
	ResultSHA string // its hash
}

// ContentType is what the contract calls a plain text.
const ContentType = "str"

// end makes a run terminal. Its Task is settled with Settle in the same transaction.
func (r Run) end(o Outcome, now time.Time) Run {
	r.State, r.Ended, r.EndedAt, r.UpdatedAt = o.State, &o.Ended, &now, &now
	r.Content, r.ContentType = o.Content, ContentType
	if r.Content == "" && o.State != StateCompleted {
		r.Content = o.Ended.Message
	}
	if o.Usage != nil {
		r.Usage = o.Usage
	}
	if o.ResultSHA != "" {
		r.ResultKey, r.ResultSHA256 = o.ResultKey, o.ResultSHA
	}
	r.LaunchToken, r.WaitingReason, r.WaitingSince, r.LeaseUntil = "", "", nil, nil
	return r
}

func failure(kind EndKind, limit, message string) Outcome {
	return Outcome{State: StateError, Ended: Ended{Kind: kind, Message: message, Limit: limit}}
}
