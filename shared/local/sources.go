package local

import (
	"context"

	"companyos/shared/app"
	"companyos/shared/company"
	"companyos/shared/executor"
	"companyos/shared/source"
)

// sourceReader reads Sources: the operator's double, or what the Sources point to.
func (c *Company) sourceReader() func(context.Context, company.Source) ([]app.Evidence, error) {
	if c.cfg.Automation.ReadSource != nil {
		return c.cfg.Automation.ReadSource
	}
	reader := &source.Reader{Root: c.cfg.Sources, GitHosts: c.cfg.GitHosts, Token: func(ctx context.Context) (string, error) {
		values, err := c.secrets(ctx, []string{executor.SecretGitHubToken})
		return values[executor.SecretGitHubToken], err
	}}
	return func(ctx context.Context, s company.Source) ([]app.Evidence, error) {
		items, err := reader.Read(ctx, s)
		if err != nil {
			return nil, err
		}
		read := make([]app.Evidence, len(items))
		for i, item := range items {
			read[i] = app.Evidence(item)
		}
		return read, nil
	}
}
