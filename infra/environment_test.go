package main

import (
	"log/slog"
	"slices"
	"strings"
	"testing"

	"companyos/shared/config"
)

// readers are how the functions read what they are given; each returns every setting that it knows.
var readers = map[string]func() ([]slog.Attr, error){
	"api":      func() ([]slog.Attr, error) { c, err := config.ReadAPI(); return c.Values, err },
	"dispatch": func() ([]slog.Attr, error) { c, err := config.ReadDispatch(); return c.Values, err },
	"execute":  func() ([]slog.Attr, error) { c, err := config.ReadExecute(); return c.Values, err },
	"sweep":    func() ([]slog.Attr, error) { c, err := config.ReadSweep(); return c.Values, err },
	"migrate":  func() ([]slog.Attr, error) { c, err := config.ReadMigrate(); return c.Values, err },
}

// unset are the settings that no deployment gives, by function; "" stands for all.
var unset = map[string][]string{
	"":         {"database-url"}, // a URL holds a password: it is a secret's name that is given
	"api":      {"jwt-hs256-secret", "tick-cron"},
	"dispatch": {"roles", "secrets-prefix", "tick-cron"}, // it decides nothing by a person's rights
	"execute":  {"anthropic-base-url", "public-url", "tick-cron"},
	"sweep":    {"public-url", "tick-cron"},
}

// Each function finds in its environment what it needs to start, and a setting that it reads is one that a deployment can
// give: otherwise it would have its default for ever.
func TestFunctionsStartWithWhatTheyAreGiven(t *testing.T) {
	for name, read := range readers {
		given := map[string]bool{}
		for variant := range variants {
			t.Run(variant+"/"+name, func(t *testing.T) {
				variables, _ := deployed(t, variant).of("AWS::Lambda::Function")[name].at("Environment", "Variables").(map[string]any)
				for key, value := range variables {
					v, ok := value.(string)
					if !ok {
						v = "known-at-deployment"
					}
					t.Setenv(key, v)
					given[key] = true
				}
				values, err := read()
				if err != nil {
					t.Error(err)
				}
				for _, v := range values {
					given[v.Key] = given[v.Key] || false
				}
			})
		}
		for key, ok := range given {
			variable := "COMPANY_" + strings.ToUpper(strings.ReplaceAll(key, "-", "_"))
			if excepted := slices.Contains(unset[""], key) || slices.Contains(unset[name], key); ok || given[variable] == !excepted {
				continue
			}
			t.Errorf("%s: %s given: %v", name, variable, given[variable])
		}
	}
}

// The automation's schedule is said to people as it is.
func TestTheTickIsAsItIsSaid(t *testing.T) {
	t.Parallel()
	for _, r := range deployed(t, "default").of("AWS::Scheduler::Schedule") {
		if got := r.at("ScheduleExpression"); got != "cron(0 * * * ? *)" {
			t.Errorf("it ticks at %v, and a setting's default says 0 * * * *", got)
		}
	}
}

// What is kept how long reaches the function that removes the rest.
func TestRetentionReachesTheSweep(t *testing.T) {
	variables, _ := deployed(t, "given").of("AWS::Lambda::Function")["sweep"].at("Environment", "Variables").(map[string]any)
	for key, value := range variables {
		v, ok := value.(string)
		if !ok {
			v = "known-at-deployment"
		}
		t.Setenv(key, v)
	}
	c, err := config.ReadSweep()
	if err != nil || c.RetentionDays != 7 || c.AutomationHistoryRetention != 90 {
		t.Errorf("%d days of artifacts, %d days of history: %v", c.RetentionDays, c.AutomationHistoryRetention, err)
	}
}

// A setting that a deployment gives to a function which does not read it would be a right or a limit that nobody has.
func TestFunctionsAreGivenNothingElse(t *testing.T) {
	t.Parallel()
	only := map[string][]string{
		"COMPANY_JWT_ISSUER": {"api"}, "COMPANY_JWT_AUDIENCE": {"api"}, "COMPANY_ROLES": {"api", "execute", "sweep"}, "COMPANY_GROUPS_CLAIM": {"api"},
		"COMPANY_SECRETS_PREFIX": {"api", "execute", "sweep"}, "COMPANY_PUBLIC_URL": {"api", "dispatch"},
		"COMPANY_CLUSTER": {"dispatch"}, "COMPANY_TASK_DEFINITION": {"dispatch"}, "COMPANY_SUBNETS": {"dispatch"},
		"COMPANY_SECURITY_GROUPS": {"dispatch"}, "COMPANY_CAPACITY_PROVIDER": {"dispatch"}, "COMPANY_ASSIGN_PUBLIC_IP": {"dispatch"},
		"COMPANY_MODEL_PROVIDER": {"execute"}, "COMPANY_SUMMARY_TOPICS": {"execute"},
		"COMPANY_RETENTION_DAYS": {"sweep"}, "COMPANY_AUTOMATION_HISTORY_RETENTION_DAYS": {"sweep"},
	}
	every(t, func(t *testing.T, d *deployment) {
		for name, f := range d.of("AWS::Lambda::Function") {
			variables, _ := f.at("Environment", "Variables").(map[string]any)
			for key := range variables {
				if to, limited := only[key]; limited && !slices.Contains(to, name) {
					t.Errorf("%s is given %s", name, key)
				}
				if name == "migrate" && !strings.HasPrefix(key, "COMPANY_D") {
					t.Errorf("migrate is given %s", key)
				}
			}
		}
	})
}
