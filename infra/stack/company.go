package stack

import (
	"strconv"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"

	"companyos/infra/place"
	"companyos/infra/setting"
	"companyos/shared/config"
	"companyos/shared/executor"
)

// Timeouts of the functions whose code does not count with them.
const (
	sweepTimeout   = 5 * time.Minute
	migrateTimeout = 15 * time.Minute
)

// What a queue hands over: messages a batch, batches at once.
const (
	attemptsBatch, attemptsAtOnce = 10, 5
	workBatch, workAtOnce         = 1, 10
)

// parts are the functions of a company stack.
type parts struct {
	api, dispatch, execute, sweep, migrate *place.Function
}

// newCompany is everything but the rows.
func newCompany(app awscdk.App, s setting.Settings, props awscdk.StackProps, code Code, rows *place.Database) awscdk.Stack {
	props.Description = jsii.String("The Company: API, attempts, sandboxes")
	stack := awscdk.NewStack(app, jsii.String(s.Stack), &props)
	if rows == nil {
		rows = place.DatabaseByURL(stack, "database-url", s.DatabaseName)
	}

	f := newParts(stack, s, code)
	network := place.NewNetwork(stack, "network", s)
	cluster := place.NewCluster(stack, "cluster", s, network)
	attempts := place.NewQueue(stack, "attempts", config.DispatchTimeout)
	work := place.NewQueue(stack, "work", config.ExecuteTimeout)
	artifacts := place.NewArtifacts(stack, "artifacts")
	executors := place.NewExecutors(stack, "executors", s)
	api := place.NewAPI(stack, "http", s.LogDays)
	issuer := place.NewIssuer(stack, "people", s)

	f.connect(s, rows, attempts, work, artifacts, executors)
	f.api.Set(map[string]*string{
		"COMPANY_JWT_ISSUER": issuer.Issuer, "COMPANY_JWT_AUDIENCE": issuer.Audience, "COMPANY_GROUPS_CLAIM": jsii.String(s.GroupsClaim),
	})
	// What somebody granted is looked at again where the automation acts on it.
	for _, fn := range []*place.Function{f.api, f.execute, f.sweep} {
		fn.Set(map[string]*string{"COMPANY_ROLES": jsii.String(s.Roles)})
	}
	for _, fn := range []*place.Function{f.api, f.dispatch} {
		fn.Set(map[string]*string{"COMPANY_PUBLIC_URL": publicURL(s, api)})
	}
	cluster.Launches(f.dispatch, network)

	migration := place.NewMigration(stack, "migration", f.migrate, code.Migrations, rows.Roles(f.served()))
	migration.Before(f.api, f.dispatch, f.execute, f.sweep)

	api.Route(stack, f.api)
	attempts.Feeds(f.dispatch.Function, attemptsBatch, attemptsAtOnce)
	work.Feeds(f.execute.Function, workBatch, workAtOnce)
	place.NewStoppedRule(stack, "stopped", cluster, attempts)
	place.NewTick(stack, "tick", f.sweep)

	watch(stack, s, f, api, attempts, work)
	outputs(stack, map[string]*string{"Url": publicURL(s, api), "ApiId": api.ApiId(), "Attempts": attempts.QueueUrl(), "Artifacts": artifacts.BucketName(), "Cluster": cluster.ClusterName()})
	return stack
}

func newParts(stack awscdk.Stack, s setting.Settings, code Code) parts {
	make := func(name, description string, timeout time.Duration, sendsToItself bool) *place.Function {
		return place.NewFunction(stack, name, place.FunctionProps{
			Zip: code.Zips[name], Description: description, Timeout: timeout, Architecture: s.Architecture, LogDays: s.LogDays, SendsToItself: sendsToItself,
		})
	}
	return parts{
		api:      make("api", "HTTP API: the Company and its sandboxes", config.APITimeout, false),
		dispatch: make("dispatch", "attempts: looks at a run and does what is due", config.DispatchTimeout, true),
		execute:  make("execute", "work: runs plain agents and workflows", config.ExecuteTimeout, true),
		sweep:    make("sweep", "hourly: overdue runs, automation, refresh, retention", sweepTimeout, false),
		migrate:  make("migrate", "deployment: schema migrations", migrateTimeout, false),
	}
}

