package main

import (
	"slices"
	"strings"
	"testing"

	"companyos/shared/config"
)

// readers are how the functions read what they are given.
var readers = map[string]func() error{
	"api":      func() error { _, err := config.ReadAPI(); return err },
	"dispatch": func() error { _, err := config.ReadDispatch(); return err },
	"execute":  func() error { _, err := config.ReadExecute(); return err },
	"sweep":    func() error { _, err := config.ReadSweep(); return err },
	"migrate":  func() error { _, err := config.ReadMigrate(); return err },
}

// Each function finds in its environment what it needs to start.
func TestFunctionsStartWithWhatTheyAreGiven(t *testing.T) {
	for variant := range variants {
		for name, read := range readers {
			t.Run(variant+"/"+name, func(t *testing.T) {
				variables, _ := deployed(t, variant).of("AWS::Lambda::Function")[name].at("Environment", "Variables").(map[string]any)
				for key, value := range variables {
					v, ok := value.(string)
					if !ok {
						v = "known-at-deployment"
					}
					t.Setenv(key, v)
				}
				if err := read(); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// A setting that a deployment gives to a function which does not read it would be a right or a limit that nobody has.
func TestFunctionsAreGivenNothingElse(t *testing.T) {
	t.Parallel()
	only := map[string][]string{
		"COMPANY_JWT_ISSUER": {"api"}, "COMPANY_JWT_AUDIENCE": {"api"}, "COMPANY_ROLES": {"api"}, "COMPANY_GROUPS_CLAIM": {"api"},
		"COMPANY_SECRETS_PREFIX": {"api", "execute"}, "COMPANY_PUBLIC_URL": {"api", "dispatch"},
		"COMPANY_CLUSTER": {"dispatch"}, "COMPANY_TASK_DEFINITION": {"dispatch"}, "COMPANY_SUBNETS": {"dispatch"},
		"COMPANY_SECURITY_GROUPS": {"dispatch"}, "COMPANY_CAPACITY_PROVIDER": {"dispatch"}, "COMPANY_ASSIGN_PUBLIC_IP": {"dispatch"},
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
