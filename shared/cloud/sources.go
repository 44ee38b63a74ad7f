package cloud

import (
	"context"

	"companyos/shared/company"
	"companyos/shared/executor"
	"companyos/shared/source"
)

// sourceReader reads Sources: websites and remote git repositories. A function has no folder of local Sources.
func sourceReader(hosts []string, secrets func(ctx context.Context, names []string) (map[string]string, error)) func(context.Context, company.Source) ([]company.Document, error) {
	reader := &source.Reader{GitHosts: hosts, Token: func(ctx context.Context) (string, error) {
		values, err := secrets(ctx, []string{executor.SecretGitHubToken})
		return values[executor.SecretGitHubToken], err
	}}
	return reader.Read
}
