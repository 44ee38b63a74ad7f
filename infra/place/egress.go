package place

import (
	"net/url"
	"strconv"

	"github.com/aws/aws-cdk-go/awscdk/v2/awsec2"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"

	"companyos/infra/setting"
)

// restrict is egress strict, for those who want to pay for it: images, logs and artifacts come over endpoints, all else
// through the team's own proxy, whose list says what is reachable. Each interface endpoint is paid by the hour.
func (n *Network) restrict(scope constructs.Construct, id string, s setting.Settings) {
	proxy, err := url.Parse(s.Proxy)
	port, portErr := strconv.ParseFloat(proxy.Port(), 64)
	if err != nil || portErr != nil {
		panic("proxy was not validated: " + s.Proxy)
	}
	n.Group.AddEgressRule(awsec2.Peer_AnyIpv4(), awsec2.Port_Tcp(&port), jsii.String("the proxy"), nil)
	n.Group.AddEgressRule(awsec2.Peer_AnyIpv4(), awsec2.Port_Tcp(jsii.Number(443)), jsii.String("endpoints; nothing else is routed"), nil)
	if s.VPC != "" {
		return // the endpoints of a VPC that exists are its owner's
	}
	endpoints := awsec2.NewSecurityGroup(scope, jsii.String(id+"-endpoints"), &awsec2.SecurityGroupProps{
		Vpc: n.VPC, AllowAllOutbound: jsii.Bool(false), Description: jsii.String("Endpoints for sandboxes"),
	})
	endpoints.AddIngressRule(n.Group, awsec2.Port_Tcp(jsii.Number(443)), jsii.String("sandboxes"), nil)
	for name, service := range map[string]awsec2.InterfaceVpcEndpointAwsService{
		"ecr":    awsec2.InterfaceVpcEndpointAwsService_ECR(),
		"docker": awsec2.InterfaceVpcEndpointAwsService_ECR_DOCKER(),
		"logs":   awsec2.InterfaceVpcEndpointAwsService_CLOUDWATCH_LOGS(),
	} {
		n.VPC.AddInterfaceEndpoint(jsii.String(name), &awsec2.InterfaceVpcEndpointOptions{
			Service: service, Open: jsii.Bool(false), SecurityGroups: &[]awsec2.ISecurityGroup{endpoints},
		})
	}
	// Layers of images and artifacts; a gateway endpoint costs nothing.
	n.VPC.AddGatewayEndpoint(jsii.String("s3"), &awsec2.GatewayVpcEndpointOptions{Service: awsec2.GatewayVpcEndpointAwsService_S3()})
}
