package place

import (
	"strings"

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
	for _, fn := range functions {
		allowSecrets(fn, prefix+"/*")
		wildcard(fn.Role, `^Resource::arn:.*:secret:.*\/\*$`, "Executors name their secrets, which an operator adds without a deployment; nothing else lies under the prefix.")
		fn.Set(map[string]*string{"COMPANY_SECRETS_PREFIX": jsii.String(prefix)})
	}
}

// ReadSecret lets a function read one secret under the prefix. Secrets Manager adds six characters to a secret's name.
func ReadSecret(prefix, name string, fn *Function) {
	allowSecrets(fn, prefix+"/"+name+"-??????")
	fn.Set(map[string]*string{"COMPANY_SECRETS_PREFIX": jsii.String(prefix)})
}

func allowSecrets(fn *Function, names string) {
	secrets := awscdk.Fn_Join(jsii.String(""), &[]*string{
		jsii.String("arn:"), awscdk.Aws_PARTITION(), jsii.String(":secretsmanager:"), awscdk.Aws_REGION(), jsii.String(":"),
		awscdk.Aws_ACCOUNT_ID(), jsii.String(":secret:" + names),
	})
	fn.Allow(awsiam.PolicyStatementProps{Actions: jsii.Strings("secretsmanager:GetSecretValue"), Resources: &[]*string{secrets}})
}

// CallsBedrock lets a function ask Anthropic's models of Bedrock, itself or by an inference profile of the account.
func CallsBedrock(fn *Function) {
	partition := func(parts ...*string) *string {
		return awscdk.Fn_Join(jsii.String(""), &[]*string{jsii.String("arn:"), awscdk.Aws_PARTITION(), awscdk.Fn_Join(jsii.String(""), &parts)})
	}
	fn.Allow(awsiam.PolicyStatementProps{
		Actions: jsii.Strings("bedrock:InvokeModel", "bedrock:InvokeModelWithResponseStream"),
		Resources: &[]*string{
			partition(jsii.String(":bedrock:*::foundation-model/anthropic.*")),
			partition(jsii.String(":bedrock:"), awscdk.Aws_REGION(), jsii.String(":"), awscdk.Aws_ACCOUNT_ID(), jsii.String(":inference-profile/*")),
		},
	})
	wildcard(fn.Role, `^Resource::arn:.*:bedrock:.*\*$`, "Executors name their models, which an operator changes without a deployment; a profile sends a request to models of several regions.")
	fn.Set(map[string]*string{"COMPANY_MODEL_PROVIDER": jsii.String("bedrock")})
}

// Publishes lets a function publish to topics, each given as name=ARN.
func Publishes(fn *Function, topics []string) {
	if len(topics) == 0 {
		return
	}
	var arns []*string
	for _, topic := range topics {
		_, arn, _ := strings.Cut(topic, "=")
		arns = append(arns, &arn)
	}
	fn.Allow(awsiam.PolicyStatementProps{Actions: jsii.Strings("sns:Publish"), Resources: &arns})
	fn.Set(map[string]*string{"COMPANY_SUMMARY_TOPICS": jsii.String(strings.Join(topics, ","))})
}

// allowObject lets a function read one file of the deployment.
func allowObject(fn *Function, asset awss3assets.Asset) {
	fn.Allow(awsiam.PolicyStatementProps{
		Actions:   jsii.Strings("s3:GetObject"),
		Resources: &[]*string{asset.Bucket().ArnForObjects(asset.S3ObjectKey())},
	})
}
