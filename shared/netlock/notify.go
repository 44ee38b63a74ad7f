//go:build linux && (amd64 || arm64)

package netlock

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The kernel's structures of the listener (seccomp(2), SECCOMP_IOCTL_NOTIF_*).
type notification struct {
	ID         uint64
	PID, Flags uint32 // PID is a thread
	Nr         int32
	Arch       uint32
	IP         uint64
	Args       [6]uint64
}

type response struct {
	ID    uint64
	Val   int64
	Error int32
	Flags uint32
}

type addFD struct {
	ID                              uint64
	Flags, SrcFD, NewFD, NewFDFlags uint32
}

const (
	maxWorkers = 32              // calls answered at a time; more wait: the command can stall only itself
	maxConnect = 5 * time.Second // a connect that the other side leaves waiting
)

// lock answers the calls of one command.
type lock struct {
	policy Policy
	firm   bool // the kernel keeps signals from ending a received call
	fd     int  // the listener
	stopFD int  // an eventfd that ends serve
	events *recorder

	queue    chan *notification // calls that may block
	workers  atomic.Int32
	running  sync.WaitGroup
	turns    *turns
	sockets  *sockets
	stopping atomic.Bool
	sendFD   atomic.Bool // the kernel places a descriptor and answers in one step (5.14)
}

// newLock serves the listener fd, which it closes in the end and on error.
func newLock(p Policy, fd int, firm bool, sink func(Event)) (*lock, error) {
	if sink == nil {
		sink = func(Event) {}
	}
	stopFD, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
	if err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("netlock: %w", err)
	}
	// A kernel that can place descriptors answers that it knows no such call.
	if err := control(fd, unix.SECCOMP_IOCTL_NOTIF_ADDFD, unsafe.Pointer(&addFD{SrcFD: uint32(stopFD)})); !errors.Is(err, unix.ENOENT) {
		unix.Close(fd)
		unix.Close(stopFD)
		return nil, fmt.Errorf("%w: SECCOMP_IOCTL_NOTIF_ADDFD (Linux 5.9): %w", ErrUnsupported, err)
	}
	// Linux 6.6: wakes the other side on the same core. Without it the lock is only slower.
	_, _, _ = unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SECCOMP_IOCTL_NOTIF_SET_FLAGS, unix.SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP)
	l := &lock{
		policy: p, firm: firm, fd: fd, stopFD: stopFD, events: newRecorder(sink),
		queue: make(chan *notification), turns: newTurns(), sockets: newSockets(),
	}
	l.sendFD.Store(true)
	if p.locksPaths() && p.UID == 0 && landlockVersion() < landlockSignals {
		l.note("this kernel's Landlock does not keep the command from killing the supervisor; the command then has no network")
	}
	up := make(chan error)
	l.running.Add(1)
	go l.serve(up)
	if err := <-up; err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

// close ends the lock: calls that were received are answered, all later ones
// get ENOSYS from the kernel.
func (l *lock) close() {
	if !l.stopping.CompareAndSwap(false, true) {
		return
	}
	one := [8]byte{1}
	_, _ = unix.Write(l.stopFD, one[:]) // an eventfd of value 0 takes it
	l.running.Wait()
	unix.Close(l.fd)
	unix.Close(l.stopFD)
	l.sockets.close()
	l.events.close()
}

// serve receives calls. It answers those itself that cannot block.
func (l *lock) serve(up chan<- error) {
	defer l.running.Done()
	defer close(l.queue)
	err := l.enter()
	up <- err
	if err != nil {
		return
	}
	for {
		n, ok := l.receive()
		if !ok {
			return
		}
		if n.Nr == unix.SYS_SOCKET && !l.turns.busy(n.PID) {
			l.answer(n)
			continue
		}
		select {
		case l.queue <- n:
			continue
		default:
		}
		if l.workers.Load() < maxWorkers {
			l.workers.Add(1)
			l.running.Add(1)
			go l.work()
		}
		l.queue <- n
	}
}

// enter makes the goroutine's thread act as the command, where that has another user.
func (l *lock) enter() error {
	runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
	if l.policy.UID == 0 {
		return nil
	}
	return become(l.policy.UID, l.policy.GID)
}

func (l *lock) work() {
	defer l.running.Done()
	if err := l.enter(); err != nil {
		// The first thread could and this one cannot: answer what waits for it, with a refusal.
		l.note(err.Error())
		for n := range l.queue {
			l.reply(n, result{errno: unix.EACCES})
		}
		return
	}
	for n := range l.queue {
		l.answer(n)
	}
}

// receive waits for the next call. It ends when the lock is closed or the last
// process under the filter is gone.
func (l *lock) receive() (*notification, bool) {
	for {
		fds := []unix.PollFd{{Fd: int32(l.fd), Events: unix.POLLIN}, {Fd: int32(l.stopFD), Events: unix.POLLIN}}
		if _, err := unix.Poll(fds, -1); err != nil && !errors.Is(err, unix.EINTR) {
			return nil, false
		}
		switch {
		case fds[1].Revents != 0:
			return nil, false
		case fds[0].Revents&unix.POLLIN != 0:
			n := new(notification)
			if control(l.fd, unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(n)) == nil {
				return n, true
			} // else a signal took the caller away before we got the call
		case fds[0].Revents != 0:
			return nil, false
		}
	}
}

