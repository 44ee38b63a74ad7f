package setting

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"companyos/shared/company"
	"companyos/shared/executor"
)

// maxRoles leaves room in the 4 KiB that Lambda has for all variables of a function.
const maxRoles = 2048

// rights is the operator's file of rights, strict so that a misspelt key is not a right that nobody has.
type rights struct {
	AdminGroup string              `json:"admin_group"        yaml:"admin_group"`
	Groups     map[string][]string `json:"groups,omitempty"   yaml:"groups"`
	Disabled   []string            `json:"disabled,omitempty" yaml:"disabled"`
}

// roles reads the file of rights and names the first admin's group in it. JSON is YAML in one line.
func (r *reader) roles(key, root, adminGroup string) string {
	var all rights
	path := r.path(key, "", root)
	if path != "" && r.err == nil {
		text, err := os.ReadFile(path)
		if err == nil {
			d := yaml.NewDecoder(bytes.NewReader(text))
			d.KnownFields(true)
			err = d.Decode(&all)
		}
		if err != nil && !errors.Is(err, io.EOF) {
			r.fail("roles %q: %s", path, strings.ReplaceAll(err.Error(), "\n", " "))
		}
	}
	if all.AdminGroup != "" && all.AdminGroup != adminGroup {
		r.fail("roles %q has the admin_group %q, and adminGroup is %q; give one of them, as -c adminGroup=%s", path, all.AdminGroup, adminGroup, all.AdminGroup)
	}
	all.AdminGroup = adminGroup
	text, err := json.Marshal(all)
	if err != nil {
		r.fail("roles %q: %w", path, err)
	}
	if len(text) > maxRoles {
		r.fail("roles %q has %d bytes without its white space; a function's variables have room for %d", path, len(text), maxRoles)
	}
	return string(text)
}

// readExecutors parses the file as the functions will, so that a broken one is not deployed. Every harness but the
// fixture's counts as available: what the image holds is for the preflight to say.
func readExecutors(s Settings) (*executor.Registry, error) {
	hosts, err := company.ParseGitHosts(s.GitHosts)
	if err != nil {
		return nil, fmt.Errorf("gitHosts: %w", err)
	}
	o := executor.Options{File: filepath.Base(s.Executors), GitHosts: hosts, GitHostsIn: "gitHosts (-c gitHosts=https://…/)"}
	if s.Prices != "" {
		text, err := os.ReadFile(s.Prices)
		if err != nil {
			return nil, fmt.Errorf("prices: %w", err)
		}
		if o.Prices, err = executor.ParsePrices(text, filepath.Base(s.Prices)); err != nil {
			return nil, fmt.Errorf("prices: %w", err)
		}
	}
	text, err := os.ReadFile(s.Executors)
	if err != nil {
		return nil, fmt.Errorf("executors: %w", err)
	}
	registry, err := executor.Parse(text, o)
	if err != nil {
		return nil, fmt.Errorf("executors: %w", err)
	}
	return registry, nil
}

// modelKey is the secret by which Anthropic answers agents without a sandbox.
const modelKey = "ANTHROPIC_API_KEY"

// SecretNames are the secrets of executors, without the prefix: those that they hand to their sandboxes, and the model's.
func (s Settings) SecretNames() []string {
	var names []string
	for _, e := range s.Registry.All() {
		if e.Sandbox != nil {
			names = append(names, e.Sandbox.Secrets...)
		}
		if e.Harness == executor.HarnessModel && s.ModelProvider == ModelsOfAnthropic {
			names = append(names, modelKey)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
