package config

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"
)

// The timeouts of the functions, as they are deployed. Rules count with them: a call of dispatch is over when its
// function is, and a worker's lease ends with its.
const (
	APITimeout      = 25 * time.Second
	DispatchTimeout = 30 * time.Second
	ExecuteTimeout  = 15 * time.Minute
)

// Database says where the rows are: one of URL, Secret (the name of one that holds a URL) and DSQLEndpoint.
type Database struct {
	URL          string
	Secret       string
	DSQLEndpoint string
	DSQLUser     string
	Region       string // of the cluster
}

// Company is what every function that works on runs needs.
type Company struct {
	Database         Database
	Executors        string // path or s3://bucket/key
	Prices           string // likewise, empty for none
	AttemptsQueueURL string
	WorkQueueURL     string
	ArtifactsBucket  string
	PublicURL        string
	SecretsPrefix    string
	GitHosts         string
	Roles            string // YAML: what each group may do, by which grants are looked at again
	MaxSandboxes     int
	MaxPending       int
	TickCron         string      // when the automation ticks, in UTC: what people are told
	Values           []slog.Attr // every setting, secrets redacted
}

// API is the configuration of functions/api.
type API struct {
	Company
	JWTIssuer      string
	JWTAudience    string
	JWTHS256Secret string
	GroupsClaim    string
}

// Dispatch is the configuration of functions/dispatch.
type Dispatch struct {
	Company
	Cluster          string
	TaskDefinition   string
	Subnets          []string
	SecurityGroups   []string
	AssignPublicIP   bool
	CapacityProvider string // FARGATE or FARGATE_SPOT
}

// Execute is the configuration of functions/execute.
type Execute struct {
	Company
	ModelProvider    string // anthropic or bedrock
	AnthropicBaseURL string // empty: Anthropic's own
	SummaryTopics    map[string]string
}

// Sweep is the configuration of functions/sweep.
type Sweep struct {
	Company
	RetentionDays              int
	AutomationHistoryRetention int
}

// Migrate is the configuration of functions/migrate.
type Migrate struct {
	Database Database
	Values   []slog.Attr
}

// ReadAPI reads the configuration of functions/api.
func ReadAPI() (c API, err error) {
	s := newSet("api")
	s.company(&c.Company)
	f := s.std
	f.StringVar(&c.JWTIssuer, "jwt-issuer", "", "OIDC issuer whose tokens are accepted")
	f.StringVar(&c.JWTAudience, "jwt-audience", "company", "audience that a token must name")
	f.StringVar(&c.JWTHS256Secret, "jwt-hs256-secret", "", "secret of development tokens, instead of an issuer")
	f.StringVar(&c.GroupsClaim, "groups-claim", "groups", "claim that holds a token's groups")
	s.hide("jwt-hs256-secret")
	s.require("secrets-prefix", "jwt-audience")
	s.requireOne("jwt-issuer", "jwt-hs256-secret")
	return c, s.parseCompany(&c.Company)
}

// ReadDispatch reads the configuration of functions/dispatch.
func ReadDispatch() (c Dispatch, err error) {
	s := newSet("dispatch")
	s.company(&c.Company)
	f := s.std
	var subnets, groups string
	f.StringVar(&c.Cluster, "cluster", "", "ECS cluster of the sandboxes")
	f.StringVar(&c.TaskDefinition, "task-definition", "", "their task definition with its revision")
	f.StringVar(&subnets, "subnets", "", "their subnets, separated by commas")
	f.StringVar(&groups, "security-groups", "", "their security groups, separated by commas")
	f.BoolVar(&c.AssignPublicIP, "assign-public-ip", true, "whether they have a public address; subnets without a NAT gateway need it")
	f.StringVar(&c.CapacityProvider, "capacity-provider", "FARGATE", "FARGATE, or FARGATE_SPOT for a run's first launch")
	s.require("cluster", "task-definition", "subnets", "security-groups", "public-url")
	if err := s.parseCompany(&c.Company); err != nil {
		return c, err
	}
	c.Subnets, c.SecurityGroups = list(subnets), list(groups)
	if c.CapacityProvider != "FARGATE" && c.CapacityProvider != "FARGATE_SPOT" {
		return c, fmt.Errorf("COMPANY_CAPACITY_PROVIDER: %q is neither FARGATE nor FARGATE_SPOT", c.CapacityProvider)
	}
	return c, nil
}

