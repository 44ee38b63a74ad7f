package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	awscredentials "github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"

	"companyos/cookbook/story"
	"companyos/shared/wire"
)

const (
	stack          = "Company"
	databaseSecret = "company-database-url"
	adminGroup     = "company-admins"
	repository     = "company-sandbox"
)

// outputs of the stack.
type outputs struct {
	APIID     string `json:"ApiId"`
	Attempts  string
	Artifacts string
	Cluster   string
}

// deploy does what a team does: the database's URL as a secret, the image into the registry, bootstrap, deploy.
func (p *place) deploy(ctx context.Context) error {
	if err := p.makeSecret(ctx); err != nil {
		return err
	}
	p.say("pushing the image")
	if err := p.makeRepository(ctx); err != nil {
		return err
	}
	image, err := p.push(ctx)
	if err != nil {
		return err
	}
	executors := filepath.Join(p.folder, "executors.yaml")
	if err := os.WriteFile(executors, []byte(executorsYAML(p.repositoryURL())), 0o600); err != nil {
		return err
	}
	p.say("cdk bootstrap")
	// Elsewhere than in the repository, whose cdk.json would have the stacks synthesized first.
	if _, err := p.emulator.command(ctx, p.folder, p.cdk, "bootstrap", "aws://000000000000/"+region, "--no-notices"); err != nil {
		return err
	}
	p.say("cdk deploy")
	file := filepath.Join(p.folder, "outputs.json")
	if _, err := p.emulator.command(ctx, "", p.cdk, "deploy", stack, "--require-approval", "never", "--outputs-file", file,
		"--app", p.infra+" synth", "--output", filepath.Join(p.folder, "cdk.out"), "--no-notices",
		"-c", "image="+image, "-c", "executors="+executors, "-c", "prices=", "-c", "database=url", "-c", "databaseSecret="+databaseSecret,
		"-c", "architecture=host", "-c", "issuer="+p.issuer.url, "-c", "audience="+audience, "-c", "adminGroup="+adminGroup,
		"-c", "publicUrl="+p.forger.URL, "-c", "gitHosts="+p.https.url+"/"); err != nil {
		return err
	}
	if err := p.readOutputs(file); err != nil {
		return err
	}
	p.say("deployed: %s", p.apiURL())
	return p.forger.To(p.listener, p.apiURL())
}

func (p *place) readOutputs(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var all map[string]outputs
	if err := json.Unmarshal(text, &all); err != nil {
		return err
	}
	p.out = all[stack]
	if p.out.APIID == "" {
		return fmt.Errorf("the stack has no output ApiId: %s", text)
	}
	return nil
}

// apiURL is the emulator's form of https://<id>.execute-api.<region>.amazonaws.com.
func (p *place) apiURL() string {
	return fmt.Sprintf("%s/_aws/execute-api/%s/$default", p.emulator.url, p.out.APIID)
}

func (p *place) aws(ctx context.Context) (aws.Config, error) {
	return awsconfig.LoadDefaultConfig(ctx, awsconfig.WithRegion(region), awsconfig.WithBaseEndpoint(p.emulator.url),
		awsconfig.WithCredentialsProvider(awscredentials.NewStaticCredentialsProvider("company-emulator", "company-emulator", "")))
}

func (p *place) makeSecret(ctx context.Context) error {
	cfg, err := p.aws(ctx)
	if err != nil {
		return err
	}
	direct := net.JoinHostPort("127.0.0.1", strconv.Itoa(p.database.Port))
	url := strings.Replace(p.database.URL("postgres", "postgres"), direct, p.rows.Addr().String(), 1)
	_, err = secretsmanager.NewFromConfig(cfg).CreateSecret(ctx, &secretsmanager.CreateSecretInput{
		Name: aws.String(databaseSecret), SecretString: aws.String(url),
	})
	return err
}

// push adds the git host's certificate to the image, as a company with its own authority does, and pushes it by digest.
func (p *place) push(ctx context.Context) (string, error) {
	file := filepath.Join(p.folder, "authorities.crt")
	container, err := p.emulator.command(ctx, "", "docker", "create", p.image)
	if err != nil {
		return "", err
	}
	target := fmt.Sprintf("127.0.0.1:%d/%s", p.emulator.port, repository)
	const bundle = "/etc/ssl/certs/ca-certificates.crt"
	if _, err := p.emulator.command(ctx, "", "docker", "cp", container+":"+bundle, file); err != nil {
		return "", err
	}
	if err := appendFile(file, p.https.certificate); err != nil {
		return "", err
	}
	for _, args := range [][]string{{"cp", file, container + ":" + bundle}, {"commit", container, target + ":example"}, {"rm", container}, {"push", target + ":example"}} {
		if _, err := p.emulator.command(ctx, "", "docker", args...); err != nil {
			return "", err
		}
	}
	p.pushed = target + ":example"
	digests, err := p.emulator.command(ctx, "", "docker", "image", "inspect", target+":example", "--format", "{{range .RepoDigests}}{{println .}}{{end}}")
	if err != nil {
		return "", err
	}
	for digest := range strings.Lines(digests) {
		if digest = strings.TrimSpace(digest); strings.HasPrefix(digest, target+"@") {
			return digest, nil
		}
	}
	return "", fmt.Errorf("the registry gave no digest: %q", digests)
}

func appendFile(path string, text []byte) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if closed := f.Close(); err == nil {
		err = closed
	}
	return err
}

// client is somebody's.
func (p *place) client(subject string, groups ...string) (*wire.Client, error) {
	token, err := p.issuer.token(subject, groups...)
	return wire.NewClient(p.apiURL(), token, http.DefaultClient), err
}

// executorsYAML are the story's executors and one that sleeps until its sandbox is killed.
func executorsYAML(url string) string {
	return story.Executors(url, story.Branch) + fmt.Sprintf(`  - id: sleeper
    harness: fixture
    repository: {url: %q, branch: %q}
    sandbox: {cpu: 256, memory: 512, limits: {run: 60s, idle: 60s}}
    fixture: {turns: [{steps: [{sleep: 10m}]}]}
`, url, story.Branch)
}