// served are the functions that work on the rows, by name.
func (f parts) served() map[string]*place.Function {
	return map[string]*place.Function{"api": f.api, "dispatch": f.dispatch, "execute": f.execute, "sweep": f.sweep}
}

// connect gives each function what it needs of what they share, and no more.
func (f parts) connect(s setting.Settings, rows *place.Database, attempts, work *place.Queue, artifacts *place.Artifacts, executors *place.Executors) {
	for name, fn := range f.served() {
		rows.Serves(fn, name)
		fn.Set(limits(s))
	}
	f.sweep.Set(map[string]*string{
		"COMPANY_RETENTION_DAYS":                    jsii.String(strconv.Itoa(s.RetentionDays)),
		"COMPANY_AUTOMATION_HISTORY_RETENTION_DAYS": jsii.String(strconv.Itoa(s.HistoryDays)),
	})
	rows.Migrates(f.migrate)
	executors.Given(f.api, f.dispatch, f.execute, f.sweep)
	attempts.Sends("COMPANY_ATTEMPTS_QUEUE_URL", f.api, f.dispatch, f.execute, f.sweep)
	work.Sends("COMPANY_WORK_QUEUE_URL", f.api, f.dispatch, f.execute, f.sweep)
	artifacts.Opens(f.api, "s3:GetObject", "s3:PutObject")
	artifacts.Opens(f.dispatch, "s3:GetObject", "s3:PutObject")
	artifacts.Opens(f.execute, "s3:GetObject", "s3:PutObject")
	artifacts.Opens(f.sweep, "s3:GetObject", "s3:PutObject", "s3:DeleteObject")
	// api hands a sandbox its secrets after the claim; execute calls models for plain agents.
	place.ReadSecrets(s.SecretsPrefix, f.api, f.execute)
	// sweep looks again at what a proposal was made from, which may be a private repository.
	place.ReadSecret(s.SecretsPrefix, executor.SecretGitHubToken, f.sweep)
	if s.ModelProvider == setting.ModelsOfBedrock {
		place.CallsBedrock(f.execute)
	}
	place.Publishes(f.execute, s.SummaryTopics)
}

// limits are the settings that every function on runs reads alike.
func limits(s setting.Settings) map[string]*string {
	return map[string]*string{
		"COMPANY_MAX_SANDBOXES": jsii.String(strconv.Itoa(s.MaxSandboxes)),
		"COMPANY_MAX_PENDING":   jsii.String(strconv.Itoa(s.MaxPending)),
		"COMPANY_GIT_HOSTS":     jsii.String(s.GitHosts),
	}
}

// publicURL is where people and sandboxes reach the API: its own address, or a given one.
func publicURL(s setting.Settings, api *place.API) *string {
	if s.PublicURL == "" {
		return api.URL()
	}
	return jsii.String(s.PublicURL)
}

func watch(stack awscdk.Stack, s setting.Settings, f parts, api *place.API, attempts, work *place.Queue) {
	w := place.NewWatch(stack, s.AlarmEmail)
	w.Queue("attempts", attempts, 600)
	w.Queue("work", work, 3600)
	w.Settles(f.api, f.dispatch, f.execute)
	w.Errors("sweep", f.sweep, 1)
	w.Errors("dispatch", f.dispatch, 2)
	w.API(api)
	w.Board()
}

func outputs(stack awscdk.Stack, values map[string]*string) {
	for name, value := range values {
		awscdk.NewCfnOutput(stack, jsii.String(name), &awscdk.CfnOutputProps{Value: value})
	}
}
