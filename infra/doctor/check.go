package doctor

import (
	"context"
	"fmt"
	"regexp"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecr"
	ecrtypes "github.com/aws/aws-sdk-go-v2/service/ecr/types"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/servicequotas"
	"github.com/aws/aws-sdk-go-v2/service/ssm"

	"companyos/infra/setting"
	"companyos/shared/executor"
)

// leastBootstrap is the version of the bootstrap stack that the templates need.
const leastBootstrap = 6

func (d Doctor) bootstrap(ctx context.Context, account string) []Finding {
	fix := fmt.Sprintf("npx -y aws-cdk@2.1148.1 bootstrap aws://%s/%s, in another folder than this repository", account, d.AWS.Region)
	out, err := ssm.NewFromConfig(d.AWS).GetParameter(ctx, &ssm.GetParameterInput{Name: aws.String("/cdk-bootstrap/hnb659fds/version")})
	if err != nil {
		return []Finding{failed("bootstrap", err, fix, "ParameterNotFound")}
	}
	version, err := strconv.Atoi(aws.ToString(out.Parameter.Value))
	if err != nil || version < leastBootstrap {
		return []Finding{{fmt.Sprintf("bootstrap: version %s is older than %d", aws.ToString(out.Parameter.Value), leastBootstrap), fix}}
	}
	return []Finding{{What: fmt.Sprintf("bootstrap: version %d", version)}}
}

var registryImage = regexp.MustCompile(`^([0-9]{12})\.dkr\.ecr\.([a-z0-9-]+)\.amazonaws\.com[^/]*/([^@:]+)@(sha256:[0-9a-f]{64})$`)

func (d Doctor) image(ctx context.Context, _ string) []Finding {
	m := registryImage.FindStringSubmatch(d.Settings.Image)
	if m == nil {
		return []Finding{{What: "image: " + d.Settings.Image + " is in no ECR repository and was not looked at"}}
	}
	if m[2] != d.AWS.Region {
		return []Finding{{"image: it is in " + m[2] + ", the deployment in " + d.AWS.Region, "push it to this region: AWS_REGION=" + d.AWS.Region + " infra/image.sh push"}}
	}
	out, err := ecr.NewFromConfig(d.AWS).DescribeImages(ctx, &ecr.DescribeImagesInput{
		RegistryId: &m[1], RepositoryName: &m[3], ImageIds: []ecrtypes.ImageIdentifier{{ImageDigest: &m[4]}},
	})
	if err != nil {
		fix := "push it: infra/image.sh push, and pass what it prints as -c image=…"
		return []Finding{failed("image", err, fix, "ImageNotFoundException", "RepositoryNotFoundException")}
	}
	for _, image := range out.ImageDetails {
		for _, tag := range image.ImageTags {
			if f := d.tagged(tag); f.Fix != "" {
				return []Finding{f}
			}
		}
	}
	return []Finding{{What: "image: " + d.Settings.Image}}
}

// builtTag is what infra/image.sh names an image: its sources, its architecture, and whether the agents are in it.
var builtTag = regexp.MustCompile(`^[0-9a-f]{16}-(arm64|amd64)(-agents)?$`)

// tagged is what an image of this tag lacks for the executors. Of a tag of the operator's own nothing is known.
func (d Doctor) tagged(tag string) Finding {
	m := builtTag.FindStringSubmatch(tag)
	if m == nil {
		return Finding{}
	}
	if want := d.Settings.Sandbox.GoArch(); m[1] != want {
		return Finding{"image: it is for " + m[1] + ", and sandboxes are for " + want, "push one: ARCH=" + want + " infra/image.sh push, with --agents where it had them; or pass another -c sandboxArchitecture=…"}
	}
	for _, e := range d.Settings.Registry.All() {
		if m[2] == "" && (e.Harness == executor.HarnessClaude || e.Harness == executor.HarnessCodex) {
			return Finding{fmt.Sprintf("image: it is without the agents, and the executor %s is one with harness %s", e.ID, e.Harness), "push one with them: infra/image.sh push --agents"}
		}
	}
	return Finding{}
}

func (d Doctor) secrets(ctx context.Context, _ string) []Finding {
	client := secretsmanager.NewFromConfig(d.AWS)
	var names []string
	if d.Settings.Database == setting.DatabaseURL {
		names = append(names, d.Settings.DatabaseName)
	}
	for _, name := range d.Settings.SecretNames() {
		names = append(names, d.Settings.SecretsPrefix+"/"+name)
	}
	var found []Finding
	for _, name := range names {
		if _, err := client.DescribeSecret(ctx, &secretsmanager.DescribeSecretInput{SecretId: &name}); err != nil {
			fix := fmt.Sprintf("aws secretsmanager create-secret --region %s --name %s --secret-string file:///dev/stdin", d.AWS.Region, name)
			found = append(found, failed("secret "+name, err, fix, "ResourceNotFoundException"))
			continue
		}
		found = append(found, Finding{What: "secret " + name})
	}
	return found
}

// The quotas that a run needs, and how much of each.
func (d Doctor) quotas(ctx context.Context, _ string) []Finding {
	largest := 0
	for _, e := range d.Settings.Registry.All() {
		if e.Sandbox != nil {
			largest = max(largest, e.Sandbox.CPU)
		}
	}
	code, kind := "L-3032A538", "On-Demand"
	if d.Settings.Spot {
		code, kind = "L-36FBB829", "Spot"
	}
	sandboxes := float64(d.Settings.MaxSandboxes*largest) / 1024
	return []Finding{
		d.quota(ctx, "fargate", code, "Fargate "+kind+" vCPUs", sandboxes, "or pass a smaller -c maxSandboxes=…"),
		d.quota(ctx, "lambda", "L-B99A9384", "concurrent Lambda functions", leastConcurrency, "or expect 429 under load"),
	}
}

// leastConcurrency is what both queues take at most, and as much again for the API.
const leastConcurrency = 30

func (d Doctor) quota(ctx context.Context, service, code, what string, needed float64, other string) Finding {
	out, err := servicequotas.NewFromConfig(d.AWS).GetServiceQuota(ctx, &servicequotas.GetServiceQuotaInput{ServiceCode: &service, QuotaCode: &code})
	fix := fmt.Sprintf("aws service-quotas request-service-quota-increase --region %s --service-code %s --quota-code %s --desired-value %g, %s", d.AWS.Region, service, code, needed, other)
	if err != nil {
		return failed("quota of "+what, err, "look at it in the console: "+code, "NoSuchResourceException")
	}
	if have := aws.ToFloat64(out.Quota.Value); have < needed {
		return Finding{fmt.Sprintf("quota of %s: %g of %g needed", what, have, needed), fix}
	}
	return Finding{What: fmt.Sprintf("quota of %s: %g, needed %g", what, aws.ToFloat64(out.Quota.Value), needed)}
}
