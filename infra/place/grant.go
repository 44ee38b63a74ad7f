package place

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awss3assets"
	"github.com/aws/jsii-runtime-go"
)

// Sends lets a function send to a queue, whose URL it finds in the variable.
func (q *Queue) Sends(variable string, functions ...*Function) {
	for _, fn := range functions {
		fn.Allow(awsiam.PolicyStatementProps{Actions: jsii.Strings("sqs:SendMessage"), Resources: &[]*string{q.QueueArn()}})
		fn.Set(map[string]*string{variable: q.QueueUrl()})
	}
}

// ReadSecrets lets a function read every secret under the prefix.
func ReadSecrets(prefix string, functions ...*Function) {
	secrets := awscdk.Fn_Join(jsii.String(""), &[]*string{
		jsii.String("arn:"), awscdk.Aws_PARTITION(), jsii.String(":secretsmanager:"), awscdk.Aws_REGION(), jsii.String(":"),
		awscdk.Aws_ACCOUNT_ID(), jsii.String(":secret:" + prefix + "/*"),
	})
	for _, fn := range functions {
		fn.Allow(awsiam.PolicyStatementProps{Actions: jsii.Strings("secretsmanager:GetSecretValue"), Resources: &[]*string{secrets}})
		wildcard(fn.Role, `^Resource::arn:.*:secret:.*\/\*$`, "Executors name their secrets, which an operator adds without a deployment; nothing else lies under the prefix.")
		fn.Set(map[string]*string{"COMPANY_SECRETS_PREFIX": jsii.String(prefix)})
	}
}

// allowObject lets a function read one file of the deployment.
func allowObject(fn *Function, asset awss3assets.Asset) {
	fn.Allow(awsiam.PolicyStatementProps{
		Actions:   jsii.Strings("s3:GetObject"),
		Resources: &[]*string{asset.Bucket().ArnForObjects(asset.S3ObjectKey())},
	})
}
