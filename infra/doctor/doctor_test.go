package doctor_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
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
	signedIn  bool
	bootstrap string
	image     bool
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
	switch operation {
	case "":
		if !a.signedIn {
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, `<ErrorResponse><Error><Code>ExpiredToken</Code><Message>expired</Message></Error></ErrorResponse>`)
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
		fmt.Fprint(w, `{"imageDetails":[{}]}`)
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
	registry, err := executor.NewRegistry(nil, executor.Executor{
		Kind: task.ExecutorAgent, ID: "engineer", Harness: executor.HarnessFixture,
		Repository: &executor.Repository{URL: "https://github.com/octocat/Hello-World", Branch: "master"},
		Sandbox:    &executor.Sandbox{CPU: 2048, Memory: 4096, Disk: 21, Secrets: []string{"A_KEY"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	d := doctor.Doctor{
		Settings: setting.Settings{
			Image:    "123456789012.dkr.ecr.eu-central-1.amazonaws.com/company-sandbox@sha256:" + strings.Repeat("0", 64),
			Database: setting.DatabaseURL, DatabaseName: "company-database-url", SecretsPrefix: "company", MaxSandboxes: 20, Registry: registry,
		},
		AWS: aws.Config{Region: "eu-central-1", BaseEndpoint: &server.URL, Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""), Retryer: func() aws.Retryer { return aws.NopRetryer{} }},
	}
	var out bytes.Buffer
	err = d.Examine(t.Context(), &out)
	return out.String(), err
}

// healthy has everything: 20 sandboxes of 2 vCPUs need 40.
var healthy = account{signedIn: true, bootstrap: "28", image: true, secrets: "company-database-url company/A_KEY", vcpus: 40, lambdas: 1000}

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
		"credentials":     {func(a *account) { a.signedIn = false }, []string{"ExpiredToken", "aws sso login"}},
		"bootstrap":       {func(a *account) { a.bootstrap = "" }, []string{"ParameterNotFound", "bootstrap aws://123456789012/eu-central-1"}},
		"old bootstrap":   {func(a *account) { a.bootstrap = "5" }, []string{"version 5 is older"}},
		"image":           {func(a *account) { a.image = false }, []string{"ImageNotFoundException", "infra/image.sh push"}},
		"database secret": {func(a *account) { a.secrets = "company/A_KEY" }, []string{"secret company-database-url", "create-secret --name company-database-url"}},
		"executor secret": {func(a *account) { a.secrets = "company-database-url" }, []string{"create-secret --name company/A_KEY"}},
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
