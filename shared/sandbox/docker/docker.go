// Package docker launches sandboxes as containers of this host's engine, from the image that production uses.
//
// A container is as Fargate would make it: read-only root, the capabilities of the engine's default dropped one by one but
// for those that the supervisor needs, no new privileges, bounds on memory, CPU and processes. Writable are the sandbox's
// own volume and /tmp. The agent's network is held by the supervisor's lock; the container's own, which the supervisor
// needs for the API, the repository and the model, is the second wall.
//
// The container's name is the launch: the engine makes it once. A container that has stopped stays until Prune, so that it
// can be asked about.
package docker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"companyos/shared/agent"
	"companyos/shared/sandbox"
)

// Config is what a launcher needs. Image is required.
type Config struct {
	Image   string        // a tag or digest that the engine has; nothing is pulled
	Socket  string        // of the engine; DOCKER_HOST, else /var/run/docker.sock
	Network string        // of the containers; default: host for an API on loopback, else the engine's bridge
	Grace   time.Duration // from SIGTERM to SIGKILL; 30 s, more than a supervisor takes for its last report
	Prefix  string        // of the containers' names; "company-"
	Log     *slog.Logger
}

// Launcher starts sandboxes in an engine. Several launchers may share it.
type Launcher struct {
	Config
	engine *engine
}

var _ sandbox.Sandboxes = (*Launcher)(nil)

