//go:build attack && linux && (amd64 || arm64)

package netlock

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"golang.org/x/sys/unix"
)

// attackRoles are the roles that only ci.sh needs.
func attackRoles() map[string]func() int { return map[string]func() int{"boot": bootRole} }

// bootRole is the first process of a virtual machine whose kernel is looked at:
// it runs the attacks in each setting of Yama and capabilities and turns the
// machine off. ci/kernel510.sh reads what it prints.
func bootRole() int {
	fmt.Println("boot:", errors.Join(
		os.MkdirAll("/proc", 0o755), unix.Mount("proc", "/proc", "proc", 0, ""),
		os.MkdirAll("/dev", 0o755), unix.Mount("dev", "/dev", "devtmpfs", 0, ""),
		os.MkdirAll("/tmp", 0o777), unix.Mount("tmp", "/tmp", "tmpfs", 0, "mode=1777"),
		loopbackUp(),
	))
	const (
		attacks   = "^(TestAttackMatrix|TestAttackRaces|TestSelfTest)$"
		matrix    = "^(TestAttackMatrix|TestSelfTest)$/^(plain|listen)$"
		closed    = "^TestAttackClosed$"
		refused   = "^TestAttackRefused$"
		all       = "ffffffffffffffff"
		setuidgid = "c0"
	)
	failed := 0
	for _, run := range []struct{ name, yama, keep, uid, tests string }{
		{"root without SYS_PTRACE, Yama 1", "1", setuidgid, "0", attacks},
		{"root, Yama 1", "1", all, "0", matrix},
		{"root with SYS_PTRACE, Yama 2", "2", all, "0", matrix},
		{"root without SYS_PTRACE, Yama 2: closed", "2", setuidgid, "0", closed},
		{"ordinary user, no Landlock: refused", "1", all, "1000", refused},
	} {
		fmt.Println("=== SETTING", run.name)
		if err := os.WriteFile("/proc/sys/kernel/yama/ptrace_scope", []byte(run.yama), 0o644); err != nil {
			fmt.Println(err)
			failed++
		}
		c := exec.Command("/init", "-test.v", "-test.run", run.tests)
		c.Env = []string{
			"NETLOCK_ATTACK=/attack", "NETLOCK_RACE=" + os.Getenv("NETLOCK_RACE"), "TMPDIR=/tmp", roleEnv + "=become",
			"NETLOCK_TEST_ARGS=" + strings.Join([]string{run.keep, run.uid, "/init", "-test.v", "-test.run", run.tests}, " "),
		}
		c.Stdout, c.Stderr = os.Stdout, os.Stderr
		if err := c.Run(); err != nil {
			fmt.Println("FAIL", run.name, err)
			failed++
		}
	}
	fmt.Println("=== VM failed settings:", failed)
	unix.Sync()
	_ = unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF)
	return failed
}

func loopbackUp() error {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(s)
	ifr, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	ifr.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(s, unix.SIOCSIFFLAGS, ifr)
}
