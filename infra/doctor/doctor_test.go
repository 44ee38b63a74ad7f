package doctor_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"companyos/infra/doctor"
	"companyos/infra/setting"
	"companyos/shared/executor"
	"companyos/shared/task"
)

// account is an AWS that has these things.
type account struct {
	refuses   string // code by which STS does
	denies    string // operation that the credentials may not
	bootstrap string
	image     bool
	tag       string
	secrets   string // names, separated by spaces
	vcpus     float64
	lambdas   float64
}

func (a account) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	refuse := func(code string) {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"__type":%q,"message":"no"}`, code)
	}
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	if operation != "" && operation == a.denies {
		refuse("AccessDeniedException")
		return
	}
	switch operation {
	case "":
		if a.refuses != "" {
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprintf(w, `<ErrorResponse><Error><Code>%s</Code><Message>no</Message></Error></ErrorResponse>`, a.refuses)
			return
		}
		fmt.Fprint(w, `<GetCallerIdentityResponse><GetCallerIdentityResult><Account>123456789012</Account></GetCallerIdentityResult></GetCallerIdentityResponse>`)
	case "GetParameter":
		if a.bootstrap == "" {
			refuse("ParameterNotFound")
			return
		}
		fmt.Fprintf(w, `{"Parameter":{"Value":%q}}`, a.bootstrap)
	case "DescribeImages":
		if !a.image {
			refuse("ImageNotFoundException")
			return
		}
		fmt.Fprintf(w, `{"imageDetails":[{"imageTags":[%q]}]}`, a.tag)
	case "DescribeSecret":
		for _, name := range strings.Fields(a.secrets) {
			if strings.Contains(string(body), `"`+name+`"`) {
				fmt.Fprint(w, `{}`)
				return
			}
		}
		refuse("ResourceNotFoundException")
	case "GetServiceQuota":
		value := a.vcpus
		if strings.Contains(string(body), "lambda") {
			value = a.lambdas
		}
		fmt.Fprintf(w, `{"Quota":{"Value":%g}}`, value)
	}
}

func examine(t *testing.T, a account) (string, error) {
	t.Helper()
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	return examineAt(t, server.URL)
}

func examineAt(t *testing.T, address string) (string, error) {
	t.Helper()
	registry, err := executor.NewRegistry(nil, executor.Executor{
		Kind: task.ExecutorAgent, ID: "engineer", Harness: executor.HarnessFixture,
		Repository: &executor.Repository{URL: "https://github.com/octocat/Hello-World", Branch: "master"},
		Sandbox:    &executor.Sandbox{CPU: 2048, Memory: 4096, Disk: 21, Secrets: []string{"A_KEY"}},
	}, executor.Executor{
		Kind: task.ExecutorAgent, ID: "author", Harness: executor.HarnessClaude, Model: "claude-sonnet-4-6",
		Repository: &executor.Repository{URL: "https://github.com/octocat/Hello-World", Branch: "master"},
		Sandbox:    &executor.Sandbox{CPU: 1024, Memory: 2048, Disk: 21},
	})
	if err != nil {
		t.Fatal(err)
	}
	d := doctor.Doctor{
		Settings: setting.Settings{
			Image:    "123456789012.dkr.ecr.eu-central-1.amazonaws.com/company-sandbox@sha256:" + strings.Repeat("0", 64),
			Database: setting.DatabaseURL, DatabaseName: "company-database-url", SecretsPrefix: "company", MaxSandboxes: 20, Registry: registry,
		},
		AWS: aws.Config{Region: "eu-central-1", BaseEndpoint: &address, Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""), Retryer: func() aws.Retryer { return aws.NopRetryer{} }},
	}
	var out bytes.Buffer
	err = d.Examine(t.Context(), &out)
	return out.String(), err
}

// healthy has everything: 20 sandboxes of 2 vCPUs need 40.
var healthy = account{bootstrap: "28", image: true, tag: "0123456789abcdef-arm64-agents", secrets: "company-database-url company/A_KEY", vcpus: 40, lambdas: 1000}

func TestNothingIsMissing(t *testing.T) {
	t.Parallel()
	out, err := examine(t, healthy)
	if err != nil || strings.Contains(out, "missing") || strings.Count(out, "ok ") != 7 {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestWhatIsMissingIsNamedWithItsFix(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*account)
		says   []string
	}{
		"expired":         {func(a *account) { a.refuses = "ExpiredToken" }, []string{"have expired", "aws sso login"}},
		"key of nobody":   {func(a *account) { a.refuses = "InvalidClientTokenId" }, []string{"STS refuses them: InvalidClientTokenId", "give others"}},
		"no right":        {func(a *account) { a.denies = "GetParameter" }, []string{"AccessDeniedException", "let these credentials do so"}},
		"bootstrap":       {func(a *account) { a.bootstrap = "" }, []string{"ParameterNotFound", "bootstrap aws://123456789012/eu-central-1"}},
		"old bootstrap":   {func(a *account) { a.bootstrap = "5" }, []string{"version 5 is older"}},
		"image":           {func(a *account) { a.image = false }, []string{"ImageNotFoundException", "infra/image.sh push"}},
		"without agents":  {func(a *account) { a.tag = "0123456789abcdef-arm64" }, []string{"executor author", "push --agents"}},
		"architecture":    {func(a *account) { a.tag = "0123456789abcdef-amd64-agents" }, []string{"for amd64, and sandboxes are for arm64", "ARCH=arm64"}},
		"database secret": {func(a *account) { a.secrets = "company/A_KEY" }, []string{"secret company-database-url", "create-secret --region eu-central-1 --name company-database-url"}},
		"executor secret": {func(a *account) { a.secrets = "company-database-url" }, []string{"--name company/A_KEY"}},
		"vcpus":           {func(a *account) { a.vcpus = 6 }, []string{"6 of 40 needed", "maxSandboxes"}},
		"lambdas":         {func(a *account) { a.lambdas = 10 }, []string{"10 of 30 needed", "L-B99A9384"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := healthy
			c.change(&a)
			out, err := examine(t, a)
			if !errors.Is(err, doctor.ErrMissing) || strings.Count(out, "missing") != 1 {
				t.Errorf("%v\n%s", err, out)
			}
			for _, s := range c.says {
				if !strings.Contains(out, s) {
					t.Errorf("does not say %q:\n%s", s, out)
				}
			}
		})
	}
}

// Of an image that somebody named differently, nothing is concluded.
func TestATagOfTheOperatorsOwn(t *testing.T) {
	t.Parallel()
	a := healthy
	a.tag = "release-7"
	if out, err := examine(t, a); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestWithoutNetwork(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(nil)
	server.Close()
	out, err := examineAt(t, server.URL)
	if !errors.Is(err, doctor.ErrMissing) || !strings.Contains(out, "STS does not answer: "+strings.TrimPrefix(server.URL, "http://")+" cannot be reached") || strings.Contains(out, "sign in") {
		t.Errorf("%v\n%s", err, out)
	}
}

// What the environment and ~/.aws lead to, where they lead nowhere.
func TestWithoutAnAccount(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none")
	for _, name := range []string{"AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI"} {
		t.Setenv(name, "")
	}
	t.Setenv("AWS_CONFIG_FILE", none)
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", none)
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	for _, c := range []struct{ profile, region, says, fix string }{
		{"", "eu-central-1", "credentials: there are none", "aws sso login"},
		{"nosuch", "eu-central-1", `~/.aws has no profile "nosuch"`, "aws configure list-profiles"},
		{"", "", "no region", "AWS_REGION"},
	} {
		t.Setenv("AWS_PROFILE", c.profile)
		var out bytes.Buffer
		err := doctor.Run(t.Context(), setting.Settings{Region: c.region}, &out)
		if !errors.Is(err, doctor.ErrMissing) || !strings.Contains(out.String(), c.says) || !strings.Contains(out.String(), c.fix) {
			t.Errorf("profile %q, region %q: %v\n%s", c.profile, c.region, err, &out)
		}
	}
}
