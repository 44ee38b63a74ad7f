package place

import (
	"fmt"
	"regexp"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsecs"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"

	"companyos/infra/setting"
)

// Container is the name of the task's only container, which a launch's overrides name.
const Container = "sandbox"

// writable are the folders beside the read-only root. They are volumes of the task and end with it.
var writable = map[string]string{"sandbox": "/sandbox", "tmp": "/tmp"}

// dropped are Docker's default capabilities but the four that the supervisor needs to hand its agent another uid and
// to end it: CHOWN, SETUID, SETGID, KILL.
var dropped = []awsecs.Capability{
	awsecs.Capability_AUDIT_WRITE, awsecs.Capability_DAC_OVERRIDE, awsecs.Capability_FOWNER, awsecs.Capability_FSETID,
	awsecs.Capability_MKNOD, awsecs.Capability_NET_BIND_SERVICE, awsecs.Capability_NET_RAW, awsecs.Capability_SETFCAP,
	awsecs.Capability_SETPCAP, awsecs.Capability_SYS_CHROOT,
}

// stopTimeout is the longest that Fargate gives between SIGTERM and SIGKILL; a Spot task has as long in all.
const stopTimeout = 120

// Cluster is where sandboxes run: an ECS cluster and the one task definition that every launch overrides in size.
type Cluster struct {
	awsecs.Cluster
	Task     awsecs.FargateTaskDefinition
	Role     awsiam.Role // pulls the image and writes the log; the sandbox itself has no role
	LogGroup awslogs.LogGroup
	Spot     bool
}

// NewCluster makes both. The task definition has no task role, so there are no credentials to fetch inside a sandbox.
func NewCluster(scope constructs.Construct, id string, s setting.Settings, n *Network) *Cluster {
	c := &Cluster{Spot: s.Spot}
	c.Cluster = awsecs.NewCluster(scope, jsii.String(id), &awsecs.ClusterProps{
		Vpc: n.VPC, ContainerInsightsV2: awsecs.ContainerInsights_DISABLED,
	})
	c.Cluster.Node().DefaultChild().(awsecs.CfnCluster).SetCapacityProviders(jsii.Strings("FARGATE", "FARGATE_SPOT"))
	c.LogGroup = awslogs.NewLogGroup(scope, jsii.String(id+"-log"), &awslogs.LogGroupProps{
		Retention: retention(s.LogDays), RemovalPolicy: awscdk.RemovalPolicy_DESTROY,
	})
	c.Role = awsiam.NewRole(scope, jsii.String(id+"-execution"), &awsiam.RoleProps{
		AssumedBy: awsiam.NewServicePrincipal(jsii.String("ecs-tasks.amazonaws.com"), nil),
	})
	c.LogGroup.GrantWrite(c.Role)
	c.pulls(s.Image)
	c.Task = awsecs.NewFargateTaskDefinition(scope, jsii.String(id+"-task"), &awsecs.FargateTaskDefinitionProps{
		Cpu: jsii.Number(1024), MemoryLimitMiB: jsii.Number(2048), EphemeralStorageGiB: jsii.Number(21),
		ExecutionRole:   c.Role,
		RuntimePlatform: &awsecs.RuntimePlatform{CpuArchitecture: cpu(s.Sandbox), OperatingSystemFamily: awsecs.OperatingSystemFamily_LINUX()},
	})
	c.container(scope, id, s)
	// The L2 task definition makes a task role in any case; nobody may assume what does not exist.
	c.Task.Node().TryRemoveChild(jsii.String("TaskRole"))
	c.Task.Node().DefaultChild().(awsecs.CfnTaskDefinition).SetTaskRoleArn(nil)
	return c
}

func (c *Cluster) container(scope constructs.Construct, id string, s setting.Settings) {
	linux := awsecs.NewLinuxParameters(scope, jsii.String(id+"-linux"), &awsecs.LinuxParametersProps{InitProcessEnabled: jsii.Bool(false)})
	linux.DropCapabilities(dropped...)
	container := c.Task.AddContainer(jsii.String(Container), &awsecs.ContainerDefinitionOptions{
		Image: awsecs.ContainerImage_FromRegistry(jsii.String(s.Image), nil),
		// Sandboxes that cannot write their log go on.
		Logging: awsecs.LogDriver_AwsLogs(&awsecs.AwsLogDriverProps{
			StreamPrefix: jsii.String(Container), LogGroup: c.LogGroup,
			Mode: awsecs.AwsLogDriverMode_NON_BLOCKING, MaxBufferSize: awscdk.Size_Mebibytes(jsii.Number(4)),
		}),
		LinuxParameters:        linux,
		ReadonlyRootFilesystem: jsii.Bool(true),
		StopTimeout:            awscdk.Duration_Seconds(jsii.Number(stopTimeout)),
		User:                   jsii.String("0"),
		Environment:            proxyEnvironment(s.Proxy),
	})
	awscdk.Annotations_Of(container).AcknowledgeWarning(jsii.String("@aws-cdk/aws-ecs:ecrImageRequiresPolicy"), jsii.String("pulls allows it"))
	for _, name := range []string{"sandbox", "tmp"} {
		c.Task.AddVolume(&awsecs.Volume{Name: jsii.String(name)})
		container.AddMountPoints(&awsecs.MountPoint{
			SourceVolume: jsii.String(name), ContainerPath: jsii.String(writable[name]), ReadOnly: jsii.Bool(false),
		})
	}
}

