//go:build linux && (amd64 || arm64)

package netlock

import (
	"os"
	"testing"
)

// roleEnv makes the test binary a program of a test instead.
const roleEnv = "NETLOCK_TEST_ROLE"

func TestMain(m *testing.M) {
	Main()
	if len(os.Args) > 1 && os.Args[1] == "lock" {
		os.Exit(RunCLI(os.Args[2:], os.Stdout, os.Stderr))
	}
	if role := os.Getenv(roleEnv); role != "" {
		os.Exit(playRole(role))
	}
	os.Exit(m.Run())
}
