package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"companyos/cookbook/story"
	"companyos/shared/agent/gittest"
	"companyos/shared/store/embedded"
)

// place is everything around the deployment: what an account, an identity provider and a git host are in earnest.
type place struct {
	tools
	folder     string
	database   *embedded.Server
	rows       net.Listener // the database, for containers
	issuer     *issuer
	git        *gittest.Server
	repository *gittest.Repository
	https      *secure
	forger     *story.Forger
	listener   net.Listener
	emulator   *emulator
	out        outputs
	pushed     string // the image in this machine's engine, gone with the example
	started    time.Time
}

// addressOf is the IPv4 address of a network interface.
func addressOf(name string) (string, error) {
	i, err := net.InterfaceByName(name)
	if err != nil {
		return "", fmt.Errorf("the container engine has no network %s; name its interface with -bridge: %w", name, err)
	}
	addresses, err := i.Addrs()
	if err != nil {
		return "", err
	}
	for _, a := range addresses {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil {
			return n.IP.String(), nil
		}
	}
	return "", fmt.Errorf("the interface %s has no IPv4 address; name another one with -bridge", name)
}

// settle starts it, in a folder of its own.
func settle(ctx context.Context, t tools) (p *place, err error) {
	p = &place{tools: t, started: time.Now()}
	if p.folder, err = os.MkdirTemp("", "company-emulator-"); err != nil {
		return p, err
	}
	if err := os.Chmod(p.folder, 0o711); err != nil { // PostgreSQL has a user of its own
		return p, err
	}
	p.say("starting PostgreSQL, an issuer of tokens and a git host")
	if p.database, err = embedded.Start(ctx, embedded.Config{Dir: filepath.Join(p.folder, "postgres")}); err != nil {
		return p, err
	}
	if p.rows, err = forward(t.bridge, net.JoinHostPort("127.0.0.1", strconv.Itoa(p.database.Port))); err != nil {
		return p, err
	}
	if p.issuer, err = startIssuer("127.0.0.1"); err != nil {
		return p, err
	}
	if err := p.serveRepository(); err != nil {
		return p, err
	}
	// Sandboxes reach the API through a proxy that can forge what they report; its address is known before the API's.
	if p.listener, err = net.Listen("tcp", net.JoinHostPort(t.bridge, "0")); err != nil {
		return p, err
	}
	p.forger = &story.Forger{URL: "http://" + p.listener.Addr().String()}
	p.say("starting the emulator")
	p.emulator, err = startEmulator(ctx, t, p.folder)
	return p, err
}

// serveRepository is a git host with TLS, as the Company wants of any host that is not this machine's loopback.
func (p *place) serveRepository() (err error) {
	if p.git, err = gittest.Start(filepath.Join(p.folder, "git"), "127.0.0.1:0"); err != nil {
		return err
	}
	if p.repository, err = p.git.Create("octocat/Hello-World"); err != nil {
		return err
	}
	if _, err = p.repository.Commit(gittest.Commit{
		Branch: story.Branch, Message: "Say hello",
		Files: map[string]gittest.File{"README.md": {Content: "Hello World!\n"}, "LICENSE": {Content: "Do what you like.\n"}},
	}); err != nil {
		return err
	}
	p.https, err = serveSecurely(p.bridge, p.git.URL)
	return err
}

// repositoryURL is the repository as sandboxes reach it.
func (p *place) repositoryURL() string { return p.https.url + "/octocat/Hello-World" }

// say writes progress, with the time since the start.
func (p *place) say(format string, a ...any) {
	fmt.Fprintf(os.Stderr, "%5.1fs  %s\n", time.Since(p.started).Seconds(), fmt.Sprintf(format, a...))
}

// close ends what was started, the last first.
func (p *place) close(ctx context.Context) error {
	var errs []error
	if p.emulator != nil {
		errs = append(errs, p.emulator.stop()) // and with it the containers
		if p.pushed != "" {
			_, err := p.emulator.command(ctx, "", "docker", "rmi", "--force", p.pushed)
			errs = append(errs, err)
		}
	}
	if p.forger != nil && p.listener != nil {
		errs = append(errs, p.listener.Close())
	}
	if p.https != nil {
		errs = append(errs, p.https.server.Close())
	}
	if p.git != nil {
		errs = append(errs, p.git.Close())
	}
	if p.issuer != nil {
		errs = append(errs, p.issuer.server.Close())
	}
	if p.rows != nil {
		errs = append(errs, p.rows.Close())
	}
	if p.database != nil {
		errs = append(errs, p.database.Stop(ctx))
	}
	for i, err := range errs {
		if errors.Is(err, net.ErrClosed) {
			errs[i] = nil
		}
	}
	return errors.Join(append(errs, os.RemoveAll(p.folder))...)
}
