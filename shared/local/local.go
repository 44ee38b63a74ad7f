// Package local runs a whole Company in one process, without AWS: an embedded PostgreSQL, queues in memory, artifacts in
// a folder, sandboxes as processes of this machine. What lasts is in one folder; a restart finds it again, together with
// the sandboxes that went on without it.
package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"companyos/shared/api"
	"companyos/shared/app"
	"companyos/shared/blob/dir"
	"companyos/shared/executor"
	"companyos/shared/queue"
	"companyos/shared/sandbox"
	"companyos/shared/sandbox/process"
	"companyos/shared/source"
	"companyos/shared/store"
	"companyos/shared/store/embedded"
	"companyos/shared/store/schema"
)

// Config is what a Company on one machine needs.
type Config struct {
	Addr           string
	Data           string
	DatabaseURL    string // empty: an embedded PostgreSQL in the data folder
	Throwaway      bool   // nothing has to survive a crash of the machine, so nothing waits for the disk
	Executors      *executor.Source
	Runner         app.Runner                    // does the work of plain runs
	Sandboxes      func(Paths) (Launcher, error) // nil: processes of this machine
	Auth           api.AuthConfig                // without a secret and an issuer: development tokens with a secret of the data folder
	GitHosts       []string
	Sources        string         // folder of local Sources; empty: none are read
	Library        source.Library // reads remote Sources where there is no git
	PublicURL      string         // where sandboxes reach the API; empty: where it listens
	MaxSandboxes   int
	MaxPending     int
	Automation     Automation
	Attempts, Work queue.LocalConfig
	Settle         time.Duration // how long Close waits for handlers
	Log            *slog.Logger
}

// Paths are where a launcher finds its folder and the API.
type Paths struct {
	Data   string
	APIURL string
	Log    *slog.Logger
	Exited func(runID string) // a sandbox has ended
}

// Launcher starts sandboxes, can say how many run, and forgets those that stopped before a time.
type Launcher interface {
	sandbox.Sandboxes
	Running(ctx context.Context) ([]sandbox.Status, error)
	Prune(ctx context.Context, before time.Time) error
}

// Company is a running Company.
type Company struct {
	URL      string
	App      *app.Company
	Attempts *queue.Local
	Work     *queue.Local

	cfg      Config
	lock     *os.File
	database *embedded.Server
	db       *store.DB
	blobs    *dir.Store
	server   *http.Server
	launcher Launcher
	secret   string
	stop     context.CancelFunc
	failed   <-chan struct{} // closed when a part ended by itself
	group    *errgroup.Group
}

const (
	shutdown       = 10 * time.Second
	sweepEvery     = time.Minute
	dispatchWithin = 5 * time.Second // a process starts in milliseconds
	largestBlob    = 1 << 30
)

// Start starts everything and answers when the API does. An error is one sentence that says what to do.
func Start(ctx context.Context, cfg Config) (*Company, error) {
	c := &Company{cfg: cfg}
	if err := c.start(ctx); err != nil {
		c.release(ctx)
		return nil, err
	}
	if err := c.takeOver(ctx); err != nil {
		return nil, errors.Join(err, c.Close(ctx))
	}
	return c, nil
}

// takeOver goes on with what an earlier process left. The data folder has one process, so whoever worked there is dead; of a
// database elsewhere nobody knows, and its workers' leases run out.
func (c *Company) takeOver(ctx context.Context) error {
	if c.database != nil {
		if err := c.db.EndLeases(ctx, time.Now()); err != nil {
			return err
		}
	}
	return c.App.WakeAll(ctx)
}

