//go:build linux && (amd64 || arm64)

package netlock

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The benchmarks run the same program locked and unlocked, as the same user:
//
//	go test -bench . -run '^$' ./shared/netlock

// side is one side of a comparison.
type side struct {
	name   string
	locked bool
}

// sides are in the order that rounds uses.
var sides = []side{{"unlocked", false}, {"locked", true}}

// program runs argv on a side, in dir, and returns what it printed.
func (s side) program(t testing.TB, p Policy, dir string, env []string, argv0 string, argv ...string) string {
	t.Helper()
	var out bytes.Buffer
	var err error
	if s.locked {
		c := Command(t.Context(), p, argv...)
		c.Args[0], c.Dir, c.Env, c.Stdout, c.Stderr = argv0, dir, env, &out, &out
		err = c.Run()
	} else {
		c := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
		c.Args[0], c.Dir, c.Env, c.Stdout, c.Stderr = argv0, dir, env, &out, &out
		if p.UID != 0 {
			c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(p.UID), Gid: uint32(p.GID)}}
		}
		err = c.Run()
	}
	if err != nil {
		t.Fatalf("%v: %v %s", argv, err, out.String())
	}
	return out.String()
}

// role is program with the test binary, a copy that every user can reach.
func (s side) role(t testing.TB, p Policy, role string, args ...string) string {
	t.Helper()
	return s.program(t, p, "/", []string{roleEnv + "=" + role, "NETLOCK_TEST_ARGS=" + strings.Join(args, " ")}, "role", reachableSelf(t))
}

// reachableSelf copies the test binary to where every user can run it.
func reachableSelf(t testing.TB) string {
	t.Helper()
	dir := sharedDir(t)
	exe, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "program")
	if err := os.WriteFile(path, exe, 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func BenchmarkStart(b *testing.B) {
	allowed, _ := broker(b)
	p := testPolicy(b, allowed)
	for _, s := range sides {
		b.Run(s.name, func(b *testing.B) {
			for b.Loop() {
				s.program(b, p, "/", nil, "true", "/bin/true")
			}
		})
	}
}

func BenchmarkConnect(b *testing.B) {
	allowed, _ := broker(b)
	p := testPolicy(b, allowed)
	for _, s := range sides {
		b.Run(s.name, func(b *testing.B) {
			ns, err := strconv.Atoi(strings.TrimSpace(s.role(b, p, "connect", allowed.String(), fmt.Sprint(max(b.N, 20)))))
			if err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(ns), "median-ns")
		})
	}
}

func BenchmarkExec(b *testing.B) {
	allowed, _ := broker(b)
	p := testPolicy(b, allowed)
	for _, s := range sides {
		b.Run(s.name, func(b *testing.B) { s.role(b, p, "run", fmt.Sprint(b.N), "/bin/true") })
	}
}

func BenchmarkSyscall(b *testing.B) {
	allowed, _ := broker(b)
	p := testPolicy(b, allowed)
	for _, s := range sides {
		for _, call := range []string{"read", "getppid", "ioctl"} {
			b.Run(call+"/"+s.name, func(b *testing.B) { s.role(b, p, "calls", call, fmt.Sprint(b.N)) })
		}
	}
}

func BenchmarkGitStatus(b *testing.B) {
	allowed, _ := broker(b)
	p, dir := testPolicy(b, allowed), gitTree(b)
	if p.locksPaths() {
		p.ReadWrite = append(p.ReadWrite, dir)
	}
	for _, s := range sides {
		b.Run(s.name, func(b *testing.B) {
			s.program(b, p, dir, plainEnv(dir), "sh", "/bin/sh", "-c", fmt.Sprintf("i=0; while [ $i -lt %d ]; do git status --porcelain; i=$((i+1)); done", b.N))
		})
	}
}

func plainEnv(home string) []string {
	return []string{
		"HOME=" + home, "PATH=" + os.Getenv("PATH"), "GOCACHE=" + home + "/cache", "GOPATH=" + home + "/go", "GOFLAGS=", "GOTOOLCHAIN=local", "GOTELEMETRY=off",
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*",
	}
}

// gitTree is a repository of 200 files.
func gitTree(t testing.TB) string {
	t.Helper()
	dir := sharedDir(t)
	for i := range 200 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("f%d", i)), []byte("x\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "x"}} {
		c := exec.Command("git", args...)
		c.Dir = dir
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v %s", err, out)
		}
	}
	return dir
}

func median(d []time.Duration) time.Duration {
	s := slices.Clone(d)
	slices.Sort(s)
	return s[len(s)/2]
}
