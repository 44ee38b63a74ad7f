package task_test

import "companyos/shared/task"

// handler is the next step of one handler of messages: Advance, cut where it can die.
func (m *model) handler(s *mState, k int) {
	h := s.handlers[k]
	i := int(h.run)
	switch h.pc {
	case pcAct:
		m.act(s, k, i)
	case pcCall:
		m.call(s, k, int(h.target))
	case pcRecord:
		c := *s
		run := m.run(&c, int(h.target))
		after, stop := task.Called(run, int(h.launch), boxNames[h.box], modelNow)
		m.put(&c, int(h.target), run, after)
		if stop && !m.is(mLateBoxKept) {
			stopBox(&c.runs[h.target], int(h.box)-1)
		}
		m.endCall(c, k, "h%d records the sandbox of r%d", i, int(h.target))
	case pcFailed:
		c := *s
		run, launch := m.relaunchable(&c, int(h.target)), int(h.launch)
		if m.is(mFailedLaunch) {
			launch = run.Launch
		}
		after, _ := task.CallFailed(run, launch, task.EndNoCapacity, "secret", modelNow)
		m.put(&c, int(h.target), run, after)
		m.endCall(c, k, "h%d records that r%d was not started", i, int(h.target))
	case pcStopped:
		m.recordStop(s, k, i)
	case pcSendLate:
		c := *s
		if c.runs[i].due == 1 {
			c.runs[i].d = 1
		} else {
			sendOwn(&c.runs[i])
		}
		m.crash(c, k, "h%d sends afterwards", i)
		m.admit(c, k, "h%d sends afterwards", i)
	case pcSetDue:
		c := *s
		r := &c.runs[i]
		switch {
		case terminal(r.st) && r.stopped: // the run ended meanwhile
			sendOwn(r)
		case h.dueOK || m.is(mDueGuard):
			r.n += r.d
			r.d = 1
			moveDue(&c, i)
		default:
			sendOwn(r)
		}
		c.handlers[k].dueOK = false
		m.crash(c, k, "h%d sets due_at", i)
		m.admit(c, k, "h%d sets due_at", i)
	case pcAdmit:
		m.admitted(s, k, i, int(h.target))
	}
}

// relaunchable is a run whose next launch would be beyond the model's bound: there the start limit stands in.
func (m *model) relaunchable(s *mState, i int) task.Run {
	m.relaunching = true
	defer func() { m.relaunching = false }()
	return m.run(s, i)
}

func (m *model) act(s *mState, k, i int) {
	r := &s.runs[i]
	if r.st == stNone {
		m.finish(*s, k, "h%d drops an unknown run", i)
		return
	}
	run := m.run(s, i)
	switch {
	case m.is(mNoStartLimit):
		run.StartUntil = when(false)
	case m.is(mNoRunLimit) && run.RunUntil != nil:
		run.RunUntil = new(when(false))
	case m.is(mNoReportGrace) && run.StoppedAt != nil:
		run.StoppedAt = new(when(true))
	case m.is(mCallAfterExpiry) && run.TokenUntil != nil && run.State == task.StateLaunching:
		run.TokenUntil = new(when(false))
	}
	if m.calling(s, k, i) && !m.is(mTwoCalls) {
		run.CallingUntil = new(when(false))
	}
	step := task.Next(run, modelCallTimeout, modelNow)
	switch {
	case m.is(mCancelAfterStop) && run.State == task.StateCancelling && r.stopped:
		m.after(*s, k, "h%d: nothing due", i)
	case step.End != nil:
		m.settle(s, k, i, run, step)
	case step.Look == task.LookNone:
		m.after(*s, k, "h%d: nothing due", i)
	case step.Look == task.LookCall:
		m.beginCall(s, k, i)
	case step.Look == task.LookList:
		m.list(s, k, i)
	default:
		m.describe(s, k, i)
	}
}

// calling says whether another handler has a call of the run's present launch in flight.
func (m *model) calling(s *mState, k, i int) bool {
	for y, h := range s.handlers {
		if y != k && int(h.target) == i && h.launch == s.runs[i].launch && (h.pc == pcCall || h.pc == pcRecord || h.pc == pcFailed) {
			return true
		}
	}
	return false
}

func (m *model) settle(s *mState, k, i int, run task.Run, step task.Step) {
	c := *s
	outcome := *step.End
	claimer := int(s.runs[i].claimed) - 1
	if step.Announced && claimer >= 0 && s.runs[i].boxes[claimer].up {
		if m.is(mNoAnnounced) {
			m.violate("R1 an uploaded result was lost")
		} else {
			outcome = m.outcome(claimer)
		}
	}
	t := m.task(&c, i/m.cfg.attempts)
	_, after := task.Settle(m.pinless(t, mNoPinCheck), run, outcome, modelSource, modelNow)
	m.put(&c, i, m.run(s, i), after)
	m.after(c, k, "h%d settles r%d: "+string(after.State), i, i)
}

// outcome is that of a box's result.
func (m *model) outcome(box int) task.Outcome {
	o := task.OutcomeOf(task.EndCompleted, "done")
	o.ResultKey, o.ResultSHA = "key", boxNames[box+1]
	return o
}

