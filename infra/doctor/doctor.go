// Package doctor looks for what a deployment or its first run would miss, before anything is changed or paid.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/aws/aws-sdk-go-v2/aws"

	"companyos/infra/setting"
)

// Finding is one thing that was looked at. Fix is empty where nothing is missing.
type Finding struct {
	What string
	Fix  string
}

// Doctor examines one account for one deployment.
type Doctor struct {
	Settings setting.Settings
	AWS      aws.Config
}

// ErrMissing says that something has to be done before a deployment.
var ErrMissing = errors.New("something is missing; do what the lines above say")

// Examine looks at everything and writes a line for each thing. It returns ErrMissing when something is missing. Without
// credentials nothing else can be seen.
func (d Doctor) Examine(ctx context.Context, w io.Writer) error {
	account, findings := d.account(ctx)
	for _, f := range findings {
		report(w, f)
	}
	if account == "" {
		return ErrMissing
	}
	missing := false
	for _, check := range []func(context.Context, string) []Finding{d.bootstrap, d.image, d.secrets, d.quotas} {
		for _, f := range check(ctx, account) {
			report(w, f)
			missing = missing || f.Fix != ""
		}
	}
	fmt.Fprintln(w, "note     whether Fargate has capacity at a moment cannot be asked: a run that finds none waits and tries other subnets")
	if missing {
		return ErrMissing
	}
	return nil
}

func report(w io.Writer, f Finding) {
	if f.Fix == "" {
		fmt.Fprintf(w, "ok       %s\n", f.What)
		return
	}
	fmt.Fprintf(w, "missing  %s\n         %s\n", f.What, f.Fix)
}
