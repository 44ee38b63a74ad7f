// Package app holds the use cases of a Company, one per file, each with one transaction. It decides nothing that a pure
// package can decide: it reads, asks shared/task or shared/company what to do, writes it under a guard, and acts outside
// the database only before the transaction (a wake) or after its COMMIT (from what is stored).
package app

import (
	"context"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"companyos/shared/blob"
	"companyos/shared/company"
	"companyos/shared/executor"
	"companyos/shared/routine"
	"companyos/shared/sandbox"
	"companyos/shared/store"
	"companyos/shared/task"
)

// Queue wakes whoever advances a run. A message only names a run.
type Queue interface {
	Send(ctx context.Context, runID uuid.UUID, delay time.Duration) error
}

// Executors is the registry of what a Task may be accepted for. Each call returns one immutable snapshot.
type Executors interface {
	Registry() *executor.Registry
}

// Config is what the use cases need.
type Config struct {
	DB        *store.DB
	Blobs     blob.Store
	Attempts  Queue             // sandboxed runs
	Work      Queue             // plain agents, teams and workflows
	Sandboxes sandbox.Sandboxes // nil in a process without the right to start any
	Executors Executors
	Log       *slog.Logger
	Clock     func() time.Time // what records are dated by; deadlines follow the database's clock

	MaxSandboxes    int           // slots
	MaxPending      int           // queued runs beyond which a start is refused
	DispatchTimeout time.Duration // of the function that calls Advance
	ExecuteTimeout  time.Duration // of the function that calls Execute
	PublicURL       string        // where a sandbox reaches the API
	GitHosts        []string      // URL prefixes that repositories may have beside GitHub
	Secrets         func(ctx context.Context, names []string) (map[string]string, error)

	// What the automation needs. Each may be left out.
	TickCron   string            // when Tick is called, for people to read
	Retention  routine.Retention // 30 days each where nothing is said
	Deleter    blob.Deleter      // nil: artifacts are kept
	Rights     func(ctx context.Context, granted task.Authorization) (Rights, error)
	Checks     map[string]Check // acceptance checks of the application, by name
	ReadSource func(ctx context.Context, source company.Source) ([]company.Document, error)
	Channels   map[string]Channel // where summaries go, by the name in a Product's metadata
}

// Company is the set of use cases.
type Company struct {
	Config
}

// New returns the use cases.
func New(c Config) *Company { return &Company{Config: c} }

// now is the time that a record written now carries: as fine as the database keeps it.
func (c *Company) now() time.Time { return c.Clock().UTC().Truncate(time.Microsecond) }
