package app_test

import (
	"testing"

	"companyos/shared/app/apptest"
	"companyos/shared/store/storetest"
	"companyos/shared/task"
)

// The COMMIT of a reservation whose answer was lost is looked up: the start answers the run that is there, or makes it.
func TestAReservationOfUnknownOutcome(t *testing.T) {
	t.Parallel()
	for _, carriedOut := range []bool{true, false} {
		b := apptest.New(t, 2)
		tk := b.NewTask(task.ExecutorAgent, apptest.Engineer)
		direct := b.Company.DB
		cut, commits := storetest.CutCommits(t, direct, carriedOut, 1)
		b.Company.DB = cut
		started, err := b.Company.StartRun(t.Context(), tk.ID, task.Start{Attempt: 1, By: apptest.Alice()})
		if err != nil || started.RunID != task.RunID(tk.ID, 1) || commits() == 0 {
			t.Fatalf("carried out %v: %+v, %v after %d commits", carriedOut, started, err, commits())
		}
		b.Company.DB = direct
		b.Drain()
		finish(t, b, tk.ID, started.RunID)
	}
}
