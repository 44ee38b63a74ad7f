package place

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscognito"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"

	"companyos/infra/setting"
)

// Issuer is who signs people's tokens and for whom.
type Issuer struct{ Issuer, Audience *string }

// NewIssuer is the given issuer, or a user pool made on request.
func NewIssuer(scope constructs.Construct, id string, s setting.Settings) Issuer {
	if s.SignIn == setting.SignInOIDC {
		return Issuer{jsii.String(s.Issuer), jsii.String(s.Audience)}
	}
	return newUserPool(scope, id, s)
}

// newUserPool makes a pool with hosted sign-in and the first admin's group. People are invited, they do not sign up.
// A program of theirs signs in with the code flow and PKCE and is answered at loopback, so its client has no secret; its
// access tokens name the client and carry the groups.
func newUserPool(scope constructs.Construct, id string, s setting.Settings) Issuer {
	pool := awscognito.NewUserPool(scope, jsii.String(id), &awscognito.UserPoolProps{
		SelfSignUpEnabled:  jsii.Bool(false),
		SignInAliases:      &awscognito.SignInAliases{Email: jsii.Bool(true)},
		FeaturePlan:        awscognito.FeaturePlan_ESSENTIALS,
		Mfa:                awscognito.Mfa_OPTIONAL,
		MfaSecondFactor:    &awscognito.MfaSecondFactor{Otp: jsii.Bool(true), Sms: jsii.Bool(false)},
		DeletionProtection: jsii.Bool(true),
		RemovalPolicy:      awscdk.RemovalPolicy_RETAIN,
		PasswordPolicy: &awscognito.PasswordPolicy{
			MinLength: jsii.Number(12), RequireDigits: jsii.Bool(true), RequireLowercase: jsii.Bool(true),
			RequireSymbols: jsii.Bool(true), RequireUppercase: jsii.Bool(true),
		},
	})
	domain := pool.AddDomain(jsii.String("domain"), &awscognito.UserPoolDomainOptions{
		CognitoDomain: &awscognito.CognitoDomainOptions{DomainPrefix: jsii.String(s.SignInDomain)},
	})
	client := pool.AddClient(jsii.String("people"), &awscognito.UserPoolClientOptions{
		GenerateSecret:             jsii.Bool(false),
		PreventUserExistenceErrors: jsii.Bool(true),
		OAuth: &awscognito.OAuthSettings{
			Flows:        &awscognito.OAuthFlows{AuthorizationCodeGrant: jsii.Bool(true)},
			Scopes:       &[]awscognito.OAuthScope{awscognito.OAuthScope_OPENID(), awscognito.OAuthScope_EMAIL(), awscognito.OAuthScope_PROFILE()},
			CallbackUrls: jsii.Strings("http://localhost:8976/"),
		},
	})
	awscognito.NewCfnUserPoolGroup(scope, jsii.String(id+"-admins"), &awscognito.CfnUserPoolGroupProps{
		UserPoolId: pool.UserPoolId(), GroupName: jsii.String(s.AdminGroup), Description: jsii.String("May do everything"),
	})
	awscdk.NewCfnOutput(awscdk.Stack_Of(scope), jsii.String("SignIn"), &awscdk.CfnOutputProps{Value: domain.BaseUrl(nil)})
	awscdk.NewCfnOutput(awscdk.Stack_Of(scope), jsii.String("UserPool"), &awscdk.CfnOutputProps{Value: pool.UserPoolId()})
	awscdk.NewCfnOutput(awscdk.Stack_Of(scope), jsii.String("SignInClient"), &awscdk.CfnOutputProps{Value: client.UserPoolClientId()})
	return Issuer{pool.UserPoolProviderUrl(), client.UserPoolClientId()}
}