// result is the answer to a call.
type result struct {
	val   int64
	errno unix.Errno
	cont  bool   // the kernel carries the call out as the command made it
	sent  bool   // the kernel already has the answer
	inode uint64 // the socket that was changed
	to    string // the address it was given, if any
}

// answer decides and replies. Whatever goes wrong on the way is a refusal.
func (l *lock) answer(n *notification) {
	defer l.turns.take(n.PID)()
	if !l.firm && !l.waiting(n) {
		return // ended by a signal while it waited for its turn: the call was made again, and may have a result to hear
	}
	if kept, ok := l.turns.recall(n); ok {
		if l.repeats(n, kept) {
			if l.reply(n, kept) && l.firm {
				l.turns.forget(n.PID)
			}
			return
		}
		if !l.waiting(n) {
			return // ended by another signal: it will come again
		}
	}
	l.turns.forget(n.PID)
	r := l.decide(n)
	delivered := r.sent || l.reply(n, r)
	effect := r.inode != 0 && (r.errno == 0 || r.errno == unix.EINPROGRESS)
	// Without firm a reply can be taken and lost all the same, when a signal is
	// already on its way. A socket cannot be given twice: there the descriptor is lost.
	if effect && (!delivered || !l.firm && n.Nr != unix.SYS_SOCKET) {
		l.turns.keep(n, r)
	}
}

// repeats tells whether a call that has the arguments of an earlier one is the
// same call: also the socket and the address behind them are the same.
func (l *lock) repeats(n *notification, kept result) bool {
	if l.inode(n, kept.socketFD(n)) != kept.inode {
		return false
	}
	if kept.to == "" {
		return true
	}
	a, e := l.readAddress(n, "connect")
	return e == 0 && a.String() == kept.to
}

func (l *lock) decide(n *notification) (r result) {
	defer func() {
		if e := recover(); e != nil {
			l.note(fmt.Sprintf("call %d refused after a fault: %v", n.Nr, e))
			r = result{errno: unix.EACCES}
		}
	}()
	switch {
	case l.stopping.Load():
		return result{errno: unix.EACCES}
	case n.Nr == unix.SYS_SOCKET:
		return l.socket(n)
	case n.Nr == unix.SYS_CONNECT:
		return l.connect(n)
	case n.Nr == unix.SYS_BIND:
		return l.bind(n)
	case n.Nr == unix.SYS_LISTEN:
		return l.listen(n)
	}
	return result{errno: unix.EACCES}
}

// reply tells whether the caller was still there to take the answer.
func (l *lock) reply(n *notification, r result) bool {
	resp := response{ID: n.ID, Val: r.val, Error: -int32(r.errno)}
	if r.cont {
		resp.Flags = unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE
	}
	return control(l.fd, unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&resp)) == nil
}

// waiting tells whether the call still waits, so that its PID still is its thread.
func (l *lock) waiting(n *notification) bool {
	return control(l.fd, unix.SECCOMP_IOCTL_NOTIF_ID_VALID, unsafe.Pointer(&n.ID)) == nil
}

func control(fd int, op uintptr, p unsafe.Pointer) error {
	if _, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), op, uintptr(p)); e != 0 {
		return e
	}
	return nil
}

func (l *lock) record(n *notification, v Verdict, call, target string, e unix.Errno) {
	l.events.add(Event{Verdict: v, Call: call, Target: target, PID: int(n.PID), Errno: int(e)}, func() string {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", n.PID))
		if err != nil {
			return ""
		}
		return printable(strings.TrimSuffix(string(b), "\n"))
	})
}

func (l *lock) note(s string) {
	l.events.add(Event{Verdict: VerdictNote, Target: s}, func() string { return "" })
}

// turns orders the calls of one thread. Before Linux 5.19 a signal ends a call
// that we have received, and the thread makes it again: the second then waits
// for the first and gets its result, so that a signal costs no connection.
type turns struct {
	mu     sync.Mutex
	active map[uint32]chan struct{}
	kept   map[uint32]unheard
}

// unheard is a result that was not, or perhaps not, delivered.
type unheard struct {
	result
	nr   int32
	args [6]uint64
}

const maxKept = 1024

func newTurns() *turns {
	return &turns{active: map[uint32]chan struct{}{}, kept: map[uint32]unheard{}}
}

func (t *turns) busy(pid uint32) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.active[pid] != nil
}

// take waits for the thread's earlier call and returns what ends the turn.
func (t *turns) take(pid uint32) func() {
	mine := make(chan struct{})
	for {
		t.mu.Lock()
		other := t.active[pid]
		if other == nil {
			t.active[pid] = mine
			t.mu.Unlock()
			return func() {
				t.mu.Lock()
				delete(t.active, pid)
				t.mu.Unlock()
				close(mine)
			}
		}
		t.mu.Unlock()
		<-other
	}
}

// recall returns the kept result of a call with the same arguments.
func (t *turns) recall(n *notification) (result, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	u, ok := t.kept[n.PID]
	return u.result, ok && u.nr == n.Nr && u.args == n.Args
}

func (t *turns) forget(pid uint32) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.kept, pid)
}

func (t *turns) keep(n *notification, r result) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.kept) >= maxKept {
		clear(t.kept) // threads that never came back
	}
	t.kept[n.PID] = unheard{r, n.Nr, n.Args}
}

// socketFD is where the command has the socket of a kept result.
func (r result) socketFD(n *notification) int {
	if n.Nr == unix.SYS_SOCKET {
		return int(r.val)
	}
	return int(int32(n.Args[0]))
}