// ReadExecute reads the configuration of functions/execute.
func ReadExecute() (c Execute, err error) {
	s := newSet("execute")
	s.company(&c.Company)
	f := s.std
	var topics string
	f.StringVar(&c.ModelProvider, "model-provider", "anthropic", "who answers agents with harness model: anthropic, or bedrock")
	f.StringVar(&c.AnthropicBaseURL, "anthropic-base-url", "", "another server with Anthropic's API")
	f.StringVar(&topics, "summary-topics", "", "SNS topics that summaries may go to: name=ARN, separated by commas")
	if err := s.parseCompany(&c.Company); err != nil {
		return c, err
	}
	if c.ModelProvider != "anthropic" && c.ModelProvider != "bedrock" {
		return c, fmt.Errorf("COMPANY_MODEL_PROVIDER: %q is neither anthropic nor bedrock", c.ModelProvider)
	}
	c.SummaryTopics = map[string]string{}
	for _, topic := range list(topics) {
		name, arn, ok := strings.Cut(topic, "=")
		if !ok || name == "" || !strings.HasPrefix(arn, "arn:") {
			return c, fmt.Errorf("COMPANY_SUMMARY_TOPICS: %q has not the form name=ARN", topic)
		}
		c.SummaryTopics[name] = arn
	}
	return c, nil
}

// ReadSweep reads the configuration of functions/sweep.
func ReadSweep() (c Sweep, err error) {
	s := newSet("sweep")
	s.company(&c.Company)
	s.std.IntVar(&c.RetentionDays, "retention-days", 30, "days that events and artifacts are kept")
	s.std.IntVar(&c.AutomationHistoryRetention, "automation-history-retention-days", 30, "days that automation history is kept")
	if err := s.parseCompany(&c.Company); err != nil {
		return c, err
	}
	if c.RetentionDays < 1 || c.AutomationHistoryRetention < 1 {
		return c, errors.New("the retention days are whole numbers of 1 or more")
	}
	return c, nil
}

// ReadMigrate reads the configuration of functions/migrate.
func ReadMigrate() (c Migrate, err error) {
	s := newSet("migrate")
	s.database(&c.Database, "admin")
	if err := s.parse(nil); err != nil {
		return c, err
	}
	c.Database.Region, c.Values = os.Getenv("AWS_REGION"), s.values()
	return c, nil
}

func (s *set) database(d *Database, user string) {
	f := s.std
	f.StringVar(&d.URL, "database-url", "", "URL of a PostgreSQL")
	f.StringVar(&d.Secret, "database-secret", "", "name of a secret that holds the URL of a PostgreSQL")
	f.StringVar(&d.DSQLEndpoint, "dsql-endpoint", "", "host name of an Aurora DSQL cluster")
	f.StringVar(&d.DSQLUser, "dsql-user", user, "database role to sign in as there")
	s.requireOne("dsql-endpoint", "database-secret", "database-url")
}

func (s *set) company(c *Company) {
	s.database(&c.Database, "company")
	f := s.std
	f.StringVar(&c.Executors, "executors", "", "executors.yaml: a path or s3://bucket/key")
	f.StringVar(&c.Prices, "prices", "", "prices of models, likewise")
	f.StringVar(&c.AttemptsQueueURL, "attempts-queue-url", "", "queue of sandboxed runs")
	f.StringVar(&c.WorkQueueURL, "work-queue-url", "", "queue of the other runs")
	f.StringVar(&c.ArtifactsBucket, "artifacts-bucket", "", "bucket of inputs, patches, transcripts and logs")
	f.StringVar(&c.PublicURL, "public-url", "", "where people and sandboxes reach the API")
	f.StringVar(&c.SecretsPrefix, "secrets-prefix", "", "prefix of the executors' secrets in Secrets Manager")
	f.StringVar(&c.GitHosts, "git-hosts", "", "URL prefixes of repositories allowed beside GitHub's, separated by commas")
	f.StringVar(&c.Roles, "roles", "", "YAML: group → scopes, the first admin's group, disabled users")
	f.IntVar(&c.MaxSandboxes, "max-sandboxes", 20, "sandboxes at once; further runs wait in order")
	f.IntVar(&c.MaxPending, "max-pending", 1000, "runs that may wait; beyond it a start is refused")
	f.StringVar(&c.TickCron, "tick-cron", "0 * * * *", "when the automation's schedule ticks, in UTC")
	s.require("executors", "attempts-queue-url", "work-queue-url", "artifacts-bucket")
}

func (s *set) parseCompany(c *Company) error {
	if err := s.parse(nil); err != nil {
		return err
	}
	c.Database.Region, c.Values = os.Getenv("AWS_REGION"), s.values()
	c.PublicURL = strings.TrimRight(c.PublicURL, "/")
	c.SecretsPrefix = strings.TrimRight(c.SecretsPrefix, "/")
	if c.MaxSandboxes < 1 || c.MaxPending < 1 {
		return errors.New("COMPANY_MAX_SANDBOXES and COMPANY_MAX_PENDING are whole numbers of 1 or more")
	}
	return nil
}

// list splits at commas and drops what is empty.
func list(text string) (items []string) {
	for item := range strings.SplitSeq(text, ",") {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, item)
		}
	}
	return items
}
