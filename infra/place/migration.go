package place

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"
)

// Migration runs the migrations of a release before any of its functions changes. The function itself answers
// CloudFormation, so there is no provider framework and no second function.
type Migration struct{ awscdk.CustomResource }

// NewMigration runs fn when the migrations or the admitted roles have changed. A rollback runs it again with the
// earlier version, which changes nothing: migrations only expand, and the earlier release works on them.
func NewMigration(scope constructs.Construct, id string, fn *Function, version string, roles map[string]any) *Migration {
	properties := map[string]any{"Version": version}
	if len(roles) > 0 {
		properties["Roles"] = roles
	}
	m := &Migration{awscdk.NewCustomResource(scope, jsii.String(id), &awscdk.CustomResourceProps{
		ResourceType: jsii.String("Custom::Migration"), ServiceToken: fn.FunctionArn(), Properties: &properties,
		ServiceTimeout: awscdk.Duration_Minutes(jsii.Number(16)),
	})}
	// Without its policy the function can reach neither database nor log.
	m.Node().AddDependency(fn.Role)
	return m
}

// Before makes the functions wait for the migration.
func (m *Migration) Before(functions ...*Function) {
	for _, fn := range functions {
		fn.Node().AddDependency(m.CustomResource)
	}
}
