package task_test

import (
	"cmp"
	"fmt"
	"slices"
)

// model is one configuration with its mutations, and the successors of the state that is being looked at.
type model struct {
	cfg         config
	mutations   mutation
	relaunching bool // run() stands in for a launch beyond the bound

	from   *mState
	out    []successor
	broken string // by the step that is being made
	label  bool   // successors carry words, for a trace
}

type successor struct {
	state  mState
	fair   bool
	broken string
	label  string
}

type config struct {
	tasks, attempts, launches, boxes, handlers int
	crashes, losses, failures, users, dups     uint8

	events       bool // messages beyond the run's own chain arrive: the launcher's, and a cancel's wake; they may always be lost
	clientTokens bool // the launcher forgets client tokens
	forgets      bool // the launcher forgets stopped sandboxes
	away         bool // users archive Tasks and return them to backlog
	healthy      bool // a supervisor that is refused ends by itself
	otherCommit  bool // a checkout may be of another commit
	short        bool // no answers are lost to a sandbox, and its work is one step
	lag          bool // a list may not show what was just started
}

func (m *model) emit(s mState, fair bool, label string, args ...any) {
	broken := m.broken
	m.broken = ""
	if broken == "" {
		broken = m.check(&s)
	}
	m.canonical(&s)
	next := successor{state: s, fair: fair, broken: broken}
	if m.label {
		next.label = fmt.Sprintf(label, args...)
	}
	m.out = append(m.out, next)
}

// canonical makes states equal that cannot be told apart.
func (m *model) canonical(s *mState) {
	slices.SortFunc(s.handlers[:], compareHandlers)
	for i := range s.runs {
		r := &s.runs[i]
		if !terminal(r.st) {
			continue
		}
		r.startOver, r.runOver, r.graceOver = false, false, false
		if r.launch == 0 {
			r.stopped = true
		}
		if !r.stopped {
			continue
		}
		r.due, r.tokenOver, r.box = 0, false, 0
		r.n += r.d
		r.d = 0
		calls, writes := false, false
		for _, h := range s.handlers {
			calls = calls || h.pc == pcCall && int(h.target) == i
			writes = writes || (h.pc == pcRecord || h.pc == pcFailed || h.pc == pcStopped) && (int(h.target) == i || int(h.run) == i)
		}
		if !calls {
			r.ctid = false
		}
		if !calls && !writes && !slices.ContainsFunc(r.boxes[:], func(b mBox) bool { return b.alive() }) {
			r.boxes, r.claimed = [maxBoxes]mBox{}, 0
		}
	}
}

func compareHandlers(a, b mHandler) int {
	return cmp.Or(
		cmp.Compare(a.pc, b.pc), cmp.Compare(a.run, b.run), cmp.Compare(a.target, b.target), cmp.Compare(a.launch, b.launch),
		cmp.Compare(a.box, b.box), cmp.Compare(bits(a), bits(b)),
	)
}

func bits(h mHandler) (n int) {
	for i, b := range []bool{h.dueOK, h.admitting, h.cause, h.share, h.ghost} {
		if b {
			n |= 1 << i
		}
	}
	return n
}

// send puts a message into a run's queue; a wake that finds two waiting counts as lost.
func send(r *mRun) {
	if r.n+r.d < 2 {
		r.n++
	}
}

func sendOwn(r *mRun) {
	if r.n+r.d < 3 {
		r.n++
	}
}

// moveDue sets due_at into the future: every other holder of the old value loses its guard.
func moveDue(s *mState, i int) {
	s.runs[i].due = 1
	for k := range s.handlers {
		if s.handlers[k].pc == pcSetDue && int(s.handlers[k].run) == i {
			s.handlers[k].dueOK = false
		}
	}
}

// after goes on behind a handler's look: it may die, reminds, and admits.
func (m *model) after(c mState, k int, label string, args ...any) {
	broken := m.broken
	m.crash(c, k, label, args...)
	m.broken = broken
	i := int(c.handlers[k].run)
	r := &c.runs[i]
	if r.needsLook() && r.due == 0 && !m.is(mNoNextMessage) {
		if m.is(mDueBeforeSend) {
			moveDue(&c, i)
			c.handlers[k].pc = pcSendLate
		} else {
			c.handlers[k].pc, c.handlers[k].dueOK = pcSetDue, true
		}
		m.emit(c, true, label+"; reminds", args...)
		return
	}
	m.admit(c, k, label, args...)
}

func (m *model) admit(c mState, k int, label string, args ...any) {
	j := slices.IndexFunc(c.runs[:], func(r mRun) bool { return r.st == stPending })
	if j < 0 || !slotFree(&c) || m.is(mNoAdmission) || m.is(mAdmitOwnOnly) && j != int(c.handlers[k].run) {
		m.finish(c, k, label, args...)
		return
	}
	send(&c.runs[j])
	c.handlers[k].pc, c.handlers[k].target = pcAdmit, uint8(j)
	m.emit(c, true, label+"; will admit", args...)
}

