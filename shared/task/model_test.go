package task_test

import (
	"os"
	"strings"
	"testing"
)

// What is explored. The names are those of the sets of faults: one launcher fault each, users, hung supervisors, a
// launcher that forgets, two attempts, two Tasks.
var configs = map[string]config{
	"oneE":  {tasks: 1, attempts: 1, launches: 2, boxes: 2, handlers: 1, crashes: 1, losses: 1, failures: 1, users: 1, events: true, healthy: true},
	"oneF":  {tasks: 1, attempts: 1, launches: 2, boxes: 2, handlers: 2, losses: 1, failures: 1, dups: 1, healthy: true},
	"oneFU": {tasks: 1, attempts: 1, launches: 2, boxes: 2, handlers: 2, failures: 1, users: 1, dups: 1, healthy: true},
	"oneC":  {tasks: 1, attempts: 1, launches: 2, boxes: 2, handlers: 2, crashes: 1, users: 1, dups: 1, healthy: true},
	"oneL":  {tasks: 1, attempts: 1, launches: 1, boxes: 1, handlers: 2, crashes: 1, losses: 1, users: 1, dups: 1, healthy: true},
	"hungU": {tasks: 1, attempts: 1, launches: 2, boxes: 2, handlers: 2, failures: 1, users: 1, dups: 1},
	"hungF": {tasks: 1, attempts: 1, launches: 2, boxes: 2, handlers: 2, losses: 1, failures: 1, dups: 1},
	"hungC": {tasks: 1, attempts: 1, launches: 2, boxes: 2, handlers: 2, crashes: 1, users: 1, dups: 1},
	"lateS": {tasks: 1, attempts: 1, launches: 1, boxes: 2, handlers: 2, losses: 1, users: 1, dups: 1, clientTokens: true, lag: true, healthy: true},
	"lateG": {tasks: 1, attempts: 1, launches: 2, boxes: 3, handlers: 1, crashes: 1, losses: 1, users: 1, clientTokens: true, forgets: true, lag: true, healthy: true},
	"attS":  {tasks: 1, attempts: 2, launches: 1, boxes: 1, handlers: 1, users: 2, events: true, away: true, otherCommit: true, healthy: true},
	"attI":  {tasks: 1, attempts: 2, launches: 1, boxes: 1, handlers: 1, crashes: 1, users: 1, otherCommit: true, healthy: true},
	"two0":  {tasks: 2, attempts: 1, launches: 1, boxes: 1, handlers: 1, crashes: 1, short: true, healthy: true},
	"twoN":  {tasks: 2, attempts: 1, launches: 1, boxes: 1, handlers: 1, users: 1, short: true, healthy: true},
	// Small ones, which every run of the tests explores whole.
	"small":     {tasks: 1, attempts: 1, launches: 2, boxes: 2, handlers: 1, losses: 1, failures: 1, users: 1, healthy: true},
	"smallDup":  {tasks: 1, attempts: 1, launches: 1, boxes: 1, handlers: 2, users: 1, dups: 1},
	"smallPins": {tasks: 1, attempts: 2, launches: 1, boxes: 1, handlers: 1, otherCommit: true, healthy: true},
}

// modelEnv names the configurations to explore, or all of them with "all"; that takes gigabytes and an hour.
const modelEnv = "COMPANY_TEST_MODEL"

func TestModelFindsNoViolation(t *testing.T) {
	t.Parallel()
	names := []string{"small", "smallDup", "smallPins"}
	if given := os.Getenv(modelEnv); given == "all" {
		names = nil
		for name := range configs {
			names = append(names, name)
		}
	} else if given != "" {
		names = strings.Split(given, ",")
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := model{cfg: configs[name]}
			v := m.explore(12_000_000)
			t.Logf("%d states", v.states)
			if v.broken != "" {
				t.Errorf("%s, after\n  %s", v.broken, strings.Join(v.trace, "\n  "))
			} else if !v.complete {
				t.Errorf("more than %d states", v.states)
			}
		})
	}
}

