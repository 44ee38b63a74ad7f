package main

import (
	"slices"
	"strings"
	"testing"
)

// statement is one permission of one role.
type statement struct {
	role      string // the id of the role
	actions   []string
	resources []any
	condition any
}

// statements of all roles' policies.
func (d *deployment) statements(t *testing.T) []statement {
	t.Helper()
	var all []statement
	for _, p := range d.of("AWS::IAM::Policy") {
		for _, raw := range p.at("PolicyDocument", "Statement").([]any) {
			s := raw.(map[string]any)
			for _, role := range p.Properties["Roles"].([]any) {
				st := statement{role: role.(map[string]any)["Ref"].(string), condition: s["Condition"]}
				for _, a := range list(s["Action"]) {
					st.actions = append(st.actions, a.(string))
				}
				st.resources = list(s["Resource"])
				all = append(all, st)
			}
		}
	}
	if len(all) < 20 {
		t.Fatalf("%d statements found", len(all))
	}
	return all
}

func list(v any) []any {
	if l, ok := v.([]any); ok {
		return l
	}
	return []any{v}
}

func TestOnlyDispatchHasRightsOnSandboxes(t *testing.T) {
	t.Parallel()
	every(t, func(t *testing.T, d *deployment) {
		var found []string
		for _, s := range d.statements(t) {
			for _, a := range s.actions {
				if strings.HasPrefix(a, "ecs:") || strings.HasPrefix(a, "iam:") {
					found = append(found, a)
					if !strings.HasPrefix(s.role, "dispatchrole") {
						t.Errorf("%s has %s", s.role, a)
					}
					if s.condition == nil {
						t.Errorf("%s without a condition", a)
					}
				}
			}
		}
		slices.Sort(found)
		if got := strings.Join(found, " "); got != "ecs:DescribeTasks ecs:ListTasks ecs:RunTask ecs:StopTask iam:PassRole" {
			t.Errorf("rights %s", got)
		}
		for _, s := range d.statements(t) {
			if slices.Contains(s.actions, "iam:PassRole") && !strings.Contains(text(t, s.condition), `"iam:PassedToService":"ecs-tasks.amazonaws.com"`) {
				t.Errorf("passes a role to %s", text(t, s.condition))
			}
		}
	})
}

// Actions and resources with a star, each known.
func TestWildcardsAreFewAndKnown(t *testing.T) {
	t.Parallel()
	known := map[string]bool{"ecr:GetAuthorizationToken": true, "ecs:ListTasks": true}
	every(t, func(t *testing.T, d *deployment) {
		for _, s := range d.statements(t) {
			for _, a := range s.actions {
				if strings.Contains(a, "*") {
					t.Errorf("%s has %s", s.role, a)
				}
				if slices.ContainsFunc(s.resources, func(r any) bool { return r == "*" }) && !known[a] {
					t.Errorf("%s has %s on everything", s.role, a)
				}
			}
		}
		for id, r := range d.of("AWS::IAM::Role") {
			if r.Properties["ManagedPolicyArns"] != nil || r.Properties["Policies"] != nil {
				t.Errorf("%s has policies that this test does not see", id)
			}
		}
	})
}

// The secrets of executors are read by two functions, one of them by a third for what proposals were made from, the database's by those that work on rows.
func TestWhoReadsSecrets(t *testing.T) {
	t.Parallel()
	every(t, func(t *testing.T, d *deployment) {
		for _, s := range d.statements(t) {
			if !slices.Contains(s.actions, "secretsmanager:GetSecretValue") {
				continue
			}
			under := strings.Contains(text(t, s.resources), ":secret:company/*")
			if under && !strings.HasPrefix(s.role, "apirole") && !strings.HasPrefix(s.role, "executerole") {
				t.Errorf("%s reads the executors' secrets", s.role)
			}
			token := strings.Contains(text(t, s.resources), ":secret:company/GITHUB_READ_TOKEN-??????") && strings.HasPrefix(s.role, "sweeprole")
			if !under && !token && !strings.Contains(text(t, s.resources), ":secret:company-database-url-??????") {
				t.Errorf("%s reads %s", s.role, text(t, s.resources))
			}
		}
	})
}

// The schema is one function's affair.
func TestOnlyMigrateIsAdminOfTheRows(t *testing.T) {
	t.Parallel()
	d := deployed(t, "default")
	connects := map[string]int{}
	for _, s := range d.statements(t) {
		for _, a := range s.actions {
			if strings.HasPrefix(a, "dsql:") {
				connects[a]++
				if (a == "dsql:DbConnectAdmin") != strings.HasPrefix(s.role, "migraterole") {
					t.Errorf("%s has %s", s.role, a)
				}
			}
		}
	}
	if connects["dsql:DbConnect"] != 4 || connects["dsql:DbConnectAdmin"] != 1 || len(connects) != 2 {
		t.Errorf("connections %v", connects)
	}
}
