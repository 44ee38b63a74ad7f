package local_test

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"companyos/shared/task"
	"companyos/shared/wire"
)

// TestLargePatch: changes of 20 MiB leave the sandbox, and whoever asks for them is sent to the store, without a token.
// Applied to the checkout they are what the agent had; the next attempt begins with them.
func TestLargePatch(t *testing.T) {
	t.Parallel()
	p := newProgram(t, `{turns: [
      {steps: [{run: [sh, -c, "head -c 20971520 /dev/urandom > big"]}, {run: [sha256sum, big]}, {answer_output: true}]},
      {steps: [{run: [sha256sum, big]}, {answer_output: true}]}]}`)
	accepted := p.accepted()
	started := must(p.client.StartRun(t.Context(), accepted.ID, wire.TaskRunCreate{Attempt: 1}))(t)
	settled := p.settled(accepted.ID)
	if settled.Status != task.StatusInReview {
		t.Fatalf("status %s, result %+v", settled.Status, settled.Result)
	}
	run := must(p.client.Run(t.Context(), started.RunID))(t)
	if run.Patch == nil || run.Patch.Size < 20<<20 {
		t.Fatalf("patch %+v", run.Patch)
	}

	get := func(url, token string) (*http.Response, []byte) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		if token != "" {
			req.Header.Set("Authorization", "Bearer "+token)
		}
		res, err := http.DefaultTransport.RoundTrip(req) // follows nothing
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		return res, must(io.ReadAll(res.Body))(t)
	}
	token, _ := p.out.find("export TOKEN=")
	path := "http://" + p.addr + "/company/runs/" + started.RunID + "/patch"
	if res, _ := get(path, ""); res.StatusCode != http.StatusUnauthorized {
		t.Errorf("without a token: %d", res.StatusCode)
	}
	res, body := get(path, token)
	to := res.Header.Get("Location")
	if res.StatusCode != http.StatusTemporaryRedirect || len(body) != 0 || !strings.HasPrefix(to, "http://"+p.addr+"/") {
		t.Fatalf("%d with %d bytes, to %q", res.StatusCode, len(body), to)
	}
	if res, _ := get(strings.Replace(to, "sig=", "sig=0", 1), ""); res.StatusCode < 400 {
		t.Errorf("with another signature: %d", res.StatusCode)
	}
	res, patch := get(to, "")
	if sum := sha256.Sum256(patch); res.StatusCode != http.StatusOK || hex.EncodeToString(sum[:]) != run.Patch.SHA256 || res.Header.Get("X-Content-Type-Options") != "nosniff" {
		t.Fatalf("%d, %d bytes, %v", res.StatusCode, len(patch), res.Header)
	}
	if followed := must(p.client.RunPatch(t.Context(), started.RunID))(t); string(followed) != string(patch) {
		t.Errorf("the client reads another patch, of %d bytes", len(followed))
	}

	clone := filepath.Join(p.folder, "clone")
	for _, args := range [][]string{{"clone", "-q", p.repo.URL, clone}, {"-C", clone, "apply", "--binary", "-"}} {
		cmd := exec.CommandContext(t.Context(), "git", args...)
		cmd.Stdin = strings.NewReader(string(patch))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v: %s", args[0], err, out)
		}
	}
	cmd := exec.CommandContext(t.Context(), "sha256sum", "big")
	cmd.Dir = clone
	if sum := must(cmd.Output())(t); strings.TrimSpace(string(sum)) != settled.Result.Content {
		t.Errorf("applied it is %q, the agent had %q", sum, settled.Result.Content)
	}

	next := must(p.client.StartRun(t.Context(), accepted.ID, wire.TaskRunCreate{Attempt: 2}))(t)
	if again := p.settled(accepted.ID); *again.JobID != next.RunID || again.Result.Content != settled.Result.Content {
		t.Errorf("the next attempt begins with %+v", again.Result)
	}
}
