package place

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awss3"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"
)

// Artifacts is the bucket of inputs, patches, transcripts, results and logs. Sweep deletes what no row refers to; the
// bucket deletes nothing by age but the parts of uploads that were never completed.
type Artifacts struct{ awss3.Bucket }

// NewArtifacts makes the bucket. It outlives its stack.
func NewArtifacts(scope constructs.Construct, id string) *Artifacts {
	return &Artifacts{awss3.NewBucket(scope, jsii.String(id), &awss3.BucketProps{
		BlockPublicAccess: awss3.BlockPublicAccess_BLOCK_ALL(),
		Encryption:        awss3.BucketEncryption_S3_MANAGED,
		EnforceSSL:        jsii.Bool(true),
		ObjectOwnership:   awss3.ObjectOwnership_BUCKET_OWNER_ENFORCED,
		RemovalPolicy:     awscdk.RemovalPolicy_RETAIN,
		LifecycleRules: &[]*awss3.LifecycleRule{{
			AbortIncompleteMultipartUploadAfter: awscdk.Duration_Days(jsii.Number(1)),
		}},
	})}
}

// Opens gives a function these actions on every object. A missing object reads as forbidden without the right to list.
func (a *Artifacts) Opens(fn *Function, actions ...string) {
	fn.Allow(awsiam.PolicyStatementProps{Actions: jsii.Strings(actions...), Resources: &[]*string{a.ArnForObjects(jsii.String("*"))}})
	wildcard(fn.Role, `^Resource::<artifacts.*\.Arn>\/\*$`, "Objects are named after runs, which do not exist at deployment; the bucket holds nothing else.")
	fn.Allow(awsiam.PolicyStatementProps{Actions: jsii.Strings("s3:ListBucket"), Resources: &[]*string{a.BucketArn()}})
	fn.Set(map[string]*string{"COMPANY_ARTIFACTS_BUCKET": a.BucketName()})
}
