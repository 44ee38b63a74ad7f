package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The events of ECS in events/ecs go through the rule of the template: those of a stopped task become the message that
// names its run, the others nothing. The token in their overrides is in no message.
func TestStoppedTasksBecomeMessages(t *testing.T) {
	t.Parallel()
	var rule resource
	for _, r := range deployed(t, "default").of("AWS::Events::Rule") {
		rule = r
	}
	paths, err := filepath.Glob("../events/ecs/*.json")
	if err != nil || len(paths) < 5 {
		t.Fatalf("%d events, %v", len(paths), err)
	}
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var event map[string]any
		if err := json.Unmarshal(raw, &event); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(raw), "COMPANY_LAUNCH_TOKEN") {
			t.Errorf("%s has no token, so it shows nothing", path)
		}
		want := `{"run":"3c5a9c1e-6f0b-5d0e-8f5e-0c1f2d3e4a5b/1","v":1}`
		if strings.HasSuffix(path, "running.json") {
			want = ""
		}
		if got := routed(t, rule, event); got != want {
			t.Errorf("%s became %q, want %q", path, got, want)
		}
	}
}

// routed is what a rule makes of an event: the message, or nothing where its pattern does not match.
func routed(t *testing.T, rule resource, event map[string]any) string {
	t.Helper()
	if !matches(rule.Properties["EventPattern"], event) {
		return ""
	}
	target := resource{Properties: rule.Properties["Targets"].([]any)[0].(map[string]any)}
	message := target.at("InputTransformer", "InputTemplate").(string)
	for name, path := range target.at("InputTransformer", "InputPathsMap").(map[string]any) {
		var value any = event
		for _, key := range strings.Split(strings.TrimPrefix(path.(string), "$."), ".") {
			value = value.(map[string]any)[key]
		}
		message = strings.ReplaceAll(message, "<"+name+">", text(t, value))
	}
	return message
}

// matches is the part of EventBridge's patterns that the rule uses: lists of values, and exists.
func matches(pattern, value any) bool {
	switch p := pattern.(type) {
	case map[string]any:
		fields, ok := value.(map[string]any)
		for key, sub := range p {
			ok = ok && matches(sub, fields[key])
		}
		return ok
	case []any:
		for _, allowed := range p {
			m, isMap := allowed.(map[string]any)
			switch {
			case isMap && m["exists"] == true && value != nil, isMap && getAtt(allowed) != "" && value != nil, allowed == value:
				return true
			}
		}
	}
	return false
}
