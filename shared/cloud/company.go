package cloud

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"

	"companyos/shared/agent/fixture"
	"companyos/shared/api"
	"companyos/shared/app"
	blobs3 "companyos/shared/blob/s3"
	"companyos/shared/company"
	"companyos/shared/config"
	"companyos/shared/executor"
	"companyos/shared/queue/sqs"
	"companyos/shared/sandbox"
	"companyos/shared/store"
	"companyos/shared/store/dsql"
)

// Parts are what one function has beside what all have.
type Parts struct {
	Sandboxes sandbox.Sandboxes    // dispatch alone
	Steps     []string             // registered workflow steps, nil where none run
	Checks    map[string]app.Check // registered acceptance checks, where any is named or run

	// How Sources are read, gitless.Reader, and where summaries go. A function that does neither has nil and does not link it.
	Sources  func(hosts []string, secrets SecretReader) func(context.Context, company.Source) ([]company.Document, error)
	Channels func(secrets SecretReader) map[string]app.Channel

	Log *slog.Logger
}

// largestBlob is the largest artifact that a function reads or writes itself; it has 512 MiB of memory.
const largestBlob = 64 << 20

// Open puts a Company together. It fetches the executors, and the database's URL where that is a secret; it connects to
// nothing else.
func Open(ctx context.Context, a aws.Config, c config.Company, p Parts) (*app.Company, error) {
	hosts, err := company.ParseGitHosts(c.GitHosts)
	if err != nil {
		return nil, err
	}
	objects, queues := newS3(a), awssqs.NewFromConfig(a)
	executors, err := openExecutors(ctx, objects, c, hosts, p)
	if err != nil {
		return nil, err
	}
	db, err := OpenDatabase(ctx, a, c.Database)
	if err != nil {
		return nil, err
	}
	secrets := Secrets(a, c.SecretsPrefix)
	var roles *api.Roles
	if c.Roles != "" {
		if roles, err = api.ParseRoles([]byte(c.Roles)); err != nil {
			return nil, err
		}
	}
	var readSource func(context.Context, company.Source) ([]company.Document, error)
	if p.Sources != nil {
		readSource = p.Sources(hosts, secrets)
	}
	var channels map[string]app.Channel
	if p.Channels != nil {
		channels = p.Channels(secrets)
	}
	artifacts := blobs3.New(objects, c.ArtifactsBucket, largestBlob)
	return app.New(app.Config{
		DB: db, Blobs: artifacts, Deleter: artifacts, Rights: roles.Rights, Sandboxes: p.Sandboxes, Executors: executors, Log: p.Log,
		Attempts: sqs.New(queues, c.AttemptsQueueURL), Work: sqs.New(queues, c.WorkQueueURL), Clock: time.Now,
		MaxSandboxes: c.MaxSandboxes, MaxPending: c.MaxPending, DispatchTimeout: config.DispatchTimeout, ExecuteTimeout: config.ExecuteTimeout,
		PublicURL: c.PublicURL, GitHosts: hosts, Secrets: secrets,
		TickCron: c.TickCron, ReadSource: readSource, Checks: p.Checks, Channels: channels,
	}), nil
}

// Available are the harnesses that this build runs.
func Available() []executor.Harness {
	return []executor.Harness{executor.HarnessFixture, executor.HarnessWorkflow, executor.HarnessModel, executor.HarnessTeam, executor.HarnessClaude, executor.HarnessCodex}
}

func openExecutors(ctx context.Context, objects Objects, c config.Company, hosts []string, p Parts) (*executor.Source, error) {
	options := executor.Options{
		File: c.Executors, GitHosts: hosts, Available: Available(), Steps: p.Steps,
		Fixture: func(script json.RawMessage) error {
			_, err := fixture.Parse(script)
			return err
		},
	}
	if c.Prices != "" {
		raw, err := file(objects, c.Prices)(ctx)
		if err != nil {
			return nil, fmt.Errorf("read the prices: %w", err)
		}
		if options.Prices, err = executor.ParsePrices(raw, c.Prices); err != nil {
			return nil, err
		}
	}
	source, err := executor.Open(ctx, file(objects, c.Executors), options)
	if err == nil {
		p.Log.InfoContext(ctx, "executors", "file", c.Executors, "revision", source.Registry().Revision())
	}
	return source, err
}

// connections of one function's environment, which has one event at a time.
const connections = 1

// OpenDatabase prepares the store. It does not connect.
func OpenDatabase(ctx context.Context, a aws.Config, d config.Database) (*store.DB, error) {
	c, err := Database(ctx, a, d)
	if err != nil {
		return nil, err
	}
	return store.Open(ctx, c)
}

// Database says how to reach the rows: a cluster of Aurora DSQL, or a PostgreSQL whose URL is a secret or a setting.
func Database(ctx context.Context, a aws.Config, d config.Database) (store.Config, error) {
	switch {
	case d.DSQLEndpoint != "":
		return dsql.Cluster{Endpoint: d.DSQLEndpoint, Region: d.Region, User: d.DSQLUser, Credentials: a.Credentials}.Store(connections), nil
	case d.Secret != "":
		url, err := secret(ctx, secretsmanager.NewFromConfig(a), d.Secret)
		if err != nil {
			return store.Config{}, err
		}
		d.URL = url
	}
	return store.Config{URL: d.URL, MaxConns: connections}, nil
}
