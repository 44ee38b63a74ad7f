package main

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// stubs are the commands of a machine on which everything is as it should be, but for the build itself.
var stubs = map[string]string{
	"docker": `case "$*" in
"image inspect "*) exit 1 ;;
"buildx imagetools "*) echo '{"digest":"sha256:` + strings.Repeat("0", 64) + `"}' ;;
"buildx inspect "*) echo "Platforms: linux/amd64, linux/arm64" ;;
"buildx build "*) echo "the build fails, of $4" >&2; exit 1 ;;
esac`,
	"aws":   `case "$*" in "configure get region") echo eu-central-1 ;; *) echo 123456789012 ;; esac`,
	"uname": "echo x86_64",
}

// image runs infra/image.sh in a copy of its folders, with no other commands than these and what belongs to a shell.
func image(t *testing.T, commands map[string]string, cdk string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	bin := filepath.Join(root, "bin")
	files := map[string]string{"cdk.json": cdk, "go.mod": "module m\n", "go.sum": "", "shared/a.go": "package shared\n"}
	for _, name := range []string{"infra/image.sh", "infra/tool.sh", "functions/sandbox/Containerfile"} {
		text, err := os.ReadFile(filepath.Join("..", name))
		if err != nil {
			t.Fatal(err)
		}
		files[name] = string(text)
	}
	for name, script := range commands {
		files["bin/"+name] = "#!" + bash + "\n" + script + "\n"
	}
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range strings.Fields("bash dirname mkdir mv id sed grep tail cut cat find sort xargs sha256sum tr") {
		if path, err := exec.LookPath(name); err != nil {
			t.Fatal(err)
		} else if err := os.Symlink(path, filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	var out, errs strings.Builder
	cmd := exec.CommandContext(t.Context(), bash, append([]string{filepath.Join(root, "infra/image.sh")}, args...)...)
	cmd.Env, cmd.Stdout, cmd.Stderr = []string{"PATH=" + bin, "HOME=" + root}, &out, &errs
	err = cmd.Run()
	return out.String(), errs.String(), err
}

// What is missing ends it before anything is built, in one sentence.
func TestAnImageNeedsThese(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		commands map[string]string
		args     string
		says     string
	}{
		"buildx":            {map[string]string{"docker": `[ "$1" != buildx ]`}, "push", "docker has no buildx: install"},
		"emulation":         {map[string]string{"docker": `[ "$2" != inspect ] || echo "Platforms: linux/amd64, linux/386"`}, "push", "does not emulate arm64: docker run --privileged"},
		"aws":               {map[string]string{"aws": ""}, "push", "there is no aws command: install"},
		"credentials":       {map[string]string{"aws": `echo; echo "Unable to locate credentials. Run aws configure." >&2; exit 253`}, "push", "Unable to locate credentials. Run aws configure; sign in"},
		"region":            {map[string]string{"aws": `[ "$1" != configure ]`}, "push", "no region: set AWS_REGION"},
		"this architecture": {nil, "push --debootstrap", "and this image is for arm64"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			commands := maps.Clone(stubs)
			maps.Copy(commands, c.commands)
			maps.DeleteFunc(commands, func(_, script string) bool { return script == "" })
			stdout, stderr, err := image(t, commands, "{}", strings.Fields(c.args)...)
			if err == nil || stdout != "" || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, c.says) {
				t.Errorf("%v, prints %q and says %q", err, stdout, stderr)
			}
		})
	}
}

// The whole way with an AWS and an engine that do as they are told: the region of cdk.json goes before the profile's.
func TestAnImageIsPushed(t *testing.T) {
	t.Parallel()
	commands := maps.Clone(stubs)
	const uri = "123456789012.dkr.ecr.eu-west-1.amazonaws.com/company-sandbox"
	commands["aws"] = `case "$*" in
"configure get region") echo eu-central-1 ;;
"ecr describe-repositories --region eu-west-1 "*) exit 254 ;;
"ecr create-repository --region eu-west-1 "*) echo ` + uri + ` ;;
"ecr get-login-password --region eu-west-1") echo secret ;;
"sts "*) echo 123456789012 ;;
*) exit 1 ;;
esac`
	commands["docker"] = `case "$*" in
*RepoDigests*) echo ` + uri + "@" + imageDigest + ` ;;
"image inspect "*) exit 1 ;;
"buildx imagetools "*) echo '{"digest":"` + imageDigest + `"}' ;;
"buildx inspect "*) echo "Platforms: linux/amd64, linux/arm64" ;;
"login --username AWS --password-stdin 123456789012.dkr.ecr.eu-west-1.amazonaws.com") read -r password; [ "$password" = secret ] ;;
"tag company-sandbox:"*"-arm64-agents ` + uri + `:"*"-arm64-agents") ;;
"push --quiet ` + uri + `:"*"-arm64-agents") ;;
"info" | "buildx version" | "buildx build "*" AGENTS=yes "*) ;;
*) echo "docker $*" >&2; exit 1 ;;
esac`
	stdout, stderr, err := image(t, commands, `{"context": {"region": "eu-west-1"}}`, "push", "--agents")
	if err != nil || stdout != uri+"@"+imageDigest+"\n" {
		t.Errorf("%v, prints %q and says %q", err, stdout, stderr)
	}
}

// A build that fails is the end: nothing is pushed. It is for this machine, a push for the deployment.
func TestAFailedBuildIsTheEnd(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ args, cdk, platform string }{
		{"build", "{}", "linux/amd64"},
		{"push", "{}", "linux/arm64"},
		{"push", `{"context": {"architecture": "x86_64"}}`, "linux/amd64"},
		{"push", `{"context": {"architecture": "x86_64", "sandboxArchitecture": "arm64"}}`, "linux/arm64"},
	} {
		stdout, stderr, err := image(t, stubs, c.cdk, c.args)
		if err == nil || stdout != "" || !strings.HasSuffix(stderr, "the build fails, of "+c.platform+"\n") {
			t.Errorf("%s with %s: %v, prints %q and says %q", c.args, c.cdk, err, stdout, stderr)
		}
	}
}
