// Package proctree looks at the processes of this machine and ends those of one sandbox, also when they left their
// process group and session.
package proctree

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"
)

// Process is one process as observed.
type Process struct {
	PID    int
	PPID   int
	PGID   int
	UID    int    // real user id
	Start  string // with PID this names one process for good: a reused PID has another start
	Zombie bool   // it has ended and waits for its parent to notice
}

// Match chooses processes out of a table of all of them.
type Match func(all []Process) []Process

// Descendants matches everything below root, without root itself. It is complete as long as root is a subreaper and
// lives: an orphan goes to the nearest living subreaper above it, and a session changes nothing about that.
func Descendants(root int) Match {
	return func(all []Process) []Process {
		children := map[int][]Process{}
		for _, p := range all {
			children[p.PPID] = append(children[p.PPID], p)
		}
		var found []Process
		for queue := []int{root}; len(queue) > 0; queue = queue[1:] {
			found = append(found, children[queue[0]]...)
			for _, p := range children[queue[0]] {
				queue = append(queue, p.PID)
			}
		}
		return found
	}
}

// OfUID matches every process with this real user id.
func OfUID(uid int) Match {
	return func(all []Process) []Process {
		var found []Process
		for _, p := range all {
			if p.UID == uid {
				found = append(found, p)
			}
		}
		return found
	}
}

// Any matches what one of several matches.
func Any(matches ...Match) Match {
	return func(all []Process) []Process {
		seen := map[int]bool{}
		var found []Process
		for _, match := range matches {
			for _, p := range match(all) {
				if !seen[p.PID] {
					seen[p.PID] = true
					found = append(found, p)
				}
			}
		}
		return found
	}
}

// Alive lists the matching processes that have not ended.
func Alive(match Match) ([]Process, error) {
	all, err := List()
	if err != nil {
		return nil, err
	}
	var alive []Process
	for _, p := range match(all) {
		if !p.Zombie && p.PID != os.Getpid() {
			alive = append(alive, p)
		}
	}
	return alive, nil
}

// Kill ends every matching process and returns when none is alive, or ctx's error and what is left. Each round stops
// all of them before it kills the first, so that none sees another die and multiplies.
func Kill(ctx context.Context, match Match) error {
	pause := 2 * time.Millisecond
	for {
		alive, err := Alive(match)
		if err != nil {
			return err
		}
		if len(alive) == 0 {
			return nil
		}
		for _, signal := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGKILL} {
			for _, p := range alive {
				Signal(p, signal)
			}
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return fmt.Errorf("%d processes are still alive, one is %d: %w", len(alive), alive[0].PID, context.Cause(ctx))
		case <-timer.C:
		}
		pause = min(pause*2, 100*time.Millisecond)
	}
}

// Signal sends a signal to exactly this process: a reused PID is left alone. A process that has ended is no error.
func Signal(p Process, signal syscall.Signal) {
	// The handle pins the process before its start is compared, where the system has such handles (Linux).
	handle, err := os.FindProcess(p.PID)
	if err != nil {
		return
	}
	defer func() { _ = handle.Release() }()
	if Same(p.PID, p.Start) {
		_ = handle.Signal(signal)
	}
}

// Same says that the process with this PID has this start and has not ended.
func Same(pid int, start string) bool {
	p, err := Look(pid)
	return err == nil && p.Start == start && !p.Zombie
}

// GoneError says that there is no process with this id.
type GoneError int

// Error names the process.
func (e GoneError) Error() string { return "no process " + strconv.Itoa(int(e)) }
