// Package shared holds no code: its test is the import policy of the project.
package shared

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "companyos/"

// pure packages reach nothing outside the standard library but what is named here.
var pure = map[string][]string{
	"shared/task":    {"github.com/google/uuid"},
	"shared/company": {"github.com/google/uuid"},
	"shared/routine": {"github.com/google/uuid", "github.com/robfig/cron/v3"},
}

// withoutAWS are programs and packages that must not link the AWS SDK.
var withoutAWS = []string{
	"functions/local", "functions/sandbox", "shared/task", "shared/company", "shared/store", "shared/app", "shared/api",
	"shared/agent", "shared/wire", "shared/executor", "shared/queue", "shared/blob", "shared/sandbox", "shared/notify",
}

// layers: who may not be imported by whom. Imports go down only.
var layers = []struct {
	who     string
	not     []string
	because string
}{
	{"shared/task", []string{"shared/company", "shared/store", "shared/app", "shared/api", "shared/wire"}, "the rules know nothing of where they are used"},
	{"shared/company", []string{"shared/store", "shared/app", "shared/api", "shared/wire"}, "the rules know nothing of where they are used"},
	{"shared/store", []string{"shared/app", "shared/api", "shared/wire", "shared/agent"}, "the store serves the use cases"},
	{"shared/app", []string{"shared/api", "shared/wire", "shared/agent"}, "use cases do not know HTTP or the sandbox's inside"},
	{"shared/agent", []string{"shared/app", "shared/api", "shared/store", "shared/executor"}, "the sandbox has no way to the store"},
	{"functions/sandbox", []string{"shared/app", "shared/api", "shared/store"}, "the sandbox has no way to the store"},
	{"shared/wire", []string{"shared/app", "shared/api", "shared/store"}, "the contract is below the server"},
	{"shared/source", []string{"shared/store", "shared/app", "shared/api", "shared/wire"}, "reading a Source needs the Source alone"},
	{"functions/api", []string{"shared/source", "shared/notify", "shared/agent/broker"}, "what a function links it loads at each cold start"},
	{"functions/dispatch", []string{"shared/source", "shared/notify"}, "what a function links it loads at each cold start"},
	{"cookbook/01-quickstart", []string{"shared/model/messages", "shared/source/gitless"}, "their libraries are a third of what a newcomer's first command would compile"},
	{"shared/netlock", []string{"shared/task", "shared/app", "shared/wire", "shared/agent"}, "the lock stands on its own"},
}

func deps(t *testing.T, pkg string) []string {
	t.Helper()
	out, err := exec.Command("go", "list", "-deps", module+pkg).CombinedOutput()
	if err != nil {
		t.Fatalf("go list %s: %v\n%s", pkg, err, out)
	}
	return strings.Fields(string(out))
}

func TestPurePackages(t *testing.T) {
	t.Parallel()
	for pkg, allowed := range pure {
		for _, d := range deps(t, pkg) {
			external := strings.Contains(strings.SplitN(d, "/", 2)[0], ".")
			if external && !slices.Contains(allowed, d) {
				t.Errorf("%s links %s", pkg, d)
			}
			for _, effect := range []string{"net/http", "os/exec", "database/sql"} {
				if d == effect {
					t.Errorf("%s links %s: it is pure", pkg, d)
				}
			}
		}
	}
}

func TestWithoutAWS(t *testing.T) {
	t.Parallel()
	for _, pkg := range withoutAWS {
		for _, d := range deps(t, pkg) {
			if strings.HasPrefix(d, "github.com/aws/") {
				t.Errorf("%s links %s", pkg, d)
				break
			}
		}
	}
}

func TestLayers(t *testing.T) {
	t.Parallel()
	for _, l := range layers {
		for _, d := range deps(t, l.who) {
			if slices.Contains(l.not, strings.TrimPrefix(d, module)) {
				t.Errorf("%s links %s: %s", l.who, d, l.because)
			}
		}
	}
}

// Nobody imports a main package, a test helper or the infrastructure from product code.
func TestNobodyImports(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, module+"...").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for line := range strings.Lines(string(out)) {
		pkg, imports, _ := strings.Cut(strings.TrimSpace(line), " ")
		if strings.HasSuffix(pkg, "test") || strings.HasPrefix(pkg, module+"cookbook") {
			continue
		}
		for _, i := range strings.Fields(imports) {
			for _, forbidden := range []string{"infra", "cookbook", "shared/store/storetest", "shared/queue/queuetest", "shared/sandbox/sandboxtest", "shared/app/apptest"} {
				if strings.HasPrefix(i, module+forbidden) {
					t.Errorf("%s imports %s", pkg, i)
				}
			}
		}
	}
}
