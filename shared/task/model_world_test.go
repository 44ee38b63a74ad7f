package task_test

import "companyos/shared/task"

// users are the people: starts, cancels, and Tasks taken away.
func (m *model) usersAct(s *mState) {
	for ti := range m.cfg.tasks {
		t := &s.tasks[ti]
		if s.apiPC == 0 && int(t.attempts) < m.cfg.attempts && !t.archived && (t.live == 0 || m.is(mReserveLive)) && t.status != statusBacklog {
			c := *s
			c.apiTask, c.apiPC = uint8(ti), 2
			r := m.reserve(&c, ti)
			if !m.is(mNoWakeFirst) {
				c.runs[r].d = 1 // the wake arrives when due_at passes, never before the COMMIT
			}
			m.emit(c, false, "api reserves r%d", r)
		}
		if s.users > 0 && t.job != 0 {
			m.takeAway(s, ti, int(t.job)-1)
		}
	}
	if s.apiPC == 2 {
		r := int(s.apiTask)*m.cfg.attempts + int(s.tasks[s.apiTask].attempts) - 1
		c := *s
		c.apiPC = 0
		send(&c.runs[r])
		m.emit(c, true, "api wakes r%d at once", r)
		if s.crashes > 0 {
			c := *s
			c.crashes--
			c.apiPC = 0
			m.emit(c, false, "api dies after it reserved r%d", r)
		}
	}
}

func (m *model) reserve(s *mState, ti int) int {
	t := &s.tasks[ti]
	r := ti*m.cfg.attempts + int(t.attempts)
	t.attempts++
	t.live, t.job, t.status = uint8(r+1), uint8(r+1), statusInProgress
	s.runs[r].st, s.runs[r].due = stPending, 1
	return r
}

func (m *model) takeAway(s *mState, ti, i int) {
	r := &s.runs[i]
	t := &s.tasks[ti]
	live := r.st >= stPending && r.st <= stRunning
	if live && !r.cancelled {
		c := *s
		c.users--
		m.cancel(&c, i)
		m.emit(c, false, "a user cancels r%d, the wake was consumed before the COMMIT", i)
		if m.cfg.events {
			send(&c.runs[i])
			m.emit(c, false, "a user cancels r%d", i)
		}
	}
	if !m.cfg.away {
		return
	}
	take := func(what string, change func(*mTask)) {
		c := *s
		c.users--
		change(&c.tasks[ti])
		if live {
			m.cancel(&c, i)
		}
		m.emit(c, false, "a user "+what+" t%d", ti)
	}
	if !t.archived {
		take("archives", func(t *mTask) { t.archived = true })
		if t.status != statusBacklog {
			take("returns to backlog", func(t *mTask) { t.status = statusBacklog })
		}
	}
	if (t.archived || t.status == statusBacklog) && int(t.attempts) < m.cfg.attempts {
		c := *s
		c.tasks[ti].archived, c.tasks[ti].status = false, statusReady
		m.emit(c, false, "a user restores and accepts t%d", ti)
	}
}

func (m *model) cancel(s *mState, i int) {
	run := m.run(s, i)
	seen := run
	if m.is(mCancelledAtOnce) {
		run.State = task.StatePending
	}
	m.put(s, i, seen, task.Cancel(run, modelNow))
}

// time lets each deadline pass on its own.
func (m *model) timePasses(s *mState) {
	for i := range s.runs {
		r := &s.runs[i]
		if r.st == stNone {
			continue
		}
		pass := func(what string, f func(*mRun)) {
			c := *s
			f(&c.runs[i])
			m.emit(c, true, "time: "+what+" of r%d", i)
		}
		if r.due == 1 {
			pass("due_at", func(r *mRun) { r.due, r.n, r.d = 0, r.n+r.d, 0 })
		}
		if !r.startOver && (r.st == stPending || r.st == stLaunching) {
			pass("the start limit", func(r *mRun) { r.startOver = true })
		}
		if !r.runOver && r.claimed != 0 && (r.st == stRunning || r.st == stCancelling) {
			pass("the run limit", func(r *mRun) { r.runOver = true })
		}
		if !r.tokenOver && r.launch > 0 && (!terminal(r.st) || !r.stopped) && (r.claimed == 0 || r.runOver || terminal(r.st)) && !m.starting(s, i) {
			pass("the launch token", func(r *mRun) { r.tokenOver = true })
		}
		if m.cfg.clientTokens && !r.ctid && r.tokenOver && !m.inCall(s, i) {
			pass("the client token", func(r *mRun) { r.ctid = true })
		}
		if r.stopped && !r.graceOver && r.st == stRunning {
			pass("the wait for a report", func(r *mRun) { r.graceOver = true })
		}
		m.launcherForgets(s, i)
	}
}

