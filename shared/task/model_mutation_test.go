package task_test

// mutation is one guard that the model switches off: it shows the package a run on which the guard passes, or overrides
// the one answer that the guard gives. Nothing in the package knows of it.
type mutation uint64

const (
	mLiveKeptOnCompleted mutation = 1 << iota
	mLiveKeptOnError
	mLiveKeptOnCancelled
	mSlotFreedAtTerminal
	mSlotNotFreed
	mNoPinCheck
	mNoPreparedPinCheck
	mReserveLive
	mNoWakeFirst
	mCancelledAtOnce
	mClaimLaunch
	mClaimInstance
	mClaimState
	mTokenExpiry
	mPreparedInstance
	mPreparedState
	mResultInstance
	mResultState
	mNoStartLimit
	mNoRunLimit
	mNoAnnounced
	mNewLaunchOnUnknown
	mEmptyListIsStopped
	mMissingIgnored
	mNoStop
	mNoClientToken
	mStoppedLaunch
	mNoNextMessage
	mDueBeforeSend
	mSlotCap
	mAdmitState
	mNoAdmission
	mAdmitOwnOnly
	mLateBoxKept
	mFailedLaunch
	mDueGuard
	mNoReportGrace
	mTwoCalls
	mCallAfterExpiry
	mExpiredKept
	mCancelAfterStop
)

func (m *model) is(x mutation) bool { return m.mutations&x != 0 }

func (m *model) violate(what string) {
	if m.broken == "" {
		m.broken = what
	}
}
