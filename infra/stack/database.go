package stack

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"

	"companyos/infra/place"
	"companyos/infra/setting"
)

// newDatabase is a stack of its own: it is older and longer-lived than any release.
func newDatabase(app awscdk.App, s setting.Settings, props awscdk.StackProps) (awscdk.Stack, *place.Database) {
	props.Description = jsii.String("The Company's rows")
	props.TerminationProtection = jsii.Bool(true)
	stack := awscdk.NewStack(app, jsii.String(s.Stack+"-Database"), &props)
	return stack, place.NewDSQL(stack, "rows")
}