// starting says that something of the launch may still arrive: the token's margins outlive that.
func (m *model) starting(s *mState, i int) bool {
	r := &s.runs[i]
	for x := range r.boxes {
		b := &r.boxes[x]
		if b.alive() && m.cfg.lag && !b.listed && (b.claimed || b.launch == r.launch) {
			return true
		}
	}
	return m.inCall(s, i)
}

func (m *model) inCall(s *mState, i int) bool {
	for _, h := range s.handlers {
		if h.pc == pcCall && int(h.target) == i && h.launch == s.runs[i].launch {
			return true
		}
	}
	return false
}

func (m *model) launcherForgets(s *mState, i int) {
	r := &s.runs[i]
	for x := range r.boxes {
		if m.cfg.lag && !r.boxes[x].listed && r.boxes[x].st != boxFree {
			c := *s
			c.runs[i].boxes[x].listed = true
			m.emit(c, true, "the list shows box %d of r%d", x, i)
		}
		if m.cfg.forgets && r.boxes[x].st == boxStopped && (!terminal(r.st) || !r.stopped) {
			c := *s
			c.runs[i].boxes[x].st = boxGone
			m.emit(c, true, "the launcher forgets box %d of r%d", x, i)
		}
	}
}

// boxesAct is the next step of each sandbox of a run.
func (m *model) boxesAct(s *mState, i int) {
	for x := range m.cfg.boxes {
		b := &s.runs[i].boxes[x]
		if !b.alive() {
			continue
		}
		m.boxStops(s, i, x)
		switch b.st {
		case boxStarted:
			m.boxClaims(s, i, x)
		case boxClaimed:
			m.boxPrepares(s, i, x)
		case boxPrepared:
			c := *s
			c.runs[i].boxes[x].st, c.runs[i].boxes[x].up = boxUploaded, true
			m.emit(c, false, "box %d of r%d uploads its result", x, i)
		case boxUploaded:
			m.boxReports(s, i, x)
		}
	}
}

// boxStops: it crashes, is interrupted, exits or was told to; the launcher's event arrives or is lost.
func (m *model) boxStops(s *mState, i, x int) {
	r := &s.runs[i]
	b := &r.boxes[x]
	refused := b.st == boxStarted && int(r.claimed) != x+1 && (r.launch != b.launch || r.tokenOver || r.claimed != 0 || r.st >= stCancelling)
	fair := b.stopAsked || (m.cfg.healthy && (b.st == boxReported || refused))
	c := *s
	c.runs[i].boxes[x].st, c.runs[i].boxes[x].stopAsked = boxStopped, false
	m.emit(c, fair, "box %d of r%d stops, the event is lost", x, i)
	if m.cfg.events {
		send(&c.runs[i])
		m.emit(c, false, "box %d of r%d stops", x, i)
	}
}

func (m *model) boxClaims(s *mState, i, x int) {
	c := *s
	b := &c.runs[i].boxes[x]
	run := m.run(&c, i)
	seen := run
	claim := task.Claim{LaunchHash: launchHash[b.launch], Instance: boxNames[x+1], SessionHash: boxNames[x+1], RunUntil: when(false)}
	switch {
	case m.is(mClaimLaunch):
		claim.LaunchHash = run.LaunchHash
	case m.is(mClaimInstance) && run.State == task.StateRunning:
		run.ClaimedBy = claim.Instance
	case m.is(mClaimState) && run.State == task.StateCancelling && run.ClaimedBy == "":
		run.State = task.StateLaunching
	}
	if m.is(mTokenExpiry) && run.TokenUntil != nil {
		run.TokenUntil = new(when(false))
	}
	after, answer := run.Claim(claim, modelNow)
	if answer == task.AnswerFenced {
		if m.cfg.healthy {
			b.st = boxReported
			m.emit(c, false, "box %d of r%d is refused its claim", x, i)
		}
		return
	}
	again := m.is(mClaimInstance) && c.runs[i].claimed != 0
	m.put(&c, i, seen, after)
	b.claimed = true
	lost := c
	b.st = boxClaimed
	m.emit(c, false, "box %d claims r%d", x, i)
	if !m.cfg.short && !s.runs[i].boxes[x].claimed && !again {
		m.emit(lost, false, "box %d claims r%d, the answer is lost", x, i)
	}
}

