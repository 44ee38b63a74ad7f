package place

import (
	"maps"
	"slices"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"
	"github.com/cdklabs/cdk-nag-go/cdknag/v2"
)

// suppressions are cdk-nag's findings that stay, each with the reason.
var suppressions = map[string]string{
	"AwsSolutions-APIG4": "Tokens are verified in Go by the api function, with the same code and answers as everywhere; no route is served without.",
	"AwsSolutions-VPC7":  "Flow logs are paid by the byte. A team that wants them keeps its own VPC and passes vpc and subnets.",
	"AwsSolutions-S1":    "Access logs need a second bucket. Objects are reached through presigned URLs alone, and the API logs whom it gives one.",
	"AwsSolutions-COG8":  "The Plus plan of a user pool is paid by the person. A team that wants it brings its own issuer.",
	"AwsSolutions-ECS2":  "The variables are the address of the proxy in egress strict, no secret. Otherwise there are none.",
	"AwsSolutions-ECS4":  "Container Insights is paid by the sandbox, and a sandbox reports its own usage.",
}

// Suppress names what stays in a stack.
func Suppress(stack awscdk.Stack) {
	var list []*cdknag.NagPackSuppression
	for _, id := range slices.Sorted(maps.Keys(suppressions)) {
		list = append(list, &cdknag.NagPackSuppression{Id: jsii.String(id), Reason: jsii.String(suppressions[id])})
	}
	cdknag.NagSuppressions_AddStackSuppressions(stack, &list, nil)
}

// wildcard says why a role has a wildcard, given as a regular expression over cdk-nag's name for it.
func wildcard(role constructs.IConstruct, expression, reason string) {
	cdknag.NagSuppressions_AddResourceSuppressions(role, &[]*cdknag.NagPackSuppression{{
		Id: jsii.String("AwsSolutions-IAM5"), Reason: jsii.String(reason),
		AppliesTo: &[]any{&cdknag.RegexAppliesTo{Regex: jsii.String("/" + expression + "/")}},
	}}, jsii.Bool(true))
}
