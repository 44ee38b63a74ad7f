package routine_test

import (
	"testing"

	"companyos/shared/routine"
)

// TestTexts: clients compare these letter by letter.
func TestTexts(t *testing.T) {
	t.Parallel()
	for got, want := range map[string]string{
		routine.ReasonFreshHuman:     "Previously accepted Task requires fresh human acceptance after return to Backlog",
		routine.ReasonDisabled:       "Routine was disabled or deleted",
		routine.ReasonNoGrant:        "Routine has no human automatic acceptance authorization",
		routine.ReasonNoProjects:     "Routine is not authorized to complete Projects",
		routine.ReasonOtherProduct:   "Proposal is outside the Routine Product",
		routine.ReasonOtherExecutor:  "Proposed executor is outside automatic acceptance authorization",
		routine.ReasonOutOfScope:     "Proposal is outside the authorized work scope",
		routine.ReasonExpired:        "Routine automatic acceptance expired",
		routine.ReasonOtherSources:   "Proposal is outside the authorized Sources",
		routine.ReasonNotHuman:       "Automatic acceptance requires human authority",
		routine.ReasonNoAuthority:    "Automatic acceptance has no saved human authority",
		routine.ReasonDisabledAuthor: "Automatic acceptance author is disabled",
		routine.ReasonNoDirectory:    "Automatic acceptance user directory is unavailable",
		routine.ReasonLimit:          "Routine acceptance limit reached",
		routine.ReasonUnknownCheck:   "Unknown automatic acceptance check",
		routine.ReasonCheckFailed:    "Required automatic acceptance check failed: ",
		routine.ReasonChanged:        "Routine automatic acceptance changed during checks",
		routine.ReasonExpiredDuring:  "Routine automatic acceptance expired during checks",
		routine.ReasonTaskChanged:    "Proposal changed during automatic acceptance",
		routine.ReasonRevoked:        "Routine automatic acceptance was changed or revoked",
		routine.ReasonFreshNeeded:    "Task needs a fresh acceptance before automatic pickup",
		routine.ReasonNoCaller:       "Task acceptance has no saved caller authority",
		routine.ReasonStillActive:    "The previous Task run is still active",
		routine.ReasonChangedBefore:  "Task acceptance changed before automatic dispatch",
		routine.ReasonDeleted:        "Task was deleted",
		routine.ReasonBudget:         "Company automation tick exhausted its claim budget",
		routine.EntryAccepted:        "Authorized Routine proposal",
		routine.EntryCompleted:       "Authorized Refresh completion proposal",
		routine.ErrorProductArchived: "Routine Product is missing or archived",
		routine.ErrorLost:            "Worker lost and attempt budget exhausted; run was not re-executed.",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