func (m *model) boxPrepares(s *mState, i, x int) {
	for commit := uint8(1); commit <= 2; commit++ {
		if commit == 2 && !m.cfg.otherCommit || s.runs[i].commit != 0 && s.runs[i].commit != commit {
			continue // an instance reports one commit
		}
		c := *s
		b := &c.runs[i].boxes[x]
		run := m.run(&c, i)
		seen, session := run, boxNames[x+1]
		if m.is(mPreparedInstance) {
			session = run.SessionHash
		}
		if m.is(mPreparedState) && run.State.Terminal() || m.is(mPreparedState) && run.State == task.StateCancelling {
			run.State = task.StateRunning
		}
		t := m.pinless(m.pinless(m.task(&c, i/m.cfg.attempts), mNoPinCheck), mNoPreparedPinCheck)
		after, answer := run, task.AnswerFenced
		if run.Holds(int(b.launch), session) {
			after, answer = run.Prepared(&t, task.RunCheckout{URL: modelURL, Branch: modelBranch, Commit: commits[commit]}, modelSource, modelNow)
		}
		switch answer {
		case task.AnswerTaken, task.AnswerAgain:
			if seen.State != task.StateRunning {
				m.violate("P1 told to go though the run is " + string(seen.State))
			}
			m.put(&c, i, seen, after)
			lost := c
			b.st, b.went = boxPrepared, true
			if m.cfg.short {
				b.st, b.up = boxUploaded, true
			}
			m.emit(c, false, "box %d of r%d prepared, go", x, i)
			if answer == task.AnswerTaken && !m.cfg.short {
				m.emit(lost, false, "box %d of r%d prepared, the answer is lost", x, i)
			}
		case task.AnswerWrongPin:
			m.put(&c, i, seen, after)
			b.st = boxReported
			m.emit(c, false, "box %d of r%d prepared the wrong commit", x, i)
		case task.AnswerFenced, task.AnswerStop, task.AnswerKept:
			b.st = boxReported
			m.emit(c, false, "box %d of r%d is refused to go", x, i)
		}
	}
}

func (m *model) boxReports(s *mState, i, x int) {
	c := *s
	b := &c.runs[i].boxes[x]
	run := m.run(&c, i)
	seen, session := run, boxNames[x+1]
	if m.is(mResultInstance) {
		session = run.SessionHash
	}
	if m.is(mResultState) && (run.State.Terminal() || run.State == task.StateCancelling) {
		run.State, run.ResultSHA256 = task.StateRunning, ""
	}
	after, answer := run, task.AnswerFenced
	if run.Holds(int(b.launch), session) {
		t := m.pinless(m.task(&c, i/m.cfg.attempts), mNoPinCheck)
		_, after, answer = task.Report(t, run, m.outcome(x), modelSource, modelNow)
	}
	if answer == task.AnswerTaken || answer == task.AnswerKept {
		if int(s.runs[i].claimed) != x+1 {
			m.violate("I5 a result was taken from an instance that is not the claimer")
		}
		m.put(&c, i, seen, after)
	}
	lost := c
	b.st = boxReported
	m.emit(c, false, "box %d of r%d reports: "+string(answer), x, i)
	if answer == task.AnswerTaken && !m.cfg.short {
		m.emit(lost, false, "box %d of r%d reports, the answer is lost", x, i)
	}
}

func stopBox(r *mRun, x int) {
	if r.boxes[x].alive() {
		r.boxes[x].stopAsked = true
	}
}