// proxyEnvironment is how the supervisor and its git learn of the proxy of egress strict.
func proxyEnvironment(proxy string) *map[string]*string {
	if proxy == "" {
		return nil
	}
	return &map[string]*string{"HTTPS_PROXY": jsii.String(proxy), "HTTP_PROXY": jsii.String(proxy)}
}

var ecrImage = regexp.MustCompile(`^([0-9]{12})\.dkr\.ecr\.([a-z0-9-]+)\.amazonaws\.com(?:\.cn)?/([^@:]+)`)

// pulls allows pulling the image and no other.
func (c *Cluster) pulls(image string) {
	m := ecrImage.FindStringSubmatch(image)
	if m == nil {
		return // not in ECR, so no right of this account opens it
	}
	c.Role.AddToPolicy(awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{
		Actions:   jsii.Strings("ecr:BatchCheckLayerAvailability", "ecr:BatchGetImage", "ecr:GetDownloadUrlForLayer"),
		Resources: jsii.Strings(fmt.Sprintf("arn:%s:ecr:%s:%s:repository/%s", *awscdk.Aws_PARTITION(), m[2], m[1], m[3])),
	}))
	wildcard(c.Role, `^Resource::\*$`, "ecr:GetAuthorizationToken knows no resource.")
	c.Role.AddToPolicy(awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{
		Actions: jsii.Strings("ecr:GetAuthorizationToken"), Resources: jsii.Strings("*"),
	}))
}

func cpu(a setting.Architecture) awsecs.CpuArchitecture {
	if a == setting.ArchitectureX86 {
		return awsecs.CpuArchitecture_X86_64()
	}
	return awsecs.CpuArchitecture_ARM64()
}

// provider is the capacity that launches ask for.
func (c *Cluster) provider() string {
	if c.Spot {
		return "FARGATE_SPOT"
	}
	return "FARGATE"
}

// Launches lets a function start, look at and stop sandboxes of this cluster, and pass them the one execution role.
func (c *Cluster) Launches(fn *Function, n *Network) {
	inCluster := map[string]any{"ArnEquals": map[string]any{"ecs:cluster": c.ClusterArn()}}
	tasks := awscdk.Fn_Join(jsii.String(""), &[]*string{
		jsii.String("arn:"), awscdk.Aws_PARTITION(), jsii.String(":ecs:"), awscdk.Aws_REGION(), jsii.String(":"),
		awscdk.Aws_ACCOUNT_ID(), jsii.String(":task/"), c.ClusterName(), jsii.String("/*"),
	})
	fn.Allow(awsiam.PolicyStatementProps{
		Actions: jsii.Strings("ecs:RunTask"), Resources: &[]*string{c.Task.TaskDefinitionArn()}, Conditions: &inCluster,
	})
	fn.Allow(awsiam.PolicyStatementProps{
		Actions: jsii.Strings("ecs:DescribeTasks", "ecs:StopTask"), Resources: &[]*string{tasks}, Conditions: &inCluster,
	})
	wildcard(fn.Role, `^Resource::\*$`, "ecs:ListTasks knows no resource; its condition names the cluster.")
	wildcard(fn.Role, `^Resource::arn:.*:task\/.*\/\*$`, "Tasks do not exist at deployment; the resource and the condition name the cluster.")
	fn.Allow(awsiam.PolicyStatementProps{Actions: jsii.Strings("ecs:ListTasks"), Resources: jsii.Strings("*"), Conditions: &inCluster})
	fn.Allow(awsiam.PolicyStatementProps{
		Actions: jsii.Strings("iam:PassRole"), Resources: &[]*string{c.Role.RoleArn()},
		Conditions: &map[string]any{"StringEquals": map[string]any{"iam:PassedToService": "ecs-tasks.amazonaws.com"}},
	})
	fn.Set(map[string]*string{
		"COMPANY_CLUSTER":           c.ClusterArn(),
		"COMPANY_TASK_DEFINITION":   c.Task.TaskDefinitionArn(),
		"COMPANY_CAPACITY_PROVIDER": jsii.String(c.provider()),
		"COMPANY_SUBNETS":           n.SubnetIDs(),
		"COMPANY_SECURITY_GROUPS":   n.Group.SecurityGroupId(),
		"COMPANY_ASSIGN_PUBLIC_IP":  jsii.String(fmt.Sprint(n.Public)),
	})
}
