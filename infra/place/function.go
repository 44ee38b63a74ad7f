// Package place holds the parts that a stack is made of, one construct a file.
package place

import (
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"

	"companyos/infra/setting"
)

// memory of every function in MiB.
const memory = 512

// Function is one folder of functions/ as a Lambda function outside any VPC, with a role and a log group of its own.
type Function struct {
	awslambda.Function
	LogGroup awslogs.LogGroup
	Role     awsiam.Role
}

// FunctionProps says what differs between functions.
type FunctionProps struct {
	Zip          string // path of the built zip
	Description  string
	Timeout      time.Duration
	Architecture setting.Architecture
	LogDays      int

	// SendsToItself is set where a handler sends messages that start it again, as reminders do. Lambda would otherwise
	// take the chain for a runaway loop and drop its seventeenth message.
	SendsToItself bool
}

// NewFunction makes the function whose name for the SAM CLI is id. Its role may write its own log and nothing else.
func NewFunction(scope constructs.Construct, id string, p FunctionProps) *Function {
	logs := awslogs.NewLogGroup(scope, jsii.String(id+"-log"), &awslogs.LogGroupProps{
		Retention:     retention(p.LogDays),
		RemovalPolicy: awscdk.RemovalPolicy_DESTROY,
	})
	role := awsiam.NewRole(scope, jsii.String(id+"-role"), &awsiam.RoleProps{
		AssumedBy: awsiam.NewServicePrincipal(jsii.String("lambda.amazonaws.com"), nil),
	})
	logs.GrantWrite(role)
	loop := awslambda.RecursiveLoop_TERMINATE
	if p.SendsToItself {
		loop = awslambda.RecursiveLoop_ALLOW
	}
	fn := awslambda.NewFunction(scope, jsii.String(id), &awslambda.FunctionProps{
		Description:   jsii.String(p.Description),
		Runtime:       awslambda.Runtime_PROVIDED_AL2023(),
		Architecture:  lambdaArchitecture(p.Architecture),
		Handler:       jsii.String("bootstrap"),
		Code:          awslambda.Code_FromAsset(jsii.String(p.Zip), nil),
		MemorySize:    jsii.Number(memory),
		Timeout:       awscdk.Duration_Seconds(jsii.Number(p.Timeout.Seconds())),
		Role:          role,
		LogGroup:      logs,
		RecursiveLoop: loop,
	})
	fn.Node().DefaultChild().(awslambda.CfnFunction).OverrideLogicalId(jsii.String(id))
	return &Function{Function: fn, LogGroup: logs, Role: role}
}

// Set adds environment variables, in an order that stays: the same settings give the same template.
func (f *Function) Set(environment map[string]*string) {
	for _, name := range slices.Sorted(maps.Keys(environment)) {
		if value := environment[name]; value != nil && *value != "" {
			f.AddEnvironment(jsii.String(name), value, nil)
		}
	}
}

// Allow adds a statement to the function's role.
func (f *Function) Allow(p awsiam.PolicyStatementProps) {
	f.AddToRolePolicy(awsiam.NewPolicyStatement(&p))
}

func lambdaArchitecture(a setting.Architecture) awslambda.Architecture {
	if a == setting.ArchitectureX86 {
		return awslambda.Architecture_X86_64()
	}
	return awslambda.Architecture_ARM_64()
}
