// Package cloud puts a Company together from AWS's services, for the functions: rows in Aurora DSQL or a PostgreSQL,
// artifacts in S3, wakes in SQS, secrets in Secrets Manager. Sandboxes are not among them: one function alone may start
// any, and it brings them.
package cloud

import (
	"net"
	"net/http"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// Config is what Lambda's environment says: region and the role's credentials, which stay the same as long as the
// environment lives. The SDK's own chain would look at files, profiles and services that a function does not have, and
// would be a third of the binary. AWS_ENDPOINT_URL leads to an emulator.
func Config() aws.Config {
	c := aws.Config{
		Region: os.Getenv("AWS_REGION"),
		Credentials: credentials.NewStaticCredentialsProvider(
			os.Getenv("AWS_ACCESS_KEY_ID"), os.Getenv("AWS_SECRET_ACCESS_KEY"), os.Getenv("AWS_SESSION_TOKEN")),
		HTTPClient: client(),
		Retryer:    func() aws.Retryer { return retry.NewStandard() },
	}
	if url := os.Getenv("AWS_ENDPOINT_URL"); url != "" {
		c.BaseEndpoint = &url
	}
	return c
}

// Bounds of a request: a function is billed while it waits, and every service answers far sooner.
const (
	dialTimeout   = 2 * time.Second
	answerTimeout = 10 * time.Second
)

func client() *awshttp.BuildableClient {
	return awshttp.NewBuildableClient().
		WithTransportOptions(func(t *http.Transport) { t.ResponseHeaderTimeout = answerTimeout }).
		WithDialerOptions(func(d *net.Dialer) { d.Timeout = dialTimeout })
}

// newS3 returns a client of S3. An emulator has no host name for each bucket, and may be known to sandboxes by another
// address than to functions: AWS_ENDPOINT_URL_S3 is the one that presigned URLs hold.
func newS3(c aws.Config) *s3.Client {
	return s3.NewFromConfig(c, func(o *s3.Options) {
		if url := os.Getenv("AWS_ENDPOINT_URL_S3"); url != "" {
			o.BaseEndpoint = &url
		}
		o.UsePathStyle = o.BaseEndpoint != nil
	})
}
