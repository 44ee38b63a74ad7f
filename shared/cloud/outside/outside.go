// Package outside is what a function reaches beside AWS and the database: Sources that it reads, and webhooks for summaries.
// Only a function that does either links it; the API, which has to start quickly, does neither.
package outside

import (
	"context"

	"companyos/shared/app"
	"companyos/shared/company"
	"companyos/shared/executor"
	"companyos/shared/notify"
	"companyos/shared/source"
)

// Secrets reads the values of secrets by their names.
type Secrets = func(ctx context.Context, names []string) (map[string]string, error)

// Sources reads websites and remote git repositories. A function has no folder of local Sources.
func Sources(hosts []string, secrets Secrets) func(context.Context, company.Source) ([]company.Document, error) {
	reader := &source.Reader{GitHosts: hosts, Token: func(ctx context.Context) (string, error) {
		values, err := secrets(ctx, []string{executor.SecretGitHubToken})
		return values[executor.SecretGitHubToken], err
	}}
	return reader.Read
}

// Webhooks are the channels that need nothing but secrets.
func Webhooks(secrets Secrets) map[string]app.Channel { return notify.Channels(secrets) }
