package fargate

import (
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/ecs/types"
	"github.com/aws/smithy-go"

	"companyos/shared/sandbox"
)

// refusals are the errors of RunTask after which certainly nothing runs and a repeat would say the same.
// docs.aws.amazon.com/AmazonECS/latest/APIReference/API_RunTask.html and CommonErrors.html.
var refusals = map[string]bool{
	"AccessDeniedException":                          true,
	"BlockedException":                               true,
	"ClientException":                                true,
	"ClusterNotFoundException":                       true,
	"InvalidParameterException":                      true,
	"PlatformTaskDefinitionIncompatibilityException": true,
	"PlatformUnknownException":                       true,
	"UnsupportedFeatureException":                    true,
	"ValidationException":                            true,
}

// scarce are words of errors, failures and stop reasons that say that something may be had later or elsewhere: Fargate's
// capacity, the account's quota of vCPUs or tasks, the addresses of a subnet.
var scarce = []string{
	"capacity is unavailable", "resource:", "reached the limit on the number of", "insufficientfreeaddresses",
	"insufficient free addresses", "not enough free addresses", "provisioning capacity limit", "capacity limit exceeded",
}

func saysScarce(text string) bool {
	text = strings.ToLower(text)
	for _, words := range scarce {
		if strings.Contains(text, words) {
			return true
		}
	}
	return false
}

// failedCall types an error of RunTask. What is not known here stays unknown: it may have started something.
func failedCall(err error) error {
	if _, unsent := errors.AsType[smithy.InvalidParamsError](err); unsent {
		return fmt.Errorf("%w: %w", sandbox.ErrRefused, err)
	}
	api, ok := errors.AsType[smithy.APIError](err)
	if !ok {
		return err
	}
	code := api.ErrorCode()
	_, throttled := retry.DefaultThrottleErrorCodes[code]
	switch {
	case throttled:
		return fmt.Errorf("%w: %w", sandbox.ErrThrottled, err)
	case code == "LimitExceededException", refusals[code] && saysScarce(api.ErrorMessage()):
		return fmt.Errorf("%w: %w", sandbox.ErrNoCapacity, err)
	case refusals[code]:
		return fmt.Errorf("%w: %w", sandbox.ErrRefused, err)
	default:
		return err
	}
}

// failedPlacement types an entry of failures[]: the call succeeded and nothing runs. Reasons that are not known count as
// passing ones, so that the next launch tries again until the run's start limit.
// docs.aws.amazon.com/AmazonECS/latest/developerguide/api_failures_messages.html.
func failedPlacement(f types.Failure) error {
	reason := strings.TrimSpace(aws.ToString(f.Reason) + " " + aws.ToString(f.Detail))
	switch aws.ToString(f.Reason) {
	case "MISSING", "INACTIVE", "ATTRIBUTE":
		return fmt.Errorf("%w: %s", sandbox.ErrRefused, reason)
	default:
		return fmt.Errorf("%w: %s", sandbox.ErrNoCapacity, reason)
	}
}
