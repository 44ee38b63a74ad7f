package proctree

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// List reads the table of processes. Those that end meanwhile are left out.
func List() ([]Process, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	var all []Process
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if p, err := Look(pid); err == nil {
			all = append(all, p)
		}
	}
	return all, nil
}

// Look reads one process; GoneError where there is none.
func Look(pid int) (Process, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
		return Process{}, GoneError(pid)
	}
	if err != nil {
		return Process{}, err
	}
	// The name may hold spaces and parentheses; the last parenthesis ends it.
	end := bytes.LastIndexByte(stat, ')')
	fields := strings.Fields(string(stat[end+1:]))
	if end < 0 || len(fields) < 20 {
		return Process{}, fmt.Errorf("process %d: stat is %q", pid, stat)
	}
	p := Process{PID: pid, Start: fields[19], Zombie: fields[0] == "Z" || fields[0] == "X", UID: -1}
	p.PPID, _ = strconv.Atoi(fields[1])
	p.PGID, _ = strconv.Atoi(fields[2])
	p.UID, err = uidOf(pid)
	return p, err
}

// uidOf reads the user from status, since the owner of /proc/PID is root for a process that is not dumpable.
func uidOf(pid int) (int, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return -1, GoneError(pid)
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "Uid:"); ok {
			if fields := strings.Fields(rest); len(fields) > 0 {
				return strconv.Atoi(fields[0])
			}
		}
	}
	return -1, fmt.Errorf("process %d: status has no Uid", pid)
}

// WithEnvironment matches the processes that started with this "NAME=value" in their environment, as far as this user
// may look. A process that cleared its environment is not found.
func WithEnvironment(entry string) Match {
	return func(all []Process) []Process {
		var found []Process
		for _, p := range all {
			env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", p.PID))
			if err != nil {
				continue
			}
			for one := range bytes.SplitSeq(env, []byte{0}) {
				if string(one) == entry {
					found = append(found, p)
					break
				}
			}
		}
		return found
	}
}

// Boot names this start of the machine: PID and Start of an earlier one mean nothing.
func Boot() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(id))
}