// What the model says when a guard is switched off, and where it says so first.
var mutations = []struct {
	name     string
	mutation mutation
	config   string
	broken   string
}{
	{"the live run is kept when it completed", mLiveKeptOnCompleted, "small", "T1 the Task's live run is terminal"},
	{"the live run is kept when it failed", mLiveKeptOnError, "small", "T1 the Task's live run is terminal"},
	{"the live run is kept when it was cancelled", mLiveKeptOnCancelled, "small", "T1 the Task's live run is terminal"},
	{"a slot is freed at the end of the run", mSlotFreedAtTerminal, "small", "S1 a claimed sandbox runs without a slot"},
	{"a slot is never freed", mSlotNotFreed, "small", "S2 a stopped run holds a slot"},
	{"no pin is checked", mNoPinCheck, "smallPins", "I6 a result counts with another commit"},
	{"a Task with a live run is started", mReserveLive, "smallPins", "T1 a live run is not its Task's live run"},
	{"no wake before the start", mNoWakeFirst, "small", "I4"},
	{"a claim while cancelling", mClaimState, "small", "C1 a cancelled run is RUNNING"},
	{"told to go while cancelling", mPreparedState, "small", "P1 told to go though the run is CANCELLING"},
	{"a result while cancelling counts", mResultState, "small", "C1 a cancelled run is COMPLETED"},
	{"no start limit", mNoStartLimit, "small", "I7"},
	{"no run limit", mNoRunLimit, "small", "I7"},
	{"no look at announced results", mNoAnnounced, "small", "R1"},
	{"an empty list counts at once", mEmptyListIsStopped, "smallDup", "S1' an unclaimed sandbox runs without a slot"},
	{"no sandbox is ever stopped", mNoStop, "small", "I7"},
	{"a call without a client token", mNoClientToken, "small", "S1 a claimed sandbox runs without a slot"},
	{"the same without the guard of the instance", mNoClientToken | mClaimInstance, "oneF", "I2 two instances claimed a launch"},
	{"a stop of any launch", mStoppedLaunch, "hungU", "S1' an unclaimed sandbox runs without a slot"},
	{"a failure of any launch", mFailedLaunch, "hungU", "S1' an unclaimed sandbox runs without a slot"},
	{"a new launch while the outcome is unknown", mNewLaunchOnUnknown, "hungF", "S1' an unclaimed sandbox runs without a slot"},
	{"two calls of a launch at once", mTwoCalls, "hungU", "S1' an unclaimed sandbox runs without a slot"},
	{"a call after the token's life", mCallAfterExpiry, "hungU", "S1' an unclaimed sandbox runs without a slot"},
	{"no next message", mNoNextMessage, "small", "I4"},
	{"due_at before the message", mDueBeforeSend, "oneE", "I4"},
	{"a cancelled run is admitted", mAdmitState, "small", "T1 a live run is not its Task's live run"},
}

// Guards of the second layer: in no configuration does the model miss them alone, because another guard or a later look
// does the same work. "A missing sandbox is ignored" is found in lateG only, after a million states.
var secondLayer = []mutation{
	mNoPreparedPinCheck, mCancelledAtOnce, mClaimLaunch, mClaimInstance, mTokenExpiry, mPreparedInstance, mResultInstance, mSlotCap,
	mNoAdmission, mAdmitOwnOnly, mLateBoxKept, mDueGuard, mNoReportGrace, mExpiredKept, mCancelAfterStop,
}

func TestModelOfTheSecondLayer(t *testing.T) {
	t.Parallel()
	config, given := configs[os.Getenv(modelEnv)], os.Getenv(modelEnv) != ""
	for i, second := range secondLayer {
		if !given && i%5 != 0 {
			continue // each is a whole exploration
		}
		if config.tasks == 0 {
			config = configs["small"]
		}
		m := model{cfg: config, mutations: second}
		if v := m.explore(12_000_000); v.broken != "" {
			t.Errorf("mutation %d is caught, it belongs to the others: %s", i, v.broken)
		}
	}
	m := model{cfg: configs["lateG"], mutations: mMissingIgnored}
	if given {
		if v := m.explore(12_000_000); !strings.HasPrefix(v.broken, "I7") {
			t.Errorf("a missing sandbox is ignored: %q", v.broken)
		}
	}
}

func TestModelCatchesEveryGuardThatIsSwitchedOff(t *testing.T) {
	t.Parallel()
	for _, c := range mutations {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := model{cfg: configs[c.config], mutations: c.mutation}
			v := m.explore(6_000_000)
			if !strings.HasPrefix(v.broken, c.broken) {
				t.Errorf("%s found %q in %d states, want %q", c.config, v.broken, v.states, c.broken)
			}
		})
	}
}
