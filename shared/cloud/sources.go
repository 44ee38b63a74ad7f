package cloud

import (
	"context"

	"companyos/shared/app"
	"companyos/shared/company"
	"companyos/shared/executor"
	"companyos/shared/source"
)

// sourceReader reads Sources: websites, and git repositories where the function's image has git. A function has no
// folder of local Sources.
func sourceReader(hosts []string, secrets func(ctx context.Context, names []string) (map[string]string, error)) func(context.Context, company.Source) ([]app.Evidence, error) {
	reader := &source.Reader{GitHosts: hosts, Token: func(ctx context.Context) (string, error) {
		values, err := secrets(ctx, []string{executor.SecretGitHubToken})
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
