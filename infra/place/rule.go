package place

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsevents"
	"github.com/aws/aws-cdk-go/awscdk/v2/awseventstargets"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"
)

// NewStoppedRule sends the run of every sandbox that stopped to the queue. The event itself never gets there: it holds
// the launch's overrides, and with them a token.
func NewStoppedRule(scope constructs.Construct, id string, c *Cluster, q *Queue) {
	awsevents.NewRule(scope, jsii.String(id), &awsevents.RuleProps{
		Description: jsii.String("A sandbox has stopped: look at its run"),
		EventPattern: &awsevents.EventPattern{
			Source:     jsii.Strings("aws.ecs"),
			DetailType: jsii.Strings("ECS Task State Change"),
			Detail: &map[string]any{
				"clusterArn": []any{c.ClusterArn()},
				"lastStatus": []any{"STOPPED"},
				"startedBy":  []any{map[string]any{"exists": true}},
			},
		},
		Targets: &[]awsevents.IRuleTarget{awseventstargets.NewSqsQueue(q.Queue, &awseventstargets.SqsQueueProps{
			// startedBy is run/launch; whoever reads the message ignores the launch.
			Message: awsevents.RuleTargetInput_FromObject(map[string]any{
				"v": 1, "run": awsevents.EventField_FromPath(jsii.String("$.detail.startedBy")),
			}),
			MaxEventAge: awscdk.Duration_Hours(jsii.Number(2)),
		})},
	})
}
