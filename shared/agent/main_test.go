package agent_test

import (
	"os"
	"path/filepath"
	"testing"

	"companyos/shared/agent"
)

// TestMain lets the test's binary be the supervisor. It also makes the environment hostile: what git would read from it
// breaks every command that does.
func TestMain(m *testing.M) {
	agent.Reenter()
	os.Exit(hostile(m))
}

func hostile(m *testing.M) int {
	home, err := os.MkdirTemp("", "company-hostile-")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(home) }()
	config := filepath.Join(home, ".gitconfig")
	text := "[url \"http://127.0.0.1:1/nowhere/\"]\n\tinsteadOf = http://\n[core]\n\tfsmonitor = /bin/false\n[init]\n\ttemplateDir = /nonexistent\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		panic(err)
	}
	for name, value := range map[string]string{
		"HOME": home, "GIT_CONFIG_GLOBAL": config, "GIT_DIR": "/nonexistent", "GIT_WORK_TREE": "/nonexistent", "GIT_INDEX_FILE": "/nonexistent",
		"GIT_SSH_COMMAND": "/bin/false", "GIT_PROXY_COMMAND": "/bin/false", "GIT_EXTERNAL_DIFF": "/bin/false", "GIT_OBJECT_DIRECTORY": "/nonexistent",
	} {
		if err := os.Setenv(name, value); err != nil {
			panic(err)
		}
	}
	return m.Run()
}
