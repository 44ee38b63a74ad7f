package config

import (
	"fmt"
	"strings"
	"testing"
)

// set gives the environment of a function. These tests are not parallel: an environment is the process's.
func setenv(t *testing.T, env map[string]string) {
	t.Helper()
	for name, value := range env {
		t.Setenv(name, value)
	}
}

func company(more map[string]string) map[string]string {
	env := map[string]string{
		"AWS_REGION": "eu-central-1", "COMPANY_DSQL_ENDPOINT": "abc.dsql.eu-central-1.on.aws", "COMPANY_EXECUTORS": "s3://b/k",
		"COMPANY_ATTEMPTS_QUEUE_URL": "https://sqs/a", "COMPANY_WORK_QUEUE_URL": "https://sqs/w", "COMPANY_ARTIFACTS_BUCKET": "bucket",
	}
	for name, value := range more {
		env[name] = value
	}
	return env
}

// Every missing name is in one message.
func TestMissingSettingsAreNamedTogether(t *testing.T) { // the environment
	all := "COMPANY_DSQL_ENDPOINT or COMPANY_DATABASE_SECRET or COMPANY_DATABASE_URL, COMPANY_EXECUTORS, COMPANY_ATTEMPTS_QUEUE_URL, COMPANY_WORK_QUEUE_URL, COMPANY_ARTIFACTS_BUCKET"
	for name, tt := range map[string]struct {
		read func() error
		want string
	}{
		"api":      {func() error { _, err := ReadAPI(); return err }, all + ", COMPANY_SECRETS_PREFIX, COMPANY_JWT_ISSUER or COMPANY_JWT_HS256_SECRET"},
		"dispatch": {func() error { _, err := ReadDispatch(); return err }, all + ", COMPANY_CLUSTER, COMPANY_TASK_DEFINITION, COMPANY_SUBNETS, COMPANY_SECURITY_GROUPS, COMPANY_PUBLIC_URL"},
		"execute":  {func() error { _, err := ReadExecute(); return err }, all},
		"sweep":    {func() error { _, err := ReadSweep(); return err }, all},
		"migrate":  {func() error { _, err := ReadMigrate(); return err }, "COMPANY_DSQL_ENDPOINT or COMPANY_DATABASE_SECRET or COMPANY_DATABASE_URL"},
	} {
		if err := tt.read(); err == nil || err.Error() != "these settings are missing: "+tt.want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestReadDispatch(t *testing.T) { // the environment
	setenv(t, company(map[string]string{
		"COMPANY_CLUSTER": "c", "COMPANY_TASK_DEFINITION": "t:1", "COMPANY_SUBNETS": "subnet-a, subnet-b,", "COMPANY_SECURITY_GROUPS": "sg-1",
		"COMPANY_PUBLIC_URL": "https://company.example/", "COMPANY_ASSIGN_PUBLIC_IP": "false", "COMPANY_CAPACITY_PROVIDER": "FARGATE_SPOT",
		"COMPANY_MAX_SANDBOXES": "3", "COMPANY_SECRETS_PREFIX": "company/", "COMPANY_DATABASE_URL": "postgres://u:hunter2@h/d",
	}))
	c, err := ReadDispatch()
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Subnets) != 2 || c.Subnets[1] != "subnet-b" || c.AssignPublicIP || c.CapacityProvider != "FARGATE_SPOT" || c.MaxSandboxes != 3 ||
		c.MaxPending != 1000 || c.PublicURL != "https://company.example" || c.SecretsPrefix != "company" || c.Database.Region != "eu-central-1" || c.Database.DSQLUser != "company" {
		t.Errorf("%+v", c)
	}
	if values := fmt.Sprint(c.Values); strings.Contains(values, "hunter2") || !strings.Contains(values, "subnet-a") {
		t.Errorf("what is logged: %s", values)
	}
}

func TestWrongSettingsAreRefused(t *testing.T) {
	for name, value := range map[string]string{"COMPANY_CAPACITY_PROVIDER": "EC2", "COMPANY_MAX_SANDBOXES": "0", "COMPANY_MAX_PENDING": "many", "COMPANY_ASSIGN_PUBLIC_IP": "perhaps"} {
		t.Run(name, func(t *testing.T) { // the environment
			setenv(t, company(map[string]string{"COMPANY_CLUSTER": "c", "COMPANY_TASK_DEFINITION": "t:1", "COMPANY_SUBNETS": "s", "COMPANY_SECURITY_GROUPS": "g", "COMPANY_PUBLIC_URL": "https://x"}))
			t.Setenv(name, value)
			if _, err := ReadDispatch(); err == nil || !strings.Contains(strings.ToUpper(strings.ReplaceAll(err.Error(), "-", "_")), strings.TrimPrefix(name, "COMPANY_")) {
				t.Errorf("%v", err)
			}
		})
	}
}
