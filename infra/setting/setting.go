// Package setting reads what a deployment can choose: the context of cdk.json, overlaid by `-c key=value`.
//
// Everything is validated here, before a construct exists, so that a wrong value ends the synthesis with one sentence
// that names the key, the value and what is allowed.
package setting

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"companyos/shared/executor"
)

// Architecture of functions or sandboxes, in the words of their services.
type Architecture string

// The architectures. Host is the one that this program runs on, for an emulator that runs functions on this machine.
const (
	ArchitectureARM  Architecture = "arm64"
	ArchitectureX86  Architecture = "x86_64"
	architectureHost              = "host"
)

// Database is where the Company's rows are.
type Database string

// The databases. DSQL is made by the database stack; URL is any PostgreSQL of version 15 or later, by a secret.
const (
	DatabaseDSQL Database = "dsql"
	DatabaseURL  Database = "url"
)

// Egress is what a sandbox's subnet can reach.
type Egress string

// The egress modes. Open: public subnets without ingress, nothing that costs money while idle. Strict: isolated
// subnets, paid endpoints and the team's own proxy.
const (
	EgressOpen   Egress = "open"
	EgressStrict Egress = "strict"
)

// SignIn is who issues people's tokens.
type SignIn string

// The ways to sign in. OIDC is any issuer that exists already; Cognito is a user pool made by the stack.
const (
	SignInOIDC    SignIn = "oidc"
	SignInCognito SignIn = "cognito"
)

// ModelProvider answers plain agents.
type ModelProvider string

// The providers. Anthropic needs a key among the secrets; Bedrock is reached by the function's role.
const (
	ModelsOfAnthropic ModelProvider = "anthropic"
	ModelsOfBedrock   ModelProvider = "bedrock"
)

// Settings is one deployment's choice.
type Settings struct {
	Stack         string // prefix of the stacks' names
	Region        string // empty: the one of the CLI's profile
	Architecture  Architecture
	Sandbox       Architecture // of the image
	Image         string       // by digest
	Spot          bool
	MaxSandboxes  int
	MaxPending    int
	Database      Database
	DatabaseName  string // of the secret that holds the URL
	SecretsPrefix string
	VPC           string
	Subnets       []string
	Egress        Egress
	Proxy         string
	Executors     string // path of executors.yaml
	Prices        string // path of prices.yaml, or empty
	Roles         string // YAML, in one piece
	SignIn        SignIn
	SignInDomain  string // prefix of the hosted sign-in's name
	AdminGroup    string
	Issuer        string
	Audience      string
	GroupsClaim   string
	PublicURL     string // empty: the HTTP API's own
	GitHosts      string
	RetentionDays int // of runs' events and artifacts
	HistoryDays   int // of the automation's history
	LogDays       int
	AlarmEmail    string
	ModelProvider ModelProvider
	SummaryTopics []string // name=ARN

	// Registry is the parsed executors file.
	Registry *executor.Registry
}

// reader takes one key after the other and keeps the first problem.
type reader struct {
	values map[string]string
	known  map[string]bool
	err    error
}

// Read validates a deployment's values. Relative paths are taken from root.
func Read(values map[string]string, root string) (Settings, error) {
	r := &reader{values: values, known: map[string]bool{}}
	s := Settings{
		Stack:         r.match("stack", "Company", stackName, "a letter, then up to 39 letters, digits or hyphens"),
		Region:        r.match("region", "", regionName, "a region such as eu-central-1"),
		Architecture:  r.architecture("architecture", string(ArchitectureARM)),
		Image:         r.match("image", "", imageDigest, "an image by digest, name@sha256:<64 hex digits>; infra/image.sh push prints it"),
		Spot:          r.flag("spot", false),
		MaxSandboxes:  r.number("maxSandboxes", 20, 1000),
		MaxPending:    r.number("maxPending", 1000, 100_000),
		Database:      Database(r.oneOf("database", string(DatabaseDSQL), string(DatabaseDSQL), string(DatabaseURL))),
		SecretsPrefix: r.match("secretsPrefix", "company", secretName, "letters, digits and hyphens"),
		VPC:           r.match("vpc", "", vpcID, "a VPC's id, vpc-…"),
		Subnets:       r.list("subnets", subnetID, "subnet ids, separated by commas"),
		Egress:        Egress(r.oneOf("egress", string(EgressOpen), string(EgressOpen), string(EgressStrict))),
		Proxy:         r.match("proxy", "", proxyURL, "http://host:port of a proxy that the sandboxes can reach"),
		Executors:     r.path("executors", "executors.yaml", root),
		Prices:        r.path("prices", "", root),
		SignIn:        SignIn(r.oneOf("signIn", string(SignInOIDC), string(SignInOIDC), string(SignInCognito))),
		SignInDomain:  r.match("signInDomain", "", domainPrefix, "up to 63 of a-z, 0-9 and hyphens"),
		AdminGroup:    r.match("adminGroup", "company-admins", groupName, "up to 128 letters, digits, hyphens, dots or underscores"),
		Issuer:        r.match("issuer", "", issuerURL, "an https URL without query (http for a loopback address)"),
		Audience:      r.match("audience", "", audienceName, "one word"),
		PublicURL:     r.publicURL("publicUrl"),
		GitHosts:      r.value("gitHosts", ""),
		RetentionDays: r.number("retentionDays", 30, 3650),
		HistoryDays:   r.number("historyDays", 30, 3650),
		LogDays:       r.logDays("logDays", 30),
		AlarmEmail:    r.match("alarmEmail", "", emailAddress, "an e-mail address"),
		ModelProvider: ModelProvider(r.oneOf("modelProvider", string(ModelsOfAnthropic), string(ModelsOfAnthropic), string(ModelsOfBedrock))),
		SummaryTopics: r.list("summaryTopics", topicName, "name=arn:aws:sns:<region>:<account>:<topic>, separated by commas"),
	}
	s.Sandbox = r.architecture("sandboxArchitecture", string(s.Architecture))
	if s.DatabaseName = r.match("databaseSecret", "", secretName, "letters, digits and hyphens"); s.DatabaseName != "" && s.Database != DatabaseURL {
		r.fail("databaseSecret %q is for a database of your own; remove it or pass -c database=url", s.DatabaseName)
	}
	if s.DatabaseName == "" {
		s.DatabaseName = s.SecretsPrefix + "-database-url"
	}
	s.GroupsClaim = r.match("groupsClaim", defaultGroups(s.SignIn), groupsClaim, "a claim's name")
	s.Roles = r.roles("roles", root, s.AdminGroup)
	r.unknown()
	if r.err == nil {
		r.err = s.together()
	}
	if r.err == nil {
		s.Registry, r.err = readExecutors(s)
	}
	return s, r.err
}

