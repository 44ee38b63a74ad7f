package routine

import "time"

// Retention is how long what nobody needs any more is kept.
type Retention struct {
	HistoryDays  int // of the automation's own history
	ArtifactDays int // of events and artifacts of finished work
}

// DefaultRetentionDays is both.
const DefaultRetentionDays = 30

const day = 24 * time.Hour

// HistoryCutoff is the moment before which history goes.
func (r Retention) HistoryCutoff(now time.Time) time.Time { return before(now, r.HistoryDays) }

// ArtifactCutoff is the moment before which events and artifacts go.
func (r Retention) ArtifactCutoff(now time.Time) time.Time { return before(now, r.ArtifactDays) }

func before(now time.Time, days int) time.Time {
	if days < 1 {
		days = DefaultRetentionDays
	}
	return now.Add(-time.Duration(days) * day)
}

// ArchiveCutoff is the moment before which finished work of a Product is archived. Times count in whole seconds, as the
// contract's: a window of 0 days archives from the next second on.
func ArchiveCutoff(now time.Time, windowDays int64) time.Time {
	return now.Truncate(time.Second).Add(-time.Duration(windowDays) * day)
}
