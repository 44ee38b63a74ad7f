package executor_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"companyos/shared/executor"
	"companyos/shared/task"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestReloadKeepsTheLastGoodFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "executors.yaml")
	write(t, path, agent())
	s, err := executor.Open(t.Context(), executor.FromFile(path), executor.Options{})
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte(agent()))
	first := s.Registry()
	if first.Revision() != hex.EncodeToString(sum[:]) || s.Failure() != nil {
		t.Errorf("revision %s, failure %v", first.Revision(), s.Failure())
	}

	for _, step := range []struct {
		name    string
		do      func()
		changed bool
		failure string
		ids     string
	}{
		{"nothing changed", func() {}, false, "", "a"},
		{"broken", func() { write(t, path, agent("modle: x")) }, false, `executors.yaml:4: unknown key "modle"`, "a"},
		{"still broken", func() {}, false, `unknown key "modle"`, "a"},
		{"repaired as it was", func() { write(t, path, agent()) }, false, "", "a"},
		{"one more", func() { write(t, path, agent()+"  - {id: b, harness: fixture}\n") }, true, "", "a b"},
		{"gone", func() { _ = os.Remove(path) }, false, "does not exist", "a b"},
		{"too large", func() { write(t, path, "#"+strings.Repeat("x", 2*executor.MaxFileSize)) }, false, "larger than 1 MiB", "a b"},
		{"back", func() { write(t, path, agent()) }, true, "", "a"},
	} {
		step.do()
		changed, err := s.Reload(t.Context())
		failed := err != nil && strings.Contains(err.Error(), step.failure)
		if changed != step.changed || failed != (step.failure != "") || fmt.Sprint(s.Failure()) != fmt.Sprint(err) {
			t.Errorf("%s: changed %t, %v, failure %v", step.name, changed, err, s.Failure())
		}
		if got := ids(s.Registry()); got != step.ids {
			t.Errorf("%s: executors %q, want %q", step.name, got, step.ids)
		}
	}
	if ids(first) != "a" {
		t.Error("a registry that was taken earlier has changed")
	}
}

func TestOpenFails(t *testing.T) {
	t.Parallel()
	_, err := executor.Open(t.Context(), executor.FromFile(filepath.Join(t.TempDir(), "none.yaml")), executor.Options{})
	if err == nil || !strings.Contains(err.Error(), "COMPANY_EXECUTORS") {
		t.Errorf("missing file: %v", err)
	}
	away := errors.New("bucket is away")
	_, err = executor.Open(t.Context(), func(context.Context) ([]byte, error) { return nil, away }, executor.Options{})
	if !errors.Is(err, away) {
		t.Errorf("failed fetch: %v", err)
	}
	_, err = executor.Open(t.Context(), func(context.Context) ([]byte, error) { return []byte("x"), nil }, executor.Options{})
	if _, ok := errors.AsType[executor.Problems](err); !ok {
		t.Errorf("broken file: %v", err)
	}
}

func TestStaticSource(t *testing.T) {
	t.Parallel()
	s := executor.Static(registry(t))
	s.Replace(s.Registry().Without(task.ExecutorAgent, "local-agent"))
	changed, err := s.Reload(t.Context())
	if _, found := s.Registry().Agent("local-agent"); changed || err != nil || found {
		t.Errorf("changed %t, %v, found %t", changed, err, found)
	}
}

// TestReloadWhileRead is for the race detector; each reader sees one of the two files whole.
func TestReloadWhileRead(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	n := 0
	s, err := executor.Open(t.Context(), func(context.Context) ([]byte, error) {
		mu.Lock()
		defer mu.Unlock()
		if n++; n%2 == 0 {
			return []byte(agent() + "  - {id: b, harness: fixture}\n"), nil
		}
		return []byte(agent()), nil
	}, executor.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 50 {
				if _, err := s.Reload(t.Context()); err != nil {
					t.Error(err)
				}
				if got := ids(s.Registry()); got != "a" && got != "a b" {
					t.Errorf("got %q", got)
				}
			}
		})
	}
	wg.Wait()
}
