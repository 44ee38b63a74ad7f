package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"companyos/infra/setting"
	"companyos/infra/stack"
)

// every runs a check on each variant.
func every(t *testing.T, check func(t *testing.T, d *deployment)) {
	t.Helper()
	for name := range variants {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t, deployed(t, name))
		})
	}
}

func (r resource) number(path ...string) float64 {
	n, _ := r.at(path...).(float64)
	return n
}

// at walks into the properties; nil where the way ends.
func (r resource) at(path ...string) any {
	var v any = r.Properties
	for _, p := range path {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[p]
	}
	return v
}

// getAtt is the id in {"Fn::GetAtt": [id, attribute]}.
func getAtt(v any) string {
	m, _ := v.(map[string]any)
	list, _ := m["Fn::GetAtt"].([]any)
	if len(list) == 0 {
		return ""
	}
	id, _ := list[0].(string)
	return id
}

func TestQueuesWaitLongerThanTheirFunctions(t *testing.T) {
	t.Parallel()
	every(t, func(t *testing.T, d *deployment) {
		queues, functions := d.of("AWS::SQS::Queue"), d.of("AWS::Lambda::Function")
		mappings := d.of("AWS::Lambda::EventSourceMapping")
		if len(mappings) != 2 {
			t.Errorf("%d mappings, want 2", len(mappings))
		}
		for id, m := range mappings {
			queue := queues[getAtt(m.Properties["EventSourceArn"])]
			function := functions[m.at("FunctionName", "Ref").(string)]
			if v, timeout := queue.number("VisibilityTimeout"), function.number("Timeout"); timeout == 0 || v < 6*timeout {
				t.Errorf("%s: visibility %v s, timeout %v s", id, v, timeout)
			}
			if got := text(t, m.Properties["FunctionResponseTypes"]); got != `["ReportBatchItemFailures"]` {
				t.Errorf("%s: response types %s", id, got)
			}
			if n := m.number("ScalingConfig", "MaximumConcurrency"); n < 2 {
				t.Errorf("%s: concurrency %v", id, n)
			}
			if n := queue.number("RedrivePolicy", "maxReceiveCount"); n < 5 {
				t.Errorf("%s: received %v times", id, n)
			}
			dead := queues[getAtt(queue.at("RedrivePolicy", "deadLetterTargetArn"))]
			if dead.number("MessageRetentionPeriod") <= queue.number("MessageRetentionPeriod") {
				t.Errorf("%s: its dead letters die first: %v s", id, dead.number("MessageRetentionPeriod"))
			}
		}
	})
}

// A reminder is a message that its own reader sent. Lambda drops such a chain after sixteen unless it is told not to.
func TestRemindersAreNotTakenForALoop(t *testing.T) {
	t.Parallel()
	every(t, func(t *testing.T, d *deployment) {
		for id, want := range map[string]string{"api": "Terminate", "dispatch": "Allow", "execute": "Allow", "sweep": "Terminate", "migrate": "Terminate"} {
			if got := d.of("AWS::Lambda::Function")[id].at("RecursiveLoop"); got != want {
				t.Errorf("%s: %v, want %s", id, got, want)
			}
		}
	})
}

func TestFunctions(t *testing.T) {
	t.Parallel()
	every(t, func(t *testing.T, d *deployment) {
		functions := d.of("AWS::Lambda::Function")
		for _, name := range stack.Functions() {
			f, ok := functions[name]
			if !ok {
				t.Fatalf("no function %s", name)
			}
			if f.Properties["VpcConfig"] != nil || f.number("MemorySize") != 512 || f.Properties["Runtime"] != "provided.al2023" ||
				text(t, f.Properties["Architectures"]) != fmt.Sprintf("[%q]", d.settings.Architecture) {
				t.Errorf("%s: %s", name, text(t, f.Properties))
			}
			delete(functions, name)
		}
		if len(functions) != 0 {
			t.Errorf("functions that nobody asked for: %v", functions)
		}
		// A start's wake comes after 30 s. By then its request has committed or is dead.
		if n := d.of("AWS::Lambda::Function")["api"].number("Timeout"); n != 25 {
			t.Errorf("api ends after %v s", n)
		}
		permissions := map[string]int{}
		for _, p := range d.of("AWS::Lambda::Permission") {
			permissions[getAtt(p.Properties["FunctionName"])]++
		}
		for name, n := range permissions {
			if n > 5 {
				t.Errorf("%s has %d permissions", name, n)
			}
		}
		if permissions["api"] != 3 {
			t.Errorf("permissions %v", permissions)
		}
	})
}

