// Package stack is what is deployed: the database and the company.
package stack

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"
	"github.com/cdklabs/cdk-nag-go/cdknag/v2"

	"companyos/infra/place"
	"companyos/infra/setting"
)

// Code is what the functions run: the zips by name, and the version of the migrations.
type Code struct {
	Zips       map[string]string
	Migrations string
}

// Functions are the folders of functions/ that run on Lambda.
func Functions() []string { return []string{"api", "dispatch", "execute", "sweep", "migrate"} }

// Build adds both stacks to the app, checked by cdk-nag.
func Build(app awscdk.App, s setting.Settings, code Code) (company awscdk.Stack, database awscdk.Stack) {
	props := awscdk.StackProps{Env: environment(s)}
	var rows *place.Database
	if s.Database == setting.DatabaseDSQL {
		database, rows = newDatabase(app, s, props)
	}
	company = newCompany(app, s, props, code, rows)
	for _, stack := range []awscdk.Stack{company, database} {
		if stack != nil {
			place.Suppress(stack)
		}
	}
	awscdk.Aspects_Of(app).Add(cdknag.NewAwsSolutionsChecks(&cdknag.NagPackProps{Verbose: jsii.Bool(true)}), nil)
	return company, database
}

// environment is the region where one is given; else both are the CLI's at deployment.
func environment(s setting.Settings) *awscdk.Environment {
	if s.Region == "" {
		return nil
	}
	return &awscdk.Environment{Region: jsii.String(s.Region)}
}