func (c *Company) start(ctx context.Context) error {
	if c.cfg.Sandboxes == nil {
		if _, err := exec.LookPath("git"); err != nil {
			return fmt.Errorf("sandboxes on this machine need git; install git, or put it on the PATH: %w", err)
		}
	}
	if err := c.openFolder(); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", c.cfg.Addr)
	if err != nil {
		return fmt.Errorf("cannot listen on %s; choose another address with -addr or COMPANY_ADDR: %w", c.cfg.Addr, err)
	}
	c.URL = "http://" + reachable(listener.Addr())
	if err := c.openStores(ctx); err != nil {
		listener.Close()
		return err
	}
	if err := c.wire(ctx); err != nil {
		listener.Close()
		return err
	}
	c.run(ctx, listener)
	return nil
}

// reachable is an address as this machine can use it: one of all interfaces is reached by loopback.
func reachable(a net.Addr) string {
	if tcp, ok := a.(*net.TCPAddr); ok && tcp.IP.IsUnspecified() {
		return net.JoinHostPort("127.0.0.1", strconv.Itoa(tcp.Port))
	}
	return a.String()
}

// openFolder makes the data folder and takes it for this process alone.
func (c *Company) openFolder() (err error) {
	if c.cfg.Data, err = filepath.Abs(c.cfg.Data); err != nil {
		return err
	}
	if err := os.MkdirAll(c.cfg.Data, 0o700); err != nil {
		return fmt.Errorf("the data folder cannot be made; choose another one with -data or COMPANY_DATA: %w", err)
	}
	c.lock, err = embedded.TryLock(filepath.Join(c.cfg.Data, "local.lock"))
	if err != nil {
		return fmt.Errorf("the data folder %s is used by another process or cannot be written; stop that process, or choose another folder with -data or COMPANY_DATA: %w", c.cfg.Data, err)
	}
	c.secret, err = c.developmentSecret()
	return err
}

func (c *Company) openStores(ctx context.Context) (err error) {
	url := c.cfg.DatabaseURL
	if url == "" {
		c.cfg.Log.InfoContext(ctx, "starting PostgreSQL; the first time it is downloaded, about 15 MB")
		c.database, err = embedded.Start(ctx, c.postgres(0))
		if err != nil {
			return err
		}
		url = c.database.URL("postgres", "postgres")
	}
	if err := schema.Migrate(ctx, url); err != nil {
		return err
	}
	if c.db, err = store.Open(ctx, store.Config{URL: url, MaxConns: 16}); err != nil {
		return err
	}
	c.blobs, err = dir.Open(filepath.Join(c.cfg.Data, "blobs"), dir.Config{MaxBytes: largestBlob, BaseURL: c.URL})
	return err
}

// wire connects the parts.
func (c *Company) wire(ctx context.Context) (err error) {
	c.Attempts, c.Work = queue.NewLocal(c.cfg.Attempts), queue.NewLocal(c.cfg.Work)
	if c.launcher, err = c.cfg.launcher(Paths{Data: c.cfg.Data, APIURL: c.URL, Log: c.cfg.Log, Exited: c.exited}); err != nil {
		return err
	}
	auth := c.cfg.Auth
	c.App = app.New(app.Config{
		DB: c.db, Blobs: c.blobs, Attempts: c.Attempts, Work: c.Work, Sandboxes: c.launcher, Executors: c.cfg.Executors, Log: c.cfg.Log,
		Clock: time.Now, MaxSandboxes: c.cfg.MaxSandboxes, MaxPending: c.cfg.MaxPending, DispatchTimeout: dispatchWithin,
		ExecuteTimeout: executor.PlainRunLimit + time.Minute, PublicURL: cmp.Or(c.cfg.PublicURL, c.URL), GitHosts: c.cfg.GitHosts, Secrets: c.secrets,
		TickCron: c.cfg.Automation.TickCron, Retention: c.cfg.Automation.Retention, Deleter: c.blobs, Rights: auth.Roles.Rights,
		Checks: c.cfg.Automation.Checks, ReadSource: c.sourceReader(), Channels: c.channels(),
	})
	if auth.HS256Secret == "" && auth.Issuer == "" {
		auth.HS256Secret = c.secret
	}
	verifier, err := api.NewVerifier(ctx, auth)
	if err != nil {
		return err
	}
	handler := api.New(api.Config{Company: c.App, Auth: verifier, Log: c.cfg.Log, Blobs: c.blobs.Handler()})
	c.server = &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10}
	return nil
}

