package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"companyos/infra/price"
	"companyos/infra/setting"
	"companyos/infra/stack"
)

// attempt is the length of the attempt that is priced.
const attempt = 10 * time.Minute

// costless completes a deployment's values by what it needs and no price depends on.
func costless(values map[string]string) {
	missing := map[string]string{"image": "unpushed@sha256:0000000000000000000000000000000000000000000000000000000000000000"}
	if values["signIn"] == string(setting.SignInCognito) {
		missing["signInDomain"] = "unpriced"
	} else {
		missing["issuer"], missing["audience"] = "https://issuer.invalid", "unpriced"
	}
	if values["egress"] == string(setting.EgressStrict) {
		missing["proxy"] = "http://proxy.invalid:3128"
	}
	for key, value := range missing {
		if values[key] == "" {
			values[key] = value
		}
	}
}

// cost prints the idle month and one attempt, computed from the templates of these settings.
func cost(w io.Writer, root string, values map[string]string) error {
	costless(values)
	s, err := setting.Read(values, root)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "company-cost-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	t, err := priced(dir, s)
	if err != nil {
		return err
	}
	bill, err := t.Attempt(attempt)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "US dollars, %s, prices read on %s, without taxes\n", price.Region, price.Read.Format(time.DateOnly))
	if s.Region != "" && s.Region != price.Region {
		fmt.Fprintf(w, "Those of %s differ and are not known here; AWS lists them at https://calculator.aws\n", s.Region)
	}
	t.Idle(secrets(s), true).Print(w, "\nA month without a run, in an account with its free tier")
	t.Idle(secrets(s), false).Print(w, "\nA month without a run, the free tier used up")
	bill.Print(w, fmt.Sprintf("\nOne attempt of %s, without the model", attempt))
	return nil
}

// priced synthesizes with empty functions: code costs nothing while it does not run.
func priced(dir string, s setting.Settings) (price.Template, error) {
	code := stack.Code{Zips: map[string]string{}, Migrations: "unpriced"}
	for _, name := range stack.Functions() {
		path := filepath.Join(dir, name+".zip")
		if err := os.WriteFile(path, []byte(name), 0o600); err != nil {
			return price.Template{}, err
		}
		code.Zips[name] = path
	}
	assembly := newApp(filepath.Join(dir, "out"), s, code)
	var paths []string
	for _, st := range *assembly.Stacks() {
		paths = append(paths, *st.TemplateFullPath())
	}
	return price.Load(paths...)
}

// secrets are what the operator makes: the executors' and the database's URL.
func secrets(s setting.Settings) int {
	n := len(s.SecretNames())
	if s.Database == setting.DatabaseURL {
		n++
	}
	return n
}
