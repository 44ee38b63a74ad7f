package main

import (
	awssns "github.com/aws/aws-sdk-go-v2/service/sns"

	"companyos/functions/execute/steps"
	"companyos/shared/app"
	"companyos/shared/cloud"
	"companyos/shared/cloud/bedrock"
	"companyos/shared/config"
	"companyos/shared/model/messages"
	"companyos/shared/notify"
	"companyos/shared/notify/sns"
	"companyos/shared/worker"
)

// newWorker does the work of runs, with the models of the provider that the settings name.
func newWorker(c config.Execute) (worker.Worker, error) {
	models := &messages.Provider{BaseURL: c.AnthropicBaseURL}
	if c.ModelProvider == "bedrock" {
		models = bedrock.Provider(cloud.Config())
	}
	return worker.Worker{Steps: steps.Registered(), Models: models}, models.Check()
}

// channels are where summaries go: webhooks, and the topics that the deployment names.
func channels(c config.Execute) func(cloud.SecretReader) map[string]app.Channel {
	return func(secrets cloud.SecretReader) map[string]app.Channel {
		all := notify.Channels(secrets)
		if len(c.SummaryTopics) > 0 {
			all["sns"] = &sns.Topics{Client: awssns.NewFromConfig(cloud.Config()), ARNs: c.SummaryTopics}
		}
		return all
	}
}