// run starts what runs until Close. It does not end with ctx: that is for Close to do in order.
func (c *Company) run(ctx context.Context, listener net.Listener) {
	ctx, c.stop = context.WithCancel(context.WithoutCancel(ctx))
	c.group, ctx = errgroup.WithContext(ctx)
	c.failed = ctx.Done()
	c.group.Go(func() error {
		if err := c.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	c.group.Go(func() error { return c.Attempts.Run(ctx, c.advance) })
	c.group.Go(func() error { return c.Work.Run(ctx, c.execute) })
	c.group.Go(func() error { return c.sweep(ctx) })
	c.group.Go(func() error { return c.automate(ctx) })
	c.group.Go(func() error { return c.clean(ctx) })
	if c.database != nil {
		c.group.Go(func() error { return c.keepDatabase(ctx) })
	}
}

// Sweep does once what runs every minute: lost wakes are sent again, counters are folded.
func (c *Company) Sweep(ctx context.Context) error {
	if err := c.App.Sweep(ctx); err != nil {
		return err
	}
	_, err := c.db.FoldCounts(ctx)
	return err
}

func (c *Company) sweep(ctx context.Context) error {
	ticker := time.NewTicker(sweepEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			if err := c.Sweep(ctx); err != nil && ctx.Err() == nil {
				c.cfg.Log.ErrorContext(ctx, "sweep failed; the next one is in a minute", "error", err)
			}
		}
	}
}

func (cfg Config) launcher(p Paths) (Launcher, error) {
	if cfg.Sandboxes != nil {
		return cfg.Sandboxes(p)
	}
	return process.New(process.Config{Dir: p.Data, Log: p.Log, Exited: p.Exited})
}

// exited looks at a run whose sandbox has ended. What this misses, the run's own reminder finds.
func (c *Company) exited(runID string) {
	id, err := uuid.Parse(runID)
	if err == nil {
		err = c.Attempts.Send(context.Background(), id, 0)
	}
	if err != nil {
		c.cfg.Log.Warn("a run was not woken at its sandbox's end", "run_id", runID, "error", err)
	}
}

// Running is the number of sandboxes that run.
func (c *Company) Running(ctx context.Context) (int, error) {
	running, err := c.launcher.Running(ctx)
	return len(running), err
}

// Close ends the process's part: requests under way are answered, handlers finish. Sandboxes go on; a later Start
// adopts them.
func (c *Company) Close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdown)
	defer cancel()
	err := c.server.Shutdown(ctx)
	c.stop()
	err = errors.Join(err, c.group.Wait())
	c.release(ctx)
	return err
}

func (c *Company) release(ctx context.Context) {
	if c.db != nil {
		c.db.Close()
	}
	if c.database != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdown)
		defer cancel()
		if err := c.database.Stop(ctx); err != nil {
			c.cfg.Log.ErrorContext(ctx, "PostgreSQL did not stop; the next start adopts it", "error", err)
		}
	}
	if c.blobs != nil {
		c.blobs.Close()
	}
	if c.lock != nil {
		c.lock.Close()
	}
}

// removeData stops what still holds a data folder and removes it.
func removeData(ctx context.Context, data string) error {
	lock, err := embedded.TryLock(filepath.Join(data, "local.lock"))
	if err != nil {
		return fmt.Errorf("the data folder %s is used by another process; stop it first: %w", data, err)
	}
	defer lock.Close()
	server, err := embedded.Attach(ctx, filepath.Join(data, "postgres"))
	if err == nil {
		err = server.Stop(ctx)
	} else if errors.Is(err, embedded.ErrNotRunning) {
		err = nil
	}
	if err != nil {
		return err
	}
	return os.RemoveAll(data)
}
