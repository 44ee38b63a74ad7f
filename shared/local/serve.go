package local

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"

	"companyos/shared/agent/fixture"
	"companyos/shared/api"
	"companyos/shared/app"
	"companyos/shared/company"
	"companyos/shared/config"
	"companyos/shared/executor"
	"companyos/shared/routine"
	"companyos/shared/sandbox/docker"
	"companyos/shared/source"
	"companyos/shared/worker"
)

// DevelopmentUsers exist on a loopback address without any set-up.
func DevelopmentUsers() []string { return []string{"alice", "bob"} }

// Available are the harnesses that this build runs: the agents only where there is a lock for them.
func Available() []executor.Harness {
	all := []executor.Harness{executor.HarnessFixture, executor.HarnessWorkflow, executor.HarnessModel, executor.HarnessTeam}
	if runtime.GOOS == "linux" {
		all = append(all, executor.HarnessClaude, executor.HarnessCodex)
	}
	return all
}

// Parts are what a program gives to its Company: what it links, it can do.
type Parts struct {
	Work    worker.Worker
	Checks  map[string]app.Check
	Library source.Library // reads remote Sources where there is no git
}

// Serve is the program functions/local: it starts a Company, says where it is and who may come in, and ends it when ctx
// does.
func Serve(ctx context.Context, c config.Local, parts Parts, out io.Writer) error {
	log := slog.New(slog.NewJSONHandler(out, nil))
	log.LogAttrs(ctx, slog.LevelInfo, "settings", c.Values...)
	if c.Reset {
		if err := Reset(ctx, c, log); err != nil {
			return err
		}
	}
	cfg, err := configure(ctx, c, parts, log)
	if err != nil {
		return err
	}
	company, err := Start(ctx, cfg)
	if err != nil {
		return err
	}
	if err := company.announce(ctx, c, out); err != nil {
		return errors.Join(err, company.Close(ctx))
	}
	select {
	case <-ctx.Done():
	case <-company.failed:
	}
	running, err := company.Running(context.WithoutCancel(ctx))
	if err == nil && running > 0 {
		fmt.Fprintf(out, "%d sandbox(es) go on; the next start with -data %s takes over\n", running, c.Data)
	}
	return errors.Join(err, company.Close(ctx))
}

func configure(ctx context.Context, c config.Local, parts Parts, log *slog.Logger) (cfg Config, err error) {
	hosts, err := company.ParseGitHosts(c.GitHosts)
	if err != nil {
		return cfg, err
	}
	executors, err := openExecutors(ctx, c, hosts, parts.Work.Steps, log)
	if err != nil {
		return cfg, err
	}
	var roles *api.Roles
	if c.Roles != "" {
		if roles, err = api.ParseRoles([]byte(c.Roles)); err != nil {
			return cfg, err
		}
	}
	return Config{
		Addr: c.Addr, Data: c.Data, DatabaseURL: c.DatabaseURL, Executors: executors, Runner: parts.Work.Run, GitHosts: hosts, Sources: c.Sources, Library: parts.Library,
		Auth:         api.AuthConfig{HS256Secret: c.JWTHS256Secret, Issuer: c.JWTIssuer, Audience: c.JWTAudience, GroupsClaim: c.GroupsClaim, Roles: roles},
		MaxSandboxes: c.MaxSandboxes, MaxPending: c.MaxPending, Sandboxes: containers(c), Log: log,
		Automation: Automation{
			Checks: parts.Checks, TickCron: c.TickCron, Retention: routine.Retention{HistoryDays: c.AutomationHistoryRetention, ArtifactDays: c.RetentionDays},
		},
	}, nil
}

// openExecutors reads the executors. Without a file and without a word about one there is a set that needs nothing.
func openExecutors(ctx context.Context, c config.Local, hosts []string, steps worker.Steps, log *slog.Logger) (*executor.Source, error) {
	options := executor.Options{
		File: c.Executors, GitHosts: hosts, Available: Available(), Steps: steps.Names(),
		Fixture: func(script json.RawMessage) error {
			_, err := fixture.Parse(script)
			return err
		},
	}
	if c.Prices != "" {
		raw, err := os.ReadFile(c.Prices)
		if err != nil {
			return nil, fmt.Errorf("the prices cannot be read; name another file with -prices or COMPANY_PRICES: %w", err)
		}
		if options.Prices, err = executor.ParsePrices(raw, c.Prices); err != nil {
			return nil, err
		}
	}
	_, err := os.Stat(c.Executors)
	if c.Executors == config.DefaultExecutors && errors.Is(err, fs.ErrNotExist) {
		log.InfoContext(ctx, "there is no executors.yaml: the only executor is the agent fixture, which plays a script of the Task's brief")
		registry, err := executor.Parse([]byte(defaultExecutors), options)
		return executor.Static(registry), err
	}
	return executor.Open(ctx, executor.FromFile(c.Executors), options)
}

const defaultExecutors = "agents:\n  - {id: fixture, name: Fixture, harness: fixture}\n"

// announce says where the Company is and prints a token for each development user.
func (c *Company) announce(ctx context.Context, settings config.Local, out io.Writer) error {
	fmt.Fprintf(out, "\nCompany is at %s (API documentation at %s/docs)\n", c.URL, c.URL)
	executors, err := c.App.ListExecutors(ctx, "")
	if err != nil {
		return err
	}
	for _, ex := range executors.Executors {
		if ex.Problem != nil {
			fmt.Fprintf(out, "%s %s cannot be used: %s. %s\n", ex.Kind, ex.ID, ex.Problem.Detail, ex.Problem.Remedy)
		}
	}
	if settings.JWTIssuer != "" {
		fmt.Fprintf(out, "Tokens of %s are accepted.\n", settings.JWTIssuer)
		return nil
	}
	if !settings.Loopback() {
		fmt.Fprintln(out, "There are no development users on an address that others can reach: set COMPANY_JWT_ISSUER or COMPANY_JWT_HS256_SECRET.")
		return nil
	}
	for _, user := range DevelopmentUsers() {
		token, err := c.Token(user)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "\n%s (good for a day):\nexport TOKEN=%s\n", user, token)
	}
	fmt.Fprintf(out, "\ncurl -H \"Authorization: Bearer $TOKEN\" %s/company/attention\n\n", c.URL)
	return nil
}

// containers are a Company's sandboxes where an image was named; without one they are processes, see Config.
func containers(c config.Local) func(Paths) (Launcher, error) {
	if c.Image == "" {
		return nil
	}
	return func(p Paths) (Launcher, error) {
		folder := sha256.Sum256([]byte(p.Data)) // several data folders may share one engine
		return docker.New(docker.Config{Image: c.Image, Prefix: "company-" + hex.EncodeToString(folder[:4]) + "-", Log: p.Log})
	}
}

// Reset stops the sandboxes of a data folder and removes it.
func Reset(ctx context.Context, c config.Local, log *slog.Logger) error {
	data, err := filepath.Abs(c.Data)
	if err != nil {
		return err
	}
	launcher, err := Config{Sandboxes: containers(c)}.launcher(Paths{Data: data, Log: log})
	if err != nil {
		return err
	}
	running, err := launcher.Running(ctx)
	if err != nil {
		return err
	}
	for _, s := range running {
		if err := launcher.Stop(ctx, s.Handle, "reset"); err != nil {
			return err
		}
	}
	return removeData(ctx, data)
}