func TestRoutes(t *testing.T) {
	t.Parallel()
	every(t, func(t *testing.T, d *deployment) {
		var keys []string
		for _, r := range d.of("AWS::ApiGatewayV2::Route") {
			keys = append(keys, r.Properties["RouteKey"].(string))
		}
		slices.Sort(keys)
		if got := strings.Join(keys, ", "); got != "$default, ANY /company/{proxy+}, ANY /sandbox/{proxy+}" {
			t.Errorf("routes %s", got)
		}
		for id, s := range d.of("AWS::ApiGatewayV2::Stage") {
			if s.number("DefaultRouteSettings", "ThrottlingRateLimit") == 0 || s.number("RouteSettings", "ANY /sandbox/{proxy+}", "ThrottlingRateLimit") == 0 {
				t.Errorf("%s: %s", id, text(t, s.Properties))
			}
		}
	})
}

// What costs while nothing runs is there only for those who asked for it.
func TestIdleCostsNothingThatCanBeAvoided(t *testing.T) {
	t.Parallel()
	every(t, func(t *testing.T, d *deployment) {
		for _, kind := range []string{"AWS::EC2::NatGateway", "AWS::EC2::EIP", "AWS::KMS::Key", "AWS::RDS::DBProxy", "AWS::SecretsManager::Secret"} {
			if found := d.of(kind); len(found) > 0 {
				t.Errorf("%s: %v", kind, found)
			}
		}
		if n := len(d.of("AWS::EC2::VPCEndpoint")); (n > 0) != (d.settings.Egress == setting.EgressStrict) {
			t.Errorf("%d endpoints", n)
		}
	})
}

func TestSandboxesAreClosed(t *testing.T) {
	t.Parallel()
	every(t, func(t *testing.T, d *deployment) {
		for id, r := range d.of("AWS::ECS::TaskDefinition") {
			if r.Properties["TaskRoleArn"] != nil {
				t.Errorf("%s has a task role", id)
			}
			c := resource{Properties: r.Properties["ContainerDefinitions"].([]any)[0].(map[string]any)}
			if c.Properties["ReadonlyRootFilesystem"] != true || c.number("StopTimeout") != 120 || c.at("LogConfiguration", "Options", "mode") != "non-blocking" ||
				!strings.Contains(c.Properties["Image"].(string), "@sha256:") || c.Properties["Secrets"] != nil {
				t.Errorf("%s: %s", id, text(t, c.Properties))
			}
			// What is not dropped is what the supervisor needs to give its agent another uid and to end it.
			dropped := text(t, c.at("LinuxParameters", "Capabilities", "Drop"))
			for _, kept := range []string{"CHOWN", "SETUID", "SETGID", "KILL"} {
				if strings.Contains(dropped, `"`+kept+`"`) {
					t.Errorf("%s drops %s", id, kept)
				}
			}
			if strings.Count(dropped, `"`)/2 != 10 {
				t.Errorf("%s drops %s", id, dropped)
			}
		}
		for id, g := range d.of("AWS::EC2::SecurityGroup") {
			if strings.Contains(id, "sandboxes") && g.Properties["SecurityGroupIngress"] != nil {
				t.Errorf("%s: ingress", id)
			}
		}
	})
}

// The event of a stopped task holds the launch's overrides and so its token. Only the run may pass.
func TestNoOverrideReachesAQueue(t *testing.T) {
	t.Parallel()
	every(t, func(t *testing.T, d *deployment) {
		rules := d.of("AWS::Events::Rule")
		if len(rules) != 1 {
			t.Fatalf("%d rules", len(rules))
		}
		for _, r := range rules {
			target := resource{Properties: r.Properties["Targets"].([]any)[0].(map[string]any)}
			if got := text(t, target.Properties["InputTransformer"]); got != `{"InputPathsMap":{"detail-startedBy":"$.detail.startedBy"},"InputTemplate":"{\"run\":\u003cdetail-startedBy\u003e,\"v\":1}"}` {
				t.Errorf("transformed to %s", got)
			}
		}
	})
}

// secretNames are names of variables that would hold a secret.
var secretNames = regexp.MustCompile(`(?i)(password|token|api_key|secret$|hs256|database_url|credential)`)

func TestNoSecretInAnyEnvironment(t *testing.T) {
	t.Parallel()
	every(t, func(t *testing.T, d *deployment) {
		for id, f := range d.of("AWS::Lambda::Function") {
			variables, _ := f.at("Environment", "Variables").(map[string]any)
			for name, value := range variables {
				// The name of the secret with the URL is not the secret.
				if secretNames.MatchString(name) && name != "COMPANY_DATABASE_SECRET" {
					t.Errorf("%s: %s", id, name)
				}
				if v := text(t, value); strings.Contains(v, "{{resolve:") || strings.Contains(v, "postgres://") {
					t.Errorf("%s: %s is %s", id, name, v)
				}
			}
		}
		for _, r := range d.of("AWS::ECS::TaskDefinition") {
			if v := text(t, r.Properties); strings.Contains(v, "{{resolve:") || strings.Contains(v, "secretsmanager") {
				t.Errorf("task definition: %s", v)
			}
		}
	})
}
