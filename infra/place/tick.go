package place

import (
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsscheduler"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"
)

// NewTick starts the function every hour. The input says when the tick was due; it gives nobody any right.
func NewTick(scope constructs.Construct, id string, fn *Function) {
	role := awsiam.NewRole(scope, jsii.String(id+"-role"), &awsiam.RoleProps{
		AssumedBy: awsiam.NewServicePrincipal(jsii.String("scheduler.amazonaws.com"), nil),
	})
	role.AddToPolicy(awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{
		Actions: jsii.Strings("lambda:InvokeFunction"), Resources: &[]*string{fn.FunctionArn()},
	}))
	schedule := awsscheduler.NewCfnSchedule(scope, jsii.String(id), &awsscheduler.CfnScheduleProps{
		Description:        jsii.String("Overdue runs, automation, refresh, retention"),
		ScheduleExpression: jsii.String("cron(0 * * * ? *)"),
		FlexibleTimeWindow: &awsscheduler.CfnSchedule_FlexibleTimeWindowProperty{Mode: jsii.String("OFF")},
		Target: &awsscheduler.CfnSchedule_TargetProperty{
			Arn: fn.FunctionArn(), RoleArn: role.RoleArn(),
			Input: jsii.String(`{"v":1,"at":"<aws.scheduler.scheduled-time>"}`),
			// The next tick does what this one could not.
			RetryPolicy: &awsscheduler.CfnSchedule_RetryPolicyProperty{MaximumRetryAttempts: jsii.Number(2), MaximumEventAgeInSeconds: jsii.Number(1800)},
		},
	})
	// The role's policy is a resource of its own; a tick without it would fail.
	schedule.Node().AddDependency(role)
}