// pinless hides the pin where a mutation wants it unseen.
func (m *model) pinless(t task.Task, x mutation) task.Task {
	if m.is(x) {
		t.Checkout = nil
	}
	return t
}

func (m *model) beginCall(s *mState, k, i int) {
	c := *s
	r := &c.runs[i]
	if m.is(mNewLaunchOnUnknown) && r.boxes[0].st != boxFree && int(r.launch) < m.cfg.launches {
		r.launch++
		r.claimed, r.box, r.tokenOver, r.ctid = 0, 0, false, false
	}
	c.handlers[k].pc, c.handlers[k].target, c.handlers[k].launch = pcCall, uint8(i), r.launch
	m.emit(c, true, "h%d: will call for r%d", i, i)
}

// seenBoxes are the sandboxes of the run's launch that a list shows.
func (m *model) seenBoxes(r *mRun) (seen []task.Seen) {
	for x := range r.boxes {
		b := &r.boxes[x]
		if b.launch == r.launch && b.st != boxFree && b.st != boxGone && (!m.cfg.lag || b.listed) {
			seen = append(seen, task.Seen{Handle: boxNames[x+1], Alive: b.alive()})
		}
	}
	return seen
}

func (m *model) list(s *mState, k, i int) {
	r := &s.runs[i]
	seen := m.seenBoxes(r)
	if len(seen) == 0 {
		if !r.tokenOver && !m.is(mEmptyListIsStopped) {
			m.after(*s, k, "h%d: an empty list proves nothing", i)
			return
		}
		c := *s
		c.handlers[k].pc, c.handlers[k].launch, c.handlers[k].box, c.handlers[k].cause = pcStopped, r.launch, 0, true
		m.emit(c, true, "h%d: an empty list counts as stopped", i)
		return
	}
	m.observe(*s, k, i, seen, "finds a sandbox of")
}

func (m *model) describe(s *mState, k, i int) {
	r := &s.runs[i]
	b := &r.boxes[r.box-1]
	if b.alive() {
		m.observe(*s, k, i, []task.Seen{{Handle: boxNames[r.box], Alive: true}}, "sees the sandbox of")
		return
	}
	if b.st == boxGone && m.is(mMissingIgnored) {
		m.after(*s, k, "h%d: ignores a missing sandbox", i)
		return
	}
	c := *s
	c.handlers[k].pc, c.handlers[k].launch, c.handlers[k].box, c.handlers[k].cause = pcStopped, r.launch, r.box, true
	m.emit(c, true, "h%d: sees a stop for capacity, Spot or an expired token", i)
	if r.st == stLaunching {
		c.handlers[k].cause = false
		m.emit(c, true, "h%d: sees another stop", i)
	}
}

// observe writes what was seen of sandboxes of which one at least is known.
func (m *model) observe(c mState, k, i int, seen []task.Seen, what string) {
	run := m.relaunchable(&c, i)
	if m.is(mExpiredKept) && run.State == task.StateLaunching {
		run.TokenUntil = new(when(false))
	}
	after, stop := task.Observe(run, run.Launch, seen, "secret", modelNow)
	m.put(&c, i, m.run(&c, i), after)
	for _, handle := range stop {
		if !m.is(mNoStop) {
			stopBox(&c.runs[i], int(index(boxNames, handle))-1)
		}
	}
	m.after(c, k, "h%d "+what+" r%d", i, i)
}

func (m *model) recordStop(s *mState, k, i int) {
	c := *s
	h := s.handlers[k]
	c.handlers[k].cause, c.handlers[k].launch, c.handlers[k].box = false, 0, 0
	run, launch := m.relaunchable(&c, i), int(h.launch)
	var seen []task.Seen
	if h.box > 0 {
		seen = []task.Seen{{Handle: boxNames[h.box], Reason: task.EndOutOfMemory}}
		if h.cause {
			seen[0].Reason = task.EndInterrupted
		}
	} else if m.is(mEmptyListIsStopped) && run.TokenUntil != nil {
		run.TokenUntil = new(when(true))
	}
	if m.is(mStoppedLaunch) {
		launch, run.SandboxARN = run.Launch, boxNames[h.box]
		if h.box == 0 && run.TokenUntil != nil {
			run.TokenUntil = new(when(true))
		}
	}
	after, stop := task.Observe(run, launch, seen, "secret", modelNow)
	m.put(&c, i, m.run(s, i), after)
	for _, handle := range stop {
		stopBox(&c.runs[i], int(index(boxNames, handle))-1)
	}
	m.after(c, k, "h%d writes the stop of r%d", i, i)
}

func (m *model) admitted(s *mState, k, i, j int) {
	c := *s
	r := &c.runs[j]
	run := m.run(&c, j)
	if m.is(mAdmitState) && r.st == stCancelled && r.launch == 0 {
		run.State, run.CancelAt = task.StatePending, nil
	}
	after, ok := task.Admit(run, "secret", modelCallTimeout, modelNow)
	if !ok || (!slotFree(s) && !m.is(mSlotCap)) {
		m.finish(c, k, "h%d: r%d is not admitted", i, j)
		return
	}
	r.slot = true
	m.put(&c, j, run, after)
	r.stopped = false
	c.handlers[k].pc, c.handlers[k].launch, c.handlers[k].admitting = pcCall, r.launch, true
	m.emit(c, true, "h%d admits r%d", i, j)
}
