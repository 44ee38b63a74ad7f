package local

import (
	"context"

	"companyos/shared/company"
	"companyos/shared/executor"
	"companyos/shared/source"
)

// sourceReader reads Sources: the operator's double, or what the Sources point to.
func (c *Company) sourceReader() func(context.Context, company.Source) ([]company.Document, error) {
	if c.cfg.Automation.ReadSource != nil {
		return c.cfg.Automation.ReadSource
	}
	reader := &source.Reader{Root: c.cfg.Sources, GitHosts: c.cfg.GitHosts, Token: func(ctx context.Context) (string, error) {
		values, err := c.secrets(ctx, []string{executor.SecretGitHubToken})
		return values[executor.SecretGitHubToken], err
	}}
	return reader.Read
}
