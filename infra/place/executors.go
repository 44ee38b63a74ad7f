package place

import (
	"github.com/aws/aws-cdk-go/awscdk/v2/awss3assets"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"

	"companyos/infra/setting"
)

// Executors are executors.yaml and prices.yaml as files of the deployment: a change of either is a deployment of the
// variable that names it, not of code.
type Executors struct{ executors, prices awss3assets.Asset }

// NewExecutors uploads the files.
func NewExecutors(scope constructs.Construct, id string, s setting.Settings) *Executors {
	e := &Executors{executors: awss3assets.NewAsset(scope, jsii.String(id), &awss3assets.AssetProps{Path: jsii.String(s.Executors)})}
	if s.Prices != "" {
		e.prices = awss3assets.NewAsset(scope, jsii.String(id+"-prices"), &awss3assets.AssetProps{Path: jsii.String(s.Prices)})
	}
	return e
}

// Given lets functions read the files.
func (e *Executors) Given(functions ...*Function) {
	for _, fn := range functions {
		allowObject(fn, e.executors)
		fn.Set(map[string]*string{"COMPANY_EXECUTORS": e.executors.S3ObjectUrl()})
		if e.prices != nil {
			allowObject(fn, e.prices)
			fn.Set(map[string]*string{"COMPANY_PRICES": e.prices.S3ObjectUrl()})
		}
	}
}
