package main

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"companyos/infra/price"
	"companyos/infra/setting"
	"companyos/infra/stack"
)

// attempt is the length of the attempt that is priced.
const attempt = 10 * time.Minute

// unpushed stands for an image in a price list, which does not depend on it.
const unpushed = "unpushed@sha256:0000000000000000000000000000000000000000000000000000000000000000"

// cost prints the idle month and one attempt, computed from the templates of these settings.
func cost(root string, values map[string]string) error {
	if values["image"] == "" {
		values["image"] = unpushed
	}
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
	fmt.Printf("US dollars, us-east-1, prices read on %s, without taxes\n\n", price.Read.Format(time.DateOnly))
	t.Idle(secrets(s), true).Print(os.Stdout, "A month without a run, in an account with its free tier")
	t.Idle(secrets(s), false).Print(os.Stdout, "\nA month without a run, the free tier used up")
	bill.Print(os.Stdout, fmt.Sprintf("\nOne attempt of %s, without the model", attempt))
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
