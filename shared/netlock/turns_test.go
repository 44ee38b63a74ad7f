//go:build linux && (amd64 || arm64)

package netlock

import (
	"testing"
	"testing/synctest"

	"golang.org/x/sys/unix"
)

// A thread's repeated call waits for the first and gets its result, after any
// number of signals, until the thread makes another call.
func TestTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		turns := newTurns()
		call := &notification{PID: 7, Nr: unix.SYS_CONNECT, Args: [6]uint64{3, 0x1000, 16}}
		other := &notification{PID: 7, Nr: unix.SYS_CONNECT, Args: [6]uint64{4, 0x1000, 16}}
		end := turns.take(7)
		if !turns.busy(7) || turns.busy(8) {
			t.Error("whose turn is it?")
		}
		turns.take(8)() // another thread does not wait
		var order []string
		go func() {
			defer turns.take(7)()
			order = append(order, "second")
		}()
		synctest.Wait()
		order = append(order, "first")
		turns.keep(call, result{inode: 5})
		end()
		synctest.Wait()
		if len(order) != 2 || order[0] != "first" || turns.busy(7) {
			t.Errorf("%v", order)
		}
		for range 3 {
			if r, ok := turns.recall(call); !ok || r.inode != 5 {
				t.Errorf("%+v %t", r, ok)
			}
		}
		if _, ok := turns.recall(other); ok {
			t.Error("another call got the result")
		}
		turns.forget(7)
		if _, ok := turns.recall(call); ok {
			t.Error("a forgotten result")
		}
		for i := range uint32(2 * maxKept) {
			turns.keep(&notification{PID: i}, result{})
		}
		if len(turns.kept) > maxKept {
			t.Errorf("%d results kept", len(turns.kept))
		}
	})
}

// A call that a signal ended long ago and whose turn comes late takes nothing from the calls after it.
func TestAnEndedCallChangesNothing(t *testing.T) {
	t.Parallel()
	l := &lock{fd: -1, turns: newTurns()} // no call waits at a listener that is not there
	connect := &notification{PID: 7, Nr: unix.SYS_CONNECT, Args: [6]uint64{3, 0x1000, 16}}
	l.turns.keep(connect, result{inode: 5})
	for _, late := range []*notification{
		{PID: 7, Nr: unix.SYS_SOCKET, Args: [6]uint64{unix.AF_INET, unix.SOCK_STREAM}},
		{PID: 7, Nr: unix.SYS_CONNECT, Args: [6]uint64{4, 0x1000, 16}},
		connect,
	} {
		l.answer(late)
		if r, ok := l.turns.recall(connect); !ok || r.inode != 5 {
			t.Fatalf("call %d %v took the result: %+v", late.Nr, late.Args, r)
		}
	}
}

// An address is decoded as the kernel does.
func TestParseAddress(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		b    []byte
		want string
		e    unix.Errno
	}{
		{inet4(at("127.0.0.1", 80)), "127.0.0.1:80", 0},
		{inet4(at("127.0.0.1", 80))[:15], "", unix.EINVAL},
		{inet6(at("::1", 80)), "[::1]:80", 0},
		{inet6(at("::1", 80))[:24], "[::1]:80", 0},
		{inet6(at("::1", 80))[:23], "", unix.EINVAL},
		{inet6(at("::ffff:10.0.0.1", 80)), "10.0.0.1:80", 0},
		{unixAddress("/run/x"), "unix:/run/x", 0},
		{unixAddress("@x"), "unix:@x", 0},
		{append(unixAddress("/run/x"), "/../y"...), "unix:/run/x", 0},
		{[]byte{0, 0}, "address family 0", 0},
		{[]byte{1}, "", unix.EINVAL},
		{nil, "", unix.EINVAL},
	} {
		a, e := parseAddress(c.b)
		if e != c.e || e == 0 && a.String() != c.want {
			t.Errorf("%x: %q %v, want %q %v", c.b, a, e, c.want, c.e)
		}
	}
}
