package main

import (
	"bytes"
	"strings"
	"testing"

	"companyos/infra/price"
)

func TestWhatStandsBesideTheSettingsIsOneCommand(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args, command, says string
	}{
		{"", "", ""},
		{"synth", "synth", ""},
		{"cost", "cost", ""},
		{"doctor image=foo", "", "-c image=foo"},
		{"region=eu-central-1", "", "-c region=eu-central-1"},
		{"docter", "", "synth, doctor and cost"},
		{"cost all", "", "synth, doctor and cost"},
		{"cost doctor", "", "one command too many"},
	} {
		command, err := only(strings.Fields(c.args))
		if command != c.command || (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%q is %q, %v", c.args, command, err)
		}
	}
}

// A price list needs no setting, and says of which region it is not.
func TestCostOfEveryForm(t *testing.T) {
	t.Parallel()
	for name, values := range map[string]map[string]string{
		"bare":    {},
		"region":  {"region": "eu-central-1"},
		"cognito": {"signIn": "cognito"},
		"strict":  {"egress": "strict"},
	} {
		values["executors"] = "shared/executor/example.yaml"
		values["prices"] = "shared/executor/prices.example.yaml"
		var out bytes.Buffer
		synthesize.Lock() // the CDK's process takes one app after the other
		err := cost(&out, "..", values)
		synthesize.Unlock()
		if err != nil || strings.Count(out.String(), "together") != 3 || !strings.Contains(out.String(), price.Region) {
			t.Errorf("%s: %v\n%s", name, err, &out)
		}
		if region := values["region"]; region != "" && !strings.Contains(out.String(), "Those of "+region+" differ") {
			t.Errorf("%s is not told from %s:\n%s", region, price.Region, &out)
		}
	}
}
