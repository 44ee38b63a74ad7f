package setting_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"companyos/infra/setting"
	"companyos/shared/executor"
	"companyos/shared/task"
)

const digest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// deployment is the least that a deployment says, in a folder with its executors file.
func deployment(t *testing.T, with map[string]string) (map[string]string, string) {
	t.Helper()
	root := t.TempDir()
	files := map[string]string{
		"executors.yaml": "agents:\n  - {id: rehearsal, harness: fixture, repository: {url: https://github.com/octocat/Hello-World}, sandbox: {secrets: [B_KEY, A_KEY]}}\n",
		"elsewhere.yaml": "agents:\n  - {id: rehearsal, harness: fixture, repository: {url: https://git.example.com/octocat/Hello-World}, sandbox: }\n",
		"broken.yaml":    "agents:\n  - {id: UPPER, harness: fixture}\n",
		"roles.yaml":     "groups:\n  engineers: [\"tasks:read\"]\n",
		"chiefs.yaml":    "admin_group: chiefs\n",
		"typo.yaml":      "grupos: {}\n",
		"large.yaml":     "disabled: [" + strings.Repeat("somebody-who-left, ", 150) + "]\n",
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	values := map[string]string{"image": "123456789012.dkr.ecr.eu-central-1.amazonaws.com/company-sandbox@" + digest, "issuer": "https://id.example.com/", "audience": "company"}
	maps.Copy(values, with)
	return values, root
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	s, err := setting.Read(deployment(t, nil))
	if err != nil {
		t.Fatal(err)
	}
	if s.Architecture != setting.ArchitectureARM || s.Sandbox != setting.ArchitectureARM || s.Database != setting.DatabaseDSQL || s.Egress != setting.EgressOpen ||
		s.MaxSandboxes != 20 || s.MaxPending != 1000 || s.RetentionDays != 30 || s.HistoryDays != 30 || s.Spot || s.DatabaseName != "company-database-url" || s.GroupsClaim != "groups" {
		t.Errorf("defaults are %+v", s)
	}
	if got := strings.Join(s.SecretNames(), " "); got != "A_KEY B_KEY" {
		t.Errorf("secrets %q", got)
	}
	s.Registry, err = executor.NewRegistry(nil, executor.Executor{Kind: task.ExecutorAgent, ID: "writer", Harness: executor.HarnessModel, Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(s.SecretNames(), " "); got != "ANTHROPIC_API_KEY" {
		t.Errorf("an agent without a sandbox needs the secrets %q", got)
	}
	if s.Roles != `{"admin_group":"company-admins"}` {
		t.Errorf("roles %s", s.Roles)
	}
}

func TestChoices(t *testing.T) {
	t.Parallel()
	s, err := setting.Read(deployment(t, map[string]string{
		"signIn": "cognito", "signInDomain": "acme", "issuer": "", "audience": "", "adminGroup": "chiefs", "roles": "roles.yaml",
		"architecture": "host", "spot": "true", "vpc": "vpc-0a", "subnets": "subnet-0a, subnet-0b", "aws:cdk:enable-path-metadata": "true",
	}))
	if err != nil {
		t.Fatal(err)
	}
	if s.Roles != `{"admin_group":"chiefs","groups":{"engineers":["tasks:read"]}}` || s.GroupsClaim != "cognito:groups" {
		t.Errorf("roles %s, claim %s", s.Roles, s.GroupsClaim)
	}
	if s.Architecture.GoArch() != runtime.GOARCH || s.Sandbox != s.Architecture || !s.Spot || len(s.Subnets) != 2 {
		t.Errorf("%+v", s)
	}
}

func TestWhereTheCompanyIsReached(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"":                             "",
		"https://company.example.com/": "https://company.example.com",
		"http://127.0.0.1:7070":        "http://127.0.0.1:7070",
		"http://localhost:7070":        "http://localhost:7070",
		"http://172.17.0.1:4000":       "http://172.17.0.1:4000",
		"http://[fd00::1]:4000":        "http://[fd00::1]:4000",
	} {
		s, err := setting.Read(deployment(t, map[string]string{"publicUrl": given}))
		if err != nil || s.PublicURL != want {
			t.Errorf("%q became %q, %v", given, s.PublicURL, err)
		}
	}
}

func TestWrongValuesAreOneSentence(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		with map[string]string
		says string
	}{
		"no image":            {map[string]string{"image": ""}, "infra/image.sh push"},
		"image by tag":        {map[string]string{"image": "company-sandbox:latest"}, "by digest"},
		"architecture":        {map[string]string{"architecture": "mips"}, "arm64, x86_64, host"},
		"number":              {map[string]string{"maxSandboxes": "many"}, "from 1 to 1000"},
		"zero":                {map[string]string{"maxSandboxes": "0"}, "from 1 to 1000"},
		"truth":               {map[string]string{"spot": "yes"}, "true, false"},
		"vpc alone":           {map[string]string{"vpc": "vpc-0a"}, "go together"},
		"subnet":              {map[string]string{"vpc": "vpc-0a", "subnets": "a"}, "subnet ids"},
		"region":              {map[string]string{"region": "Frankfurt"}, "eu-central-1"},
		"strict alone":        {map[string]string{"egress": "strict"}, "needs proxy"},
		"proxy alone":         {map[string]string{"proxy": "http://proxy.internal:3128"}, "egress strict"},
		"issuer without tls":  {map[string]string{"issuer": "http://id.example.com"}, "https"},
		"no issuer":           {map[string]string{"issuer": ""}, "signIn=cognito"},
		"cognito and issuer":  {map[string]string{"signIn": "cognito"}, "makes issuer"},
		"cognito, no domain":  {map[string]string{"signIn": "cognito", "issuer": "", "audience": ""}, "signInDomain"},
		"no executors":        {map[string]string{"executors": "nowhere.yaml"}, "no file"},
		"broken executors":    {map[string]string{"executors": "broken.yaml"}, "broken.yaml:2"},
		"roles with a typo":   {map[string]string{"roles": "typo.yaml"}, "grupos"},
		"two admin groups":    {map[string]string{"roles": "chiefs.yaml"}, "-c adminGroup=chiefs"},
		"too many roles":      {map[string]string{"roles": "large.yaml"}, "room for 2048"},
		"git host over http":  {map[string]string{"gitHosts": "http://git.example.com"}, "gitHosts"},
		"model provider":      {map[string]string{"modelProvider": "openai"}, "anthropic, bedrock"},
		"topic without name":  {map[string]string{"summaryTopics": "arn:aws:sns:eu-central-1:123456789012:news"}, "name=arn"},
		"log days":            {map[string]string{"logDays": "31"}, "not one of 1, 3"},
		"misspelt key":        {map[string]string{"maxSandbox": "3"}, "maxSandbox is no setting"},
		"stack name":          {map[string]string{"stack": "1st"}, "a letter"},
		"secret, no url":      {map[string]string{"databaseSecret": "my-url"}, "-c database=url"},
		"domain, no cognito":  {map[string]string{"signInDomain": "acme"}, "-c signIn=cognito"},
		"public over http":    {map[string]string{"publicUrl": "http://company.example.com"}, "an https URL"},
		"public in the clear": {map[string]string{"publicUrl": "http://93.184.216.34"}, "an https URL"},
		"public with a user":  {map[string]string{"publicUrl": "https://me:secret@company.example.com"}, "an https URL"},
		"another git host":    {map[string]string{"executors": "elsewhere.yaml"}, "-c gitHosts="},
		"secret under prefix": {map[string]string{"database": "url", "databaseSecret": "company/url"}, "letters, digits"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := setting.Read(deployment(t, c.with))
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("says %v; want something with %q", err, c.says)
			}
			if err != nil && strings.Contains(err.Error(), "\n") {
				t.Errorf("more than one line: %v", err)
			}
		})
	}
}

