package proctree

import (
	"bytes"
	"fmt"
	"strings"

	"golang.org/x/sys/unix"
)

const stateZombie = 5 // SZOMB of <sys/proc.h>

// List reads the table of processes.
func List() ([]Process, error) {
	table, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	if err != nil {
		return nil, err
	}
	all := make([]Process, 0, len(table))
	for i := range table {
		all = append(all, convert(&table[i]))
	}
	return all, nil
}

// Look reads one process; GoneError where there is none.
func Look(pid int) (Process, error) {
	k, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil || int(k.Proc.P_pid) != pid {
		return Process{}, GoneError(pid)
	}
	return convert(k), nil
}

func convert(k *unix.KinfoProc) Process {
	start := k.Proc.P_starttime
	return Process{
		PID: int(k.Proc.P_pid), PPID: int(k.Eproc.Ppid), PGID: int(k.Eproc.Pgid), UID: int(k.Eproc.Pcred.P_ruid),
		Start: fmt.Sprintf("%d.%06d", start.Sec, start.Usec), Zombie: k.Proc.P_stat == stateZombie,
	}
}

// WithEnvironment matches the processes of this user that started with this "NAME=value" in their environment. A process
// that cleared its environment is not found.
func WithEnvironment(entry string) Match {
	return func(all []Process) []Process {
		var found []Process
		for _, p := range all {
			// The arguments and then the environment, as strings that end with NUL.
			image, err := unix.SysctlRaw("kern.procargs2", p.PID)
			if err == nil && bytes.Contains(image, []byte("\x00"+strings.TrimSuffix(entry, "\x00")+"\x00")) {
				found = append(found, p)
			}
		}
		return found
	}
}

// Boot is empty: a start is a time of day here and needs no more.
func Boot() string { return "" }
