package place

import (
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsec2"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"

	"companyos/infra/setting"
)

// Network is where sandboxes run, and nothing else: the functions are outside any VPC.
type Network struct {
	VPC     awsec2.IVpc
	Group   awsec2.SecurityGroup
	Subnets []string
	Public  bool // its tasks need a public address to reach anything
}

// NewNetwork makes a VPC of public subnets without ingress, NAT gateway or endpoint, or uses the given one. In egress
// strict the subnets are isolated; see restrict.
func NewNetwork(scope constructs.Construct, id string, s setting.Settings) *Network {
	n := &Network{Public: s.Egress == setting.EgressOpen}
	if s.VPC == "" {
		n.VPC = newVPC(scope, id, s.Egress)
		for _, subnet := range *n.VPC.SelectSubnets(&awsec2.SubnetSelection{SubnetGroupName: jsii.String(subnetGroup)}).SubnetIds {
			n.Subnets = append(n.Subnets, *subnet)
		}
	} else {
		n.VPC, n.Subnets = givenVPC(scope, id, s), s.Subnets
	}
	n.Group = awsec2.NewSecurityGroup(scope, jsii.String(id+"-sandboxes"), &awsec2.SecurityGroupProps{
		Vpc: n.VPC, AllowAllOutbound: jsii.Bool(false), Description: jsii.String("Sandboxes: no ingress"),
	})
	if s.Egress == setting.EgressStrict {
		n.restrict(scope, id, s)
		return n
	}
	n.Group.AddEgressRule(awsec2.Peer_AnyIpv4(), awsec2.Port_Tcp(jsii.Number(443)), jsii.String("git hosts, models, the API, images, artifacts"), nil)
	return n
}

const subnetGroup = "sandboxes"

func newVPC(scope constructs.Construct, id string, egress setting.Egress) awsec2.IVpc {
	kind, public := awsec2.SubnetType_PUBLIC, jsii.Bool(true)
	if egress == setting.EgressStrict {
		kind, public = awsec2.SubnetType_PRIVATE_ISOLATED, nil
	}
	return awsec2.NewVpc(scope, jsii.String(id), &awsec2.VpcProps{
		IpAddresses: awsec2.IpAddresses_Cidr(jsii.String("10.20.0.0/20")),
		MaxAzs:      jsii.Number(2),
		NatGateways: jsii.Number(0),
		// It would need a function with rights on every security group; nothing is ever put into the default one.
		RestrictDefaultSecurityGroup: jsii.Bool(false),
		SubnetConfiguration: &[]*awsec2.SubnetConfiguration{
			{Name: jsii.String(subnetGroup), SubnetType: kind, MapPublicIpOnLaunch: public, CidrMask: jsii.Number(22)},
		},
	})
}

// givenVPC needs no look-up in the account: everything that is used of the VPC is its id and the subnets given.
func givenVPC(scope constructs.Construct, id string, s setting.Settings) awsec2.IVpc {
	zones := make([]*string, len(s.Subnets))
	for i := range zones {
		zones[i] = awscdk.Fn_Select(jsii.Number(i), awscdk.Fn_GetAzs(nil))
	}
	return awsec2.Vpc_FromVpcAttributes(scope, jsii.String(id), &awsec2.VpcAttributes{
		VpcId: jsii.String(s.VPC), AvailabilityZones: &zones, IsolatedSubnetIds: jsii.Strings(s.Subnets...),
	})
}

// SubnetIDs are the subnets, separated by commas.
func (n *Network) SubnetIDs() *string { return jsii.String(strings.Join(n.Subnets, ",")) }