func TestLaterValuesWin(t *testing.T) {
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "cdk.json"), []byte(`{"context":{"a":"file","b":"file","n":3,"list":[1]}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("CDK_CONTEXT_JSON", `{"b":"cli","c":"cli"}`)
	values, rest, err := setting.Values(root, []string{"synth", "-c", "c=argument=1"})
	if err != nil {
		t.Fatal(err)
	}
	if want := map[string]string{"a": "file", "b": "cli", "c": "argument=1", "n": "3"}; !maps.Equal(values, want) || len(rest) != 1 || rest[0] != "synth" {
		t.Errorf("values %v, rest %v", values, rest)
	}
	for _, args := range [][]string{{"-c"}, {"-c", "novalue"}} {
		if _, _, err := setting.Values(root, args); err == nil {
			t.Errorf("%v is taken", args)
		}
	}
}

// The page of settings names every one, and no other.
func TestThePageNamesEverySetting(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	values, root := deployment(t, map[string]string{"nothing": "1"})
	if _, err = setting.Read(values, root); err == nil {
		t.Fatal("an unknown setting is taken")
	}
	_, list, _ := strings.Cut(err.Error(), "they are ")
	known := strings.Split(list, ", ")
	var told []string
	for _, row := range regexp.MustCompile("(?m)^\\| `([A-Za-z]+)` ").FindAllStringSubmatch(string(page), -1) {
		told = append(told, row[1])
	}
	slices.Sort(told)
	if !slices.Equal(told, known) {
		t.Errorf("the page names\n%v\nand the settings are\n%v", told, known)
	}
}
