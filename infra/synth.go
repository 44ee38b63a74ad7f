package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/cxapi"
	"github.com/aws/jsii-runtime-go"

	"companyos/infra/setting"
	"companyos/infra/stack"
)

// synth builds the functions and writes the templates to where the cdk CLI wants them, else to cdk.out.
func synth(ctx context.Context, root string, values map[string]string) error {
	s, err := setting.Read(values, root)
	if err != nil {
		return err
	}
	out := os.Getenv("CDK_OUTDIR")
	if out == "" {
		out = "cdk.out"
	}
	if !filepath.IsAbs(out) { // the CLI means its own folder, and go -C has changed this program's
		out = filepath.Join(root, out)
	}
	code := stack.Code{}
	if code.Zips, err = buildFunctions(ctx, root, filepath.Join(root, "cdk.out", "functions"), stack.Functions(), s.Architecture.GoArch()); err != nil {
		return err
	}
	if code.Migrations, err = hashFolder(filepath.Join(root, "shared", "store", "migrations")); err != nil {
		return err
	}
	return findings(newApp(out, s, code))
}

// newApp writes the templates of one deployment to a folder.
func newApp(out string, s setting.Settings, code stack.Code) cxapi.CloudAssembly {
	app := awscdk.NewApp(&awscdk.AppProps{
		Outdir: jsii.String(out), AnalyticsReporting: jsii.Bool(false),
		Context: &map[string]any{
			// What the cdk CLI asks for, so that the templates are the same without it: the SAM CLI finds code by it.
			"aws:cdk:enable-asset-metadata": true, "aws:cdk:enable-path-metadata": true,
			// The stack of the database keeps what the other one uses.
			"@aws-cdk/core:defaultCrossStackReferences": "strong",
		},
	})
	stack.Build(app, s, code)
	return app.Synth(nil)
}

// findings are what cdk-nag and the constructs object to.
func findings(assembly cxapi.CloudAssembly) error {
	var all []error
	for _, s := range *assembly.Stacks() {
		for _, m := range *s.Messages() {
			//nolint:staticcheck // the types' new home has no Go module, and Messages returns these
			if m.Level == cxapi.SynthesisMessageLevel_ERROR {
				all = append(all, fmt.Errorf("%s: %v", *m.Id, m.Entry.Data)) //nolint:staticcheck // as above
			}
		}
	}
	return errors.Join(all...)
}
