package app_test

import (
	"strings"
	"testing"

	"companyos/shared/app/apptest"
	"companyos/shared/task"
)

// TestRecoverRefusesAnotherRun changes, behind the Company's back, whose a Task's run is: recovery takes no such run.
func TestRecoverRefusesAnotherRun(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ set, want string }{
		"of another session": {"session_id = gen_random_uuid()::text", "Run identifier conflicts with another session"},
		"of another owner":   {"user_id = 'mallory'", "Task run owner does not match its reservation"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := apptest.New(t, 1)
			accepted := b.NewTask(task.ExecutorAgent, apptest.Engineer)
			run := b.Start(accepted.ID, 1)
			if _, err := b.DB.Pool().Exec(t.Context(), "UPDATE runs SET "+c.set+" WHERE id = $1", run); err != nil {
				t.Fatal(err)
			}
			_, err := b.RecoverTask(t.Context(), accepted.ID)
			if task.KindOf(err) != task.KindConflict || !strings.Contains(err.Error(), c.want) {
				t.Errorf("it said %v, not %q", err, c.want)
			}
		})
	}
}
