package agent

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"companyos/shared/agent/broker"
	"companyos/shared/gitcmd"
	"companyos/shared/task"
)

// cli is the harness's program as it is found here.
type cli struct {
	path    string // real path, empty for this program itself
	version string
}

// baseURLSuffix ends the names of secrets that are an address and no secret.
const baseURLSuffix = "_BASE_URL"

// equip finds what the harness needs, and starts the broker. Errors: *EndError of kind harness_missing or
// model_unauthorized.
func (s *supervisor) equip(ctx context.Context) error {
	harness, ok := harnesses()[s.work.Harness]
	if !ok {
		return failuref(task.EndHarnessMissing, nil, "This sandbox has no harness %q.", s.work.Harness)
	}
	s.harness = harness
	p := harness.Profile()
	if p.Program != "" {
		path, err := exec.LookPath(p.Program)
		if err == nil {
			path, err = filepath.EvalSymlinks(path)
		}
		if err != nil {
			return failuref(task.EndHarnessMissing, err, "This sandbox has no program %q; build the image with it.", p.Program)
		}
		s.cli.path = path
	}
	c := broker.Config{
		API: p.API, Egress: s.work.Egress, Spool: s.layout.private, Refused: func(host, text string) { s.refusals.add(host, text, 1) }, Used: s.used, Model: s.work.Model,
		BudgetUSD: s.work.Limits.BudgetUSD, Failed: s.modelFailed,
		Spent: func() {
			s.end(&EndError{Kind: task.EndBudgetExhausted, Limit: LimitBudget, Text: "The budget of the run is used up."})
		},
	}
	if p.API != broker.None {
		if c.Key = s.secrets[p.Key]; c.Key == "" {
			return failuref(task.EndModelUnauthorized, nil, "The executor gives no %s.", p.Key)
		}
		if c.Upstream = s.secrets[p.BaseURL]; c.Upstream == "" {
			c.Upstream = p.Upstream
		}
		if price := s.work.Price; price != nil {
			c.Price = &broker.Price{Input: price.Input, Output: price.Output, CacheRead: price.CacheRead, CacheWrite: price.CacheWrite}
		}
	}
	if s.work.Company {
		to, err := url.Parse(strings.TrimSuffix(s.API, "/") + broker.ToolsPath)
		if err != nil {
			return failuref(task.EndInternal, err, "The API's address is no URL.")
		}
		c.Tools = &broker.Tools{URL: to, Token: s.client.Session}
	}
	var err error
	if s.broker, err = broker.Start(ctx, c); err != nil {
		return failuref(task.EndInternal, err, "The way to the model cannot be opened: %v", err)
	}
	return nil
}

// patience is how long an agent may wait for a quota: about what the agents do by themselves.
const patience = 3 * time.Minute

// modelFailed ends the run when asking again is of no use: a key that is refused stays so, and a quota that comes back
// later than an agent waits is for the next attempt.
func (s *supervisor) modelFailed(f broker.Failure) {
	late := f.Kind == task.EndUsageLimit && f.ResetAt.After(s.Now().Add(patience))
	if f.Kind == task.EndModelUnauthorized || late {
		s.end(&EndError{Kind: f.Kind, Text: f.Text})
	}
}

// versionFor is how long a harness may take to tell its version.
const versionFor = 30 * time.Second

// askVersion runs the harness's program for its version, as the agent.
func (s *supervisor) askVersion(ctx context.Context) error {
	p := s.harness.Profile()
	if p.Program == "" {
		return nil
	}
	asking, cancel := context.WithTimeout(ctx, versionFor)
	defer cancel()
	out, err := child{
		args: []string{s.cli.path, "--version"}, dir: s.layout.empty, cell: s.cell, own: s.children,
		env: append(gitcmd.Environment(s.layout.home, nil), "CODEX_HOME="+s.layout.home, "TMPDIR="+s.layout.scratch),
	}.run(asking)
	fields := bytes.Fields(out)
	for _, field := range fields {
		if field[0] >= '0' && field[0] <= '9' {
			s.cli.version = string(field)
		}
	}
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, fs.ErrPermission):
		return failuref(task.EndHarnessMissing, err, "The agent's user may not run %s: a folder above it, or the program, is closed to others.", s.cli.path)
	case errors.Is(err, fs.ErrNotExist) || s.cli.version == "":
		return failuref(task.EndHarnessMissing, err, "The program %q of this sandbox does not run.", p.Program)
	case s.cli.version != p.Tested:
		s.warn(warning{text: "This sandbox has version " + cut(strings.ToValidUTF8(s.cli.version, ""), 40) + " of " + p.Program + "; this release was tested with " + p.Tested + "."})
	}
	return nil
}
