package place

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2integrations"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"
)

// Requests a second and at once. People and sandboxes do not take from each other's.
const (
	peopleRate, peopleBurst   = 50, 100
	sandboxRate, sandboxBurst = 100, 200
)

// API is the HTTP API before the api function: the Company's routes, the sandboxes' with a throttle of their own, and
// everything else (the board, the description). Tokens are verified by the function, by the same code and with the same
// answers as everywhere, so no route has an authorizer.
type API struct {
	awsapigatewayv2.HttpApi
	LogGroup awslogs.LogGroup
}

// NewAPI makes the API without its routes, so that the function can be told its URL.
func NewAPI(scope constructs.Construct, id string, logDays int) *API {
	return &API{
		HttpApi: awsapigatewayv2.NewHttpApi(scope, jsii.String(id), &awsapigatewayv2.HttpApiProps{
			ApiName:            awscdk.Aws_STACK_NAME(),
			CreateDefaultStage: jsii.Bool(false),
		}),
		LogGroup: awslogs.NewLogGroup(scope, jsii.String(id+"-log"), &awslogs.LogGroupProps{
			Retention:     retention(logDays),
			RemovalPolicy: awscdk.RemovalPolicy_DESTROY,
		}),
	}
}

// URL is the API's address, without a trailing slash.
func (a *API) URL() *string { return a.ApiEndpoint() }

// Route sends every request to the function.
func (a *API) Route(scope constructs.Construct, fn *Function) {
	integration := awsapigatewayv2integrations.NewHttpLambdaIntegration(jsii.String("integration"), fn.Function, nil)
	stage := awsapigatewayv2.NewHttpStage(scope, jsii.String("stage"), &awsapigatewayv2.HttpStageProps{
		HttpApi:    a.HttpApi,
		AutoDeploy: jsii.Bool(true),
		Throttle:   &awsapigatewayv2.ThrottleSettings{RateLimit: jsii.Number(peopleRate), BurstLimit: jsii.Number(peopleBurst)},
	})
	cfn := stage.Node().DefaultChild().(awsapigatewayv2.CfnStage)
	cfn.SetAccessLogSettings(&awsapigatewayv2.CfnStage_AccessLogSettingsProperty{
		DestinationArn: a.LogGroup.LogGroupArn(),
		Format: jsii.String(`{"request_id":"$context.requestId","at":"$context.requestTime","ip":"$context.identity.sourceIp",` +
			`"method":"$context.httpMethod","route":"$context.routeKey","path":"$context.path","status":"$context.status",` +
			`"bytes":"$context.responseLength","ms":"$context.responseLatency","error":"$context.error.message"}`),
	})
	for _, name := range []string{"company", "sandbox"} {
		route := awsapigatewayv2.NewHttpRoute(scope, jsii.String("route-"+name), &awsapigatewayv2.HttpRouteProps{
			HttpApi: a.HttpApi, Integration: integration,
			RouteKey: awsapigatewayv2.HttpRouteKey_With(jsii.String("/"+name+"/{proxy+}"), awsapigatewayv2.HttpMethod_ANY),
		})
		// A stage may only name the settings of a route that exists.
		cfn.Node().AddDependency(route)
	}
	cfn.SetRouteSettings(map[string]any{"ANY /sandbox/{proxy+}": map[string]any{
		"ThrottlingRateLimit": sandboxRate, "ThrottlingBurstLimit": sandboxBurst,
	}})
	awsapigatewayv2.NewHttpRoute(scope, jsii.String("route-default"), &awsapigatewayv2.HttpRouteProps{
		HttpApi: a.HttpApi, Integration: integration, RouteKey: awsapigatewayv2.HttpRouteKey_DEFAULT(),
	})
}
