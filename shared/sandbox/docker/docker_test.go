//go:build docker && linux

package docker_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"companyos/shared/sandbox"
	"companyos/shared/sandbox/docker"
	"companyos/shared/sandbox/sandboxtest"
)

// The tests run in ci.sh, which has an engine and an image.

const grace = 6 * time.Second

func launcher(t *testing.T, prefix string) *docker.Launcher {
	t.Helper()
	l, err := docker.New(docker.Config{Image: os.Getenv("COMPANY_TEST_IMAGE"), Grace: grace, Prefix: prefix})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestConformance(t *testing.T) {
	t.Parallel()
	const prefix = "company-test-"
	t.Cleanup(func() {
		if err := launcher(t, prefix).Prune(context.Background(), time.Now().Add(time.Hour)); err != nil {
			t.Log(err)
		}
	})
	sandboxtest.Run(t, sandboxtest.Bundle{
		New: func(t *testing.T) sandbox.Sandboxes {
			t.Helper()
			return launcher(t, prefix)
		},
		Kill: func(t *testing.T, handle string) {
			t.Helper()
			if out, err := exec.CommandContext(t.Context(), "docker", "kill", "-s", "KILL", handle).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
		},
		Alive: alive,
		Addr:  "127.0.0.1:0",
		Grace: grace + 2*time.Second,
	})
}

// alive looks at the host's processes, which the containers' are among.
func alive(t *testing.T, word string) int {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, file := range files {
		if text, err := os.ReadFile(file); err == nil && strings.Contains(string(text), word) {
			n++
		}
	}
	return n
}
