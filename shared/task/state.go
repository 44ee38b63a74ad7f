package task

import "slices"

// States lists all states of a run.
func States() []State {
	return []State{StatePending, StateLaunching, StateRunning, StateCancelling, StateCompleted, StateError, StateCancelled}
}

// becomes lists what a run in a state may become. A launching run stays so through any number of launches, with its
// slot. A run without a sandbox goes from PENDING to RUNNING. RUNNING is cancelled at once where its sandbox has stopped.
var becomes = map[State][]State{
	StatePending:    {StateLaunching, StateRunning, StateError, StateCancelled},
	StateLaunching:  {StateLaunching, StateRunning, StateCancelling, StateError},
	StateRunning:    {StateCompleted, StateError, StateCancelling, StateCancelled},
	StateCancelling: {StateCancelled},
	StateCompleted:  {},
	StateError:      {},
	StateCancelled:  {},
}

// MayBecome says whether a run in this state may go to another.
func (s State) MayBecome(to State) bool { return slices.Contains(becomes[s], to) }

// HoldsSlot says whether the run takes one of the slots: from its admission until its sandbox has stopped, settled or
// not.
func (r *Run) HoldsSlot() bool { return r.Launch > 0 && r.StoppedAt == nil }
