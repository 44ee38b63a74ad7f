package story

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"

	"companyos/shared/agent/gittest"
	"companyos/shared/api"
	"companyos/shared/company"
	"companyos/shared/executor"
	"companyos/shared/local"
	"companyos/shared/wire"
	"companyos/shared/worker"
)

// Place is a Company on this machine for one example, in a temporary folder.
type Place struct {
	Company    *local.Company
	Git        *gittest.Server
	Repository *gittest.Repository
	Forger     *Forger
	folder     string
}

// Branch is the branch of the story's repository.
const Branch = "master"

// Settle makes a Place: a git server with one repository, and a Company whose sandboxes reach its API through a Forger.
// executors gets the repository's URL and returns the executors.yaml.
func Settle(ctx context.Context, executors func(repository string) string, steps worker.Steps, log io.Writer) (*Place, error) {
	return settle(ctx, executors, nil, steps, log)
}

func settle(ctx context.Context, executors func(repository string) string, prices executor.Prices, steps worker.Steps, log io.Writer) (p *Place, err error) {
	p = &Place{}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.Close(ctx))
		}
	}()
	if p.folder, err = os.MkdirTemp("", "company-example-"); err != nil {
		return p, err
	}
	if err := os.Chmod(p.folder, 0o711); err != nil { // the agent's user passes through
		return p, err
	}
	if err := p.serveRepository(); err != nil {
		return p, err
	}
	hosts, err := company.ParseGitHosts(p.Git.URL)
	if err != nil {
		return p, err
	}
	registry, err := executor.Parse([]byte(executors(p.Repository.URL)), executor.Options{GitHosts: hosts, Available: local.Available(), Steps: steps.Names(), Prices: prices})
	if err != nil {
		return p, err
	}
	forger, listener, err := NewForger()
	if err != nil {
		return p, err
	}
	p.Company, err = local.Start(ctx, local.Config{
		Addr: "127.0.0.1:0", Data: filepath.Join(p.folder, "company"), Throwaway: true, Executors: executor.Static(registry), Runner: steps.Run,
		Auth: api.AuthConfig{Audience: "company"}, GitHosts: hosts, PublicURL: forger.URL, MaxSandboxes: 4, MaxPending: 100,
		Log: slog.New(slog.NewTextHandler(log, nil)),
	})
	if err != nil {
		return p, err
	}
	p.Forger = forger
	return p, forger.To(listener, p.Company.URL)
}

func (p *Place) serveRepository() (err error) {
	if p.Git, err = gittest.Start(filepath.Join(p.folder, "git"), "127.0.0.1:0"); err != nil {
		return err
	}
	if p.Repository, err = p.Git.Create("octocat/Hello-World"); err != nil {
		return err
	}
	_, err = p.Repository.Commit(gittest.Commit{
		Branch: Branch, Message: "Say hello",
		Files: map[string]gittest.File{"README.md": {Content: "Hello World!\n"}, "LICENSE": {Content: "Do what you like.\n"}},
	})
	return err
}

// Advance moves the branch on.
func (p *Place) Advance() (string, error) {
	return p.Repository.Commit(gittest.Commit{Branch: Branch, Message: "Tell the news", Files: map[string]gittest.File{"NEWS.md": {Content: "News!\n"}}})
}

// Client is a development user's client.
func (p *Place) Client(user string) (*wire.Client, error) {
	token, err := p.Company.Token(user)
	return wire.NewClient(p.Company.URL, token, nil), err
}

// Close ends everything and removes the folder.
func (p *Place) Close(ctx context.Context) error {
	var errs []error
	if p.Company != nil {
		errs = append(errs, p.Company.Close(ctx))
	}
	if p.Forger != nil {
		errs = append(errs, p.Forger.Close())
	}
	if p.Git != nil {
		errs = append(errs, p.Git.Close())
	}
	return errors.Join(append(errs, os.RemoveAll(p.folder))...)
}
