// Package bedrock asks models on Amazon Bedrock: the same Messages API, signed with the function's role. There is no key.
// It is apart from package cloud because one function alone asks models.
package bedrock

import (
	"github.com/anthropics/anthropic-sdk-go/bedrock"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/aws/aws-sdk-go-v2/aws"

	"companyos/shared/model/messages"
)

// Provider returns the provider. An executor names a model as Bedrock does: the id of a model or of an inference profile.
func Provider(a aws.Config) *messages.Provider {
	options := []option.RequestOption{bedrock.WithConfig(a)}
	if a.BaseEndpoint != nil {
		options = append(options, option.WithBaseURL(*a.BaseEndpoint)) // an emulator
	}
	return &messages.Provider{Options: options}
}
