package task_test

// check returns the invariant that a state breaks, empty for none.
func (m *model) check(s *mState) string {
	slots := 0
	for ti := range m.cfg.tasks {
		if broken := m.checkTask(s, ti); broken != "" {
			return broken
		}
	}
	for i := range s.runs {
		if s.runs[i].slot {
			slots++
		}
		if broken := m.checkRun(s, i); broken != "" {
			return broken
		}
	}
	if slots > 1 {
		return "S0 more slots than there are"
	}
	return ""
}

func (m *model) checkTask(s *mState, ti int) string {
	live := 0
	for a := range m.cfg.attempts {
		i := ti*m.cfg.attempts + a
		r := &s.runs[i]
		switch named := int(s.tasks[ti].live) == i+1; {
		case r.st != stNone && !terminal(r.st):
			live++
			if !named {
				return "T1 a live run is not its Task's live run"
			}
		case named:
			return "T1 the Task's live run is terminal"
		}
	}
	if live > 1 {
		return "I1 two live runs of a Task"
	}
	return ""
}

func (m *model) checkRun(s *mState, i int) string {
	r := &s.runs[i]
	if broken := m.checkBoxes(r); broken != "" {
		return broken
	}
	switch {
	case r.slot && r.stopped:
		return "S2 a stopped run holds a slot"
	case r.slot && r.st <= stPending:
		return "S3 a run holds a slot that was not launched"
	case r.cancelled && r.st != stCancelling && r.st != stCancelled:
		return "C1 a cancelled run is " + string(stateCodes[r.st])
	case r.needsLook() && !m.chained(s, i):
		return "I4 no message is left for a run that needs a look"
	}
	if m.from != nil {
		before := &m.from.runs[i]
		if terminal(before.st) && (r.st != before.st || r.hasResult != before.hasResult || r.commit != before.commit) {
			return "I3 a terminal run changed"
		}
	}
	return ""
}

func (m *model) checkBoxes(r *mRun) string {
	var claims, gone [8]int
	agents := 0
	for x := range r.boxes {
		b := &r.boxes[x]
		if b.claimed {
			claims[b.launch]++
		}
		if b.went {
			gone[b.launch]++
		}
		if !b.alive() {
			continue
		}
		if b.st == boxPrepared || b.st == boxUploaded {
			agents++
		}
		if !r.slot && b.st >= boxClaimed && b.claimed {
			return "S1 a claimed sandbox runs without a slot"
		}
		if !r.slot && !m.cfg.healthy {
			return "S1' an unclaimed sandbox runs without a slot"
		}
	}
	for l := range claims {
		if claims[l] > 1 {
			return "I2 two instances claimed a launch"
		}
		if gone[l] > 1 {
			return "I2 two instances of a launch were told to go"
		}
	}
	if agents > 1 {
		return "I2 two agents of a run at once"
	}
	return ""
}

// chained says that a message of the run waits, or is certain to be sent.
func (m *model) chained(s *mState, i int) bool {
	r := &s.runs[i]
	if r.n+r.d > 0 || s.apiPC == 2 && int(s.apiTask)*m.cfg.attempts+int(s.tasks[s.apiTask].attempts)-1 == i {
		return true
	}
	for _, h := range s.handlers {
		if int(h.run) == i && (h.pc == pcSetDue || h.pc == pcSendLate && s.crashes == 0) {
			return true
		}
	}
	return false
}

// over says that everything came to its end: that has to stay possible by fair steps alone.
func (m *model) over(s *mState) bool {
	for i := range s.runs {
		r := &s.runs[i]
		if r.needsLook() || r.slot {
			return false
		}
		for x := range r.boxes {
			if r.boxes[x].alive() {
				return false
			}
		}
	}
	for i := range s.tasks {
		if s.tasks[i].live != 0 {
			return false
		}
	}
	return true
}

// verdict is what an exploration found.
type verdict struct {
	states   int
	complete bool
	broken   string
	trace    []string
}

// explore looks at every state that can be reached, breadth first, so a trace is a shortest one. most bounds it.
func (m *model) explore(most int) (v verdict) {
	first := mState{crashes: m.cfg.crashes, losses: m.cfg.losses, failures: m.cfg.failures, users: m.cfg.users, dups: m.cfg.dups}
	seen := map[mState]int32{first: 0}
	states, parents := []mState{first}, []int32{-1}
	var edges []int32
	var edgesFrom []int
	for n := 0; n < len(states) && len(states) <= most; n++ {
		s := states[n]
		edgesFrom = append(edgesFrom, len(edges))
		for _, next := range m.successors(&s) {
			if next.broken != "" {
				v.broken, v.states = next.broken, len(states)
				v.trace = m.trace(states, parents, int32(n), &next.state)
				return v
			}
			id, known := seen[next.state]
			if !known {
				id = int32(len(states))
				seen[next.state] = id
				states, parents = append(states, next.state), append(parents, int32(n))
			}
			if next.fair && id != int32(n) {
				edges = append(edges, id)
			}
		}
	}
	v.states = len(states)
	if v.complete = len(states) <= most; !v.complete {
		return v
	}
	if stuck := m.stuck(states, edges, append(edgesFrom, len(edges))); stuck >= 0 {
		v.broken = "I7 no fair way to settled, stopped and freed: " + states[stuck].String()
		v.trace = m.trace(states, parents, stuck, nil)
	}
	return v
}

// stuck is a state from which no fair steps lead to the end, -1 when there is none.
func (m *model) stuck(states []mState, edges []int32, from []int) int32 {
	back := make([]int32, len(edges))
	at := make([]int, len(states)+1)
	for _, to := range edges {
		at[to+1]++
	}
	for i := range states {
		at[i+1] += at[i]
	}
	fill := append([]int(nil), at...)
	for u := range states {
		for _, to := range edges[from[u]:from[u+1]] {
			back[fill[to]] = int32(u)
			fill[to]++
		}
	}
	good := make([]bool, len(states))
	var queue []int32
	for i := range states {
		if m.over(&states[i]) {
			good[i] = true
			queue = append(queue, int32(i))
		}
	}
	for len(queue) > 0 {
		n := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		for _, u := range back[at[n]:at[n+1]] {
			if !good[u] {
				good[u] = true
				queue = append(queue, u)
			}
		}
	}
	for i, ok := range good {
		if !ok {
			return int32(i)
		}
	}
	return -1
}

// trace tells how a state was reached, by making its steps again with words.
func (m *model) trace(states []mState, parents []int32, n int32, last *mState) (steps []string) {
	m.label = true
	defer func() { m.label = false }()
	word := func(from, to *mState) string {
		s := *from
		for _, next := range m.successors(&s) {
			if next.state == *to {
				return next.label
			}
		}
		return "?"
	}
	if last != nil {
		steps = append(steps, word(&states[n], last))
	}
	for ; parents[n] >= 0; n = parents[n] {
		steps = append([]string{word(&states[parents[n]], &states[n])}, steps...)
	}
	return steps
}
