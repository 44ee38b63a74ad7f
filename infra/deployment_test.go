package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"companyos/infra/setting"
	"companyos/infra/stack"
)

const (
	repository  = "123456789012.dkr.ecr.eu-central-1.amazonaws.com/company-sandbox"
	imageDigest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
)

// variants are the deployments that the tests look at. Each is synthesized once.
var variants = map[string]map[string]string{
	"default": {"issuer": "https://id.example.com", "audience": "company"},
	"url":     {"issuer": "https://id.example.com", "audience": "company", "database": "url", "architecture": "x86_64", "spot": "true", "alarmEmail": "ops@example.com"},
	"strict":  {"issuer": "https://id.example.com", "audience": "company", "egress": "strict", "proxy": "http://proxy.internal:3128"},
	"given": {
		"issuer": "https://id.example.com", "audience": "company", "vpc": "vpc-0123456789abcdef0", "subnets": "subnet-0123456789abcdef0,subnet-0123456789abcdef1", "publicUrl": "https://company.example.com",
		"modelProvider": "bedrock", "gitHosts": "https://git.example.com", "summaryTopics": "news=arn:aws:sns:eu-central-1:123456789012:news",
		"retentionDays": "7", "historyDays": "90",
	},
	"cognito": {"signIn": "cognito", "signInDomain": "acme-company"},
}

// deployment is what one variant became: its stacks' templates, and the findings of cdk-nag.
type deployment struct {
	settings setting.Settings
	dir      string
	stacks   map[string]template
	findings error
}

type template struct {
	Resources map[string]resource
	Outputs   map[string]any
}

type resource struct {
	Type       string
	Properties map[string]any
	Metadata   map[string]any
	DependsOn  any
}

var (
	synthesized = map[string]func() (*deployment, error){}
	synthesize  sync.Mutex
)

// deployed returns a variant. A cloud assembly takes seconds, so tests share it.
func deployed(t *testing.T, name string) *deployment {
	t.Helper()
	synthesize.Lock()
	if synthesized[name] == nil {
		synthesized[name] = sync.OnceValues(func() (*deployment, error) { return deploy(name) })
	}
	once := synthesized[name]
	synthesize.Unlock()
	d, err := once()
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func deploy(name string) (*deployment, error) {
	values := map[string]string{"image": repository + "@" + imageDigest, "executors": "shared/executor/example.yaml", "prices": "shared/executor/prices.example.yaml"}
	maps.Copy(values, variants[name])
	s, err := setting.Read(values, "..")
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(work, name)
	code := stack.Code{Zips: map[string]string{}, Migrations: "0000000000000000"}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	for _, fn := range stack.Functions() {
		code.Zips[fn] = filepath.Join(dir, fn+".zip")
		if err := os.WriteFile(code.Zips[fn], []byte(fn), 0o600); err != nil {
			return nil, err
		}
	}
	synthesize.Lock() // the CDK's process takes one app after the other
	assembly := newApp(filepath.Join(dir, "out"), s, code)
	d := &deployment{settings: s, dir: filepath.Join(dir, "out"), stacks: map[string]template{}, findings: findings(assembly)}
	synthesize.Unlock()
	paths, err := filepath.Glob(filepath.Join(d.dir, "*.template.json"))
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		var read template
		if err := json.Unmarshal(text, &read); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		d.stacks[strings.TrimSuffix(filepath.Base(path), ".template.json")] = read
	}
	return d, nil
}

// of are the resources of a type in all stacks, by id.
func (d *deployment) of(kind string) map[string]resource {
	found := map[string]resource{}
	for _, s := range d.stacks {
		for id, r := range s.Resources {
			if r.Type == kind {
				found[id] = r
			}
		}
	}
	return found
}

// text is a value as compact JSON.
func text(t *testing.T, value any) string {
	t.Helper()
	out, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}