func slotFree(s *mState) bool {
	return !slices.ContainsFunc(s.runs[:], func(r mRun) bool { return r.slot })
}

func (m *model) crash(c mState, k int, label string, args ...any) {
	if c.crashes == 0 {
		return
	}
	c.crashes--
	if c.handlers[k].share {
		c.handlers[1-k].share = false
	}
	c.handlers[k] = mHandler{}
	m.emit(c, false, label+"; dies", args...)
}

// endCall goes on behind a call: in an admission the handler has reminded already.
func (m *model) endCall(c mState, k int, label string, args ...any) {
	c.handlers[k].box = 0
	if c.handlers[k].admitting {
		m.finish(c, k, label, args...)
		return
	}
	m.after(c, k, label, args...)
}

// finish deletes the handler's message.
func (m *model) finish(s mState, k int, label string, args ...any) {
	h := s.handlers[k]
	s.handlers[k] = mHandler{}
	if !h.ghost {
		if s.runs[h.run].n == 0 {
			panic("a message was deleted that is not there: " + label)
		}
		s.runs[h.run].n--
	}
	if h.share {
		s.handlers[1-k].share, s.handlers[1-k].ghost = false, true
	}
	m.emit(s, true, label+"; done", args...)
}

func (m *model) successors(s *mState) []successor {
	m.out, m.from = m.out[:0], s
	m.usersAct(s)
	m.timePasses(s)
	for i := range s.runs {
		if s.runs[i].st != stNone {
			m.boxesAct(s, i)
		}
		m.deliver(s, i)
	}
	for k := range s.handlers {
		h := s.handlers[k]
		if h.pc == pcIdle {
			continue
		}
		m.handler(s, k)
		if s.crashes > 0 {
			c := *s
			if h.pc == pcSetDue {
				sendOwn(&c.runs[h.run])
			}
			m.crash(c, k, "h%d "+pcNames[h.pc], int(h.run))
		}
	}
	return m.out
}

// deliver hands a waiting message to a free handler, or one that is being handled to a second one.
func (m *model) deliver(s *mState, i int) {
	if s.runs[i].n == 0 {
		return
	}
	free, busy, held, share := -1, 0, uint8(0), -1
	for k, h := range s.handlers {
		switch {
		case h.pc == pcIdle:
			free = k
			continue
		case int(h.run) == i && !h.ghost:
			held++
			share = k
		}
		busy++
	}
	if busy >= m.cfg.handlers {
		return
	}
	if s.runs[i].n > held {
		c := *s
		c.handlers[free] = mHandler{pc: pcAct, run: uint8(i)}
		m.emit(c, true, "a message of r%d", i)
	}
	if share >= 0 && s.dups > 0 {
		c := *s
		c.dups--
		c.handlers[free] = mHandler{pc: pcAct, run: uint8(i), share: true}
		c.handlers[share].share = true
		m.emit(c, false, "a message of r%d once more", i)
	}
}

// call is RunTask: a repeat of a launch answers the same sandbox as long as the launcher remembers its client token.
func (m *model) call(s *mState, k, j int) {
	h := s.handlers[k]
	r := &s.runs[j]
	remembers := (h.launch != r.launch || !r.ctid) && !m.is(mNoClientToken)
	same, empty := -1, -1
	for x := m.cfg.boxes - 1; x >= 0; x-- {
		switch b := &r.boxes[x]; {
		case b.st == boxFree:
			empty = x
		case b.launch == h.launch && remembers:
			same = x
		}
	}
	lost := func(c mState, label string) {
		if c.losses == 0 {
			return
		}
		c.losses--
		c.handlers[k].box = 0
		m.endCall(c, k, label, j)
	}
	answer := func(c mState, x int, label string) {
		lost(c, label+", the answer is lost")
		c.handlers[k].pc, c.handlers[k].box = pcRecord, uint8(x+1)
		m.emit(c, true, label, j)
	}
	if same >= 0 {
		answer(*s, same, "the launcher answers the same sandbox of r%d")
		return
	}
	if empty >= 0 {
		c := *s
		c.runs[j].boxes[empty] = mBox{launch: h.launch, st: boxStarted, listed: !m.cfg.lag}
		answer(c, empty, "the launcher starts a sandbox of r%d")
	}
	if s.failures > 0 {
		c := *s
		c.failures--
		c.handlers[k].pc = pcFailed
		m.emit(c, false, "the launcher has no capacity for r%d", j)
	}
	if empty < 0 {
		m.endCall(*s, k, "the launcher throttles r%d", j)
	} else {
		lost(*s, "the call for r%d is lost")
	}
}