// New makes a launcher.
func New(c Config) (*Launcher, error) {
	if c.Image == "" {
		return nil, errors.New("docker: no image is named")
	}
	if c.Socket == "" {
		c.Socket = strings.TrimPrefix(os.Getenv("DOCKER_HOST"), "unix://")
	}
	if c.Socket == "" {
		c.Socket = "/var/run/docker.sock"
	}
	if c.Grace == 0 {
		c.Grace = 30 * time.Second
	}
	if c.Prefix == "" {
		c.Prefix = "company-"
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return &Launcher{Config: c, engine: newEngine(c.Socket)}, nil
}

// The labels by which a launch is found.
const (
	labelRun    = "company.run"
	labelLaunch = "company.launch"
)

// Bounds of a container beside the launch's own.
const (
	processesMost = 4096
	mebibyte      = 1 << 20
	cpuUnit       = 1e9 / 1024 // of a core, in the engine's unit
)

// dropped are the capabilities of the engine's default that a supervisor does not need. It keeps CHOWN, SETUID, SETGID and
// KILL. They are named one by one: Fargate knows no other way to keep some.
func dropped() []string {
	return []string{
		"AUDIT_WRITE", "DAC_OVERRIDE", "FOWNER", "FSETID", "MKNOD", "NET_BIND_SERVICE", "NET_RAW", "SETFCAP", "SETPCAP", "SYS_CHROOT",
	}
}

// container is the order for one.
type container struct {
	Image       string
	Env         []string
	Labels      map[string]string
	Volumes     map[string]struct{}
	StopTimeout int
	HostConfig  hostConfig
}

type hostConfig struct {
	NetworkMode    string
	ReadonlyRootfs bool
	CapDrop        []string
	SecurityOpt    []string
	Memory         int64
	MemorySwap     int64
	NanoCpus       int64
	PidsLimit      int64
	Tmpfs          map[string]string
	LogConfig      logConfig
}

type logConfig struct {
	Type   string
	Config map[string]string
}

// Start makes and starts the launch's container.
func (l *Launcher) Start(ctx context.Context, spec sandbox.Spec) (string, error) {
	handle, err := l.handleOf(spec)
	if err != nil {
		return "", err
	}
	err = l.engine.call(ctx, http.MethodPost, "/containers/create", url.Values{"name": {handle}}, l.container(spec), nil)
	switch status := statusOf(err); {
	case status == http.StatusConflict: // another Start made it
	case status == http.StatusNotFound:
		return "", fmt.Errorf("%w: %w", sandbox.ErrImageUnavailable, err)
	case status == http.StatusBadRequest:
		return "", fmt.Errorf("%w: %w", sandbox.ErrRefused, err)
	case err != nil:
		return "", err
	}
	return handle, l.run(ctx, handle)
}

// run starts a container that was made, once: one that ran is left alone.
func (l *Launcher) run(ctx context.Context, handle string) error {
	seen, err := l.inspect(ctx, handle)
	// A name is taken before its container can be looked at.
	for try := 0; statusOf(err) == http.StatusNotFound && try < 50; try++ {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
		seen, err = l.inspect(ctx, handle)
	}
	if err != nil || seen.State.Status != "created" {
		return err
	}
	err = l.engine.call(ctx, http.MethodPost, "/containers/"+handle+"/start", nil, nil, nil)
	if err == nil || statusOf(err) == 0 {
		return err // without an answer the outcome is unknown
	}
	if now, again := l.inspect(ctx, handle); again == nil && now.State.StartedAt.Year() > 1 {
		return nil // another Start was faster
	}
	// It will never run: its name is free for nobody else's launch, so it can go.
	if gone := l.remove(ctx, handle); gone != nil {
		return errors.Join(err, gone)
	}
	return fmt.Errorf("%w: %w", sandbox.ErrNoCapacity, err)
}

func (l *Launcher) container(spec sandbox.Spec) container {
	memory := int64(max(spec.Memory, 128)) * mebibyte
	return container{
		Image: l.Image,
		Env: []string{
			agent.EnvAPI + "=" + spec.APIURL, agent.EnvToken + "=" + spec.Token, agent.EnvLaunch + "=" + spec.RunID + "-" + strconv.Itoa(spec.Launch),
		},
		Labels:      map[string]string{labelRun: spec.RunID, labelLaunch: strconv.Itoa(spec.Launch)},
		Volumes:     map[string]struct{}{"/sandbox": {}},
		StopTimeout: int(l.Grace / time.Second),
		HostConfig: hostConfig{
			NetworkMode: l.network(spec.APIURL), ReadonlyRootfs: true, CapDrop: dropped(), SecurityOpt: []string{"no-new-privileges"},
			Memory: memory, MemorySwap: memory, NanoCpus: int64(float64(max(spec.CPU, 256)) * cpuUnit), PidsLimit: processesMost,
			Tmpfs:     map[string]string{"/tmp": "rw,nosuid,nodev,size=512m,mode=1777"},
			LogConfig: logConfig{Type: "json-file", Config: map[string]string{"max-size": "10m", "max-file": "1"}},
		},
	}
}

// network is where containers reach the API.
func (l *Launcher) network(api string) string {
	if l.Network != "" {
		return l.Network
	}
	if u, err := url.Parse(api); err == nil {
		if ip, err := netip.ParseAddr(u.Hostname()); err == nil && ip.IsLoopback() {
			return "host"
		}
	}
	return "bridge"
}

// handleOf checks a launch and names it.
func (l *Launcher) handleOf(spec sandbox.Spec) (string, error) {
	id, err := uuid.Parse(spec.RunID)
	if err != nil || id.String() != spec.RunID || spec.Launch < 1 || spec.Token == "" || spec.APIURL == "" || spec.Harness == "" {
		return "", fmt.Errorf("%w: a launch needs a run id, a number, a token, an API and a harness", sandbox.ErrRefused)
	}
	return l.Prefix + spec.RunID + "-" + strconv.Itoa(spec.Launch), nil
}

// isHandle says that a text is the name of a container of ours, and nothing else in a URL.
func (l *Launcher) isHandle(handle string) bool {
	rest, ok := strings.CutPrefix(handle, l.Prefix)
	if !ok || len(rest) < 38 || rest[36] != '-' {
		return false
	}
	launch, err := strconv.Atoi(rest[37:])
	return err == nil && launch > 0 && uuid.Validate(rest[:36]) == nil
}
