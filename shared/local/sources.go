package local

import (
	"context"
	"os/exec"

	"companyos/shared/app"
	"companyos/shared/company"
	"companyos/shared/notify"
	"companyos/shared/source"
)

// channels are where summaries go: the operator's doubles, or the webhooks.
func (c *Company) channels() map[string]app.Channel {
	if c.cfg.Automation.Channels != nil {
		return c.cfg.Automation.Channels
	}
	return notify.Channels(c.secrets)
}

// sourceReader reads Sources: the operator's double, or what the Sources point to.
func (c *Company) sourceReader() func(context.Context, company.Source) ([]company.Document, error) {
	if c.cfg.Automation.ReadSource != nil {
		return c.cfg.Automation.ReadSource
	}
	reader := &source.Reader{Root: c.cfg.Sources, GitHosts: c.cfg.GitHosts, Token: source.GitHubToken(c.secrets)}
	if _, err := exec.LookPath("git"); err != nil {
		reader.Library = c.cfg.Library
	}
	return reader.Read
}