// together is what no value can break alone.
func (s Settings) together() error {
	switch {
	case s.Image == "":
		return fmt.Errorf("image is missing: push one with infra/image.sh push and pass what it prints as -c image=…@sha256:…")
	case (s.VPC == "") != (len(s.Subnets) == 0):
		return fmt.Errorf("vpc and subnets go together: give both, or neither and a network of public subnets is made")
	case s.Egress == EgressStrict && s.Proxy == "":
		return fmt.Errorf("egress strict needs proxy: isolated subnets reach git hosts, models and the API through it alone")
	case s.Egress == EgressOpen && s.Proxy != "":
		return fmt.Errorf("proxy %q is for egress strict; remove it or pass -c egress=strict", s.Proxy)
	case s.SignIn == SignInOIDC && (s.Issuer == "" || s.Audience == ""):
		return fmt.Errorf("signIn oidc needs issuer and audience; pass both, or -c signIn=cognito -c signInDomain=<name> and a user pool is made")
	case s.SignIn == SignInOIDC && s.SignInDomain != "":
		return fmt.Errorf("signInDomain %q is for signIn cognito; remove it or pass -c signIn=cognito", s.SignInDomain)
	case s.SignIn == SignInCognito && (s.Issuer != "" || s.Audience != ""):
		return fmt.Errorf("signIn cognito makes issuer and audience itself; remove them or pass -c signIn=oidc")
	case s.SignIn == SignInCognito && s.SignInDomain == "":
		return fmt.Errorf("signIn cognito needs -c signInDomain=<name>, the first part of the hosted sign-in's name, unique in the region")
	}
	return nil
}

func defaultGroups(s SignIn) string {
	if s == SignInCognito {
		return "cognito:groups"
	}
	return "groups"
}

func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
}

func (r *reader) value(key, fallback string) string {
	r.known[key] = true
	if v, ok := r.values[key]; ok && v != "" {
		return v
	}
	return fallback
}

func (r *reader) oneOf(key, fallback string, allowed ...string) string {
	v := r.value(key, fallback)
	if !slices.Contains(allowed, v) {
		r.fail("%s %q is not one of %s", key, v, strings.Join(allowed, ", "))
	}
	return v
}

func (r *reader) flag(key string, fallback bool) bool {
	return r.oneOf(key, strconv.FormatBool(fallback), "true", "false") == "true"
}

// number is a whole number from 1 on.
func (r *reader) number(key string, fallback, most int) int {
	v := r.value(key, strconv.Itoa(fallback))
	n, err := strconv.Atoi(v)
	if err != nil || n < 1 || n > most {
		r.fail("%s %q is no whole number from 1 to %d", key, v, most)
	}
	return n
}

// unknown refuses keys that mean nothing, so that a misspelt one is not silently the default. Keys with a prefix are
// the CDK's own.
func (r *reader) unknown() {
	for _, key := range slices.Sorted(maps.Keys(r.values)) {
		if !r.known[key] && !strings.ContainsAny(key, ":@") {
			r.fail("%s is no setting; they are %s", key, strings.Join(slices.Sorted(maps.Keys(r.known)), ", "))
		}
	}
}
