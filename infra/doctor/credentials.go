package doctor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/logging"

	"companyos/infra/setting"
)

// Run examines the account that this machine's environment and ~/.aws lead to, as the CDK's command will.
func Run(ctx context.Context, s setting.Settings, w io.Writer) error {
	config, err := awsconfig.LoadDefaultConfig(ctx,
		awsconfig.WithLogger(logging.Nop{}), // what the SDK tries on its way is no finding
		func(o *awsconfig.LoadOptions) error { o.Region = s.Region; return nil })
	if err != nil {
		report(w, misconfigured(err))
		return ErrMissing
	}
	return Doctor{Settings: s, AWS: config}.Examine(ctx, w)
}

func misconfigured(err error) Finding {
	if _, ok := errors.AsType[awsconfig.SharedConfigProfileNotExistError](err); ok {
		return Finding{
			fmt.Sprintf("credentials: ~/.aws has no profile %q, which AWS_PROFILE names", os.Getenv("AWS_PROFILE")),
			"set AWS_PROFILE to one of those that aws configure list-profiles prints, or make it with aws configure sso",
		}
	}
	return Finding{"credentials: " + short(err), "correct ~/.aws/config and ~/.aws/credentials, or the variables AWS_… of the environment"}
}

// account is whose credentials these are, empty where that cannot be said.
func (d Doctor) account(ctx context.Context) (account string, found []Finding) {
	if d.AWS.Region == "" {
		found = append(found, Finding{"no region", "set AWS_REGION, or pass -c region=…"})
	}
	if _, err := d.AWS.Credentials.Retrieve(ctx); err != nil {
		return "", append(found, unsigned(err))
	}
	if d.AWS.Region == "" {
		return "", found
	}
	out, err := sts.NewFromConfig(d.AWS).GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
	if err != nil {
		return "", append(found, refused(err))
	}
	account = aws.ToString(out.Account)
	return account, append(found, Finding{What: fmt.Sprintf("credentials: account %s, region %s", account, d.AWS.Region)})
}

// unsigned is why there are no credentials. The last place that the SDK looks at is the role of an EC2 instance.
func unsigned(err error) Finding {
	const fix = "sign in with aws sso login or aws configure, and name its profile in AWS_PROFILE"
	if op, ok := errors.AsType[*smithy.OperationError](err); ok && op.Service() == "ec2imds" {
		return Finding{"credentials: there are none, neither in the environment nor in ~/.aws, and this machine has no role", fix}
	}
	if unreachable(err) {
		return Finding{"credentials: " + short(err), network}
	}
	return Finding{"credentials: " + short(err), fix}
}

// refused is why STS does not say whose credentials these are.
func refused(err error) Finding {
	api, ok := errors.AsType[smithy.APIError](err)
	switch {
	case !ok:
		return Finding{"credentials: there are some, but STS does not answer: " + short(err), network}
	case slices.Contains([]string{"ExpiredToken", "ExpiredTokenException", "RequestExpired"}, api.ErrorCode()):
		return Finding{"credentials: they have expired", "sign in again, as with aws sso login"}
	}
	return Finding{
		"credentials: STS refuses them: " + short(err),
		"give others, by AWS_PROFILE or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY; aws configure list shows where these are from",
	}
}

const network = "check this machine's network, HTTPS_PROXY, and whether AWS has that region"

// failed is why something was not seen: it does not exist, which is one of these codes and has a fix, or it may not or
// cannot be looked at.
func failed(what string, err error, fix string, absent ...string) Finding {
	what += ": " + short(err)
	api, ok := errors.AsType[smithy.APIError](err)
	switch {
	case !ok:
		return Finding{what, network}
	case slices.Contains(absent, api.ErrorCode()):
		return Finding{what, fix}
	}
	return Finding{what, "it could not be looked at; let these credentials do so, and ask again"}
}

func unreachable(err error) bool {
	_, ok := errors.AsType[*url.Error](err)
	return ok
}

// short is an error in one line: what the service says or why it was not reached, without the SDK's account of the request.
func short(err error) string {
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		return api.ErrorCode() + ": " + api.ErrorMessage()
	}
	if request, ok := errors.AsType[*url.Error](err); ok {
		if u, parsed := url.Parse(request.URL); parsed == nil {
			return fmt.Sprintf("%s cannot be reached: %s", u.Host, request.Err)
		}
	}
	text, _, _ := strings.Cut(err.Error(), "\n")
	return strings.TrimPrefix(text, "failed to refresh cached credentials, ")
}
