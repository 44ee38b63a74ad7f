package config

import (
	"fmt"
	"log/slog"
	"net/netip"
	"os"
)

// Local is the configuration of functions/local.
type Local struct {
	Addr                       string
	Data                       string
	Executors                  string
	Image                      string
	Prices                     string
	Reset                      bool
	DatabaseURL                string
	MaxSandboxes               int
	MaxPending                 int
	GitHosts                   string
	Sources                    string
	JWTIssuer                  string
	JWTAudience                string
	JWTHS256Secret             string
	Roles                      string
	GroupsClaim                string
	RetentionDays              int
	AutomationHistoryRetention int
	TickCron                   string
	AnthropicBaseURL           string
	Values                     []slog.Attr // every setting, secrets redacted
}

// DefaultExecutors is where functions/local looks when nothing is said.
const DefaultExecutors = "executors.yaml"

// ReadLocal reads the configuration of functions/local. It returns flag.ErrHelp after printing the usage.
func ReadLocal(args []string) (c Local, err error) {
	s := newSet("local")
	f := s.std
	f.StringVar(&c.Addr, "addr", "127.0.0.1:7070", "address to listen on; one that is not loopback refuses the development users")
	f.StringVar(&c.Data, "data", ".company", "folder for everything that lasts")
	f.StringVar(&c.Executors, "executors", DefaultExecutors, "file with the executors")
	f.StringVar(&c.Image, "image", "", "image of the sandboxes, run by this machine's Docker engine (infra/image.sh build makes it); empty: processes")
	f.StringVar(&c.Prices, "prices", "", "file with the prices of models")
	f.BoolVar(&c.Reset, "reset", false, "stop the sandboxes and remove the data folder first")
	f.StringVar(&c.DatabaseURL, "database-url", "", "use this PostgreSQL instead of an embedded one")
	s.bounds(&c)
	s.identity(&c)
	s.hide("jwt-hs256-secret")
	if err := s.parse(args); err != nil {
		return c, err
	}
	c.Values = s.values()
	if c.MaxSandboxes < 1 || c.MaxPending < 1 || c.RetentionDays < 1 || c.AutomationHistoryRetention < 1 {
		return c, fmt.Errorf("max-sandboxes, max-pending and the retention days are whole numbers of 1 or more")
	}
	if err := issuer(c.JWTIssuer); err != nil {
		return c, err
	}
	if info, err := os.Stat(c.Sources); c.Sources != "" && (err != nil || !info.IsDir()) {
		return c, fmt.Errorf("sources: %q is no folder", c.Sources)
	}
	if _, err := netip.ParseAddrPort(c.Addr); err != nil {
		return c, fmt.Errorf("addr: %q is no address with a port, such as 127.0.0.1:7070", c.Addr)
	}
	return c, nil
}

func (s *set) bounds(c *Local) {
	f := s.std
	f.IntVar(&c.MaxSandboxes, "max-sandboxes", 20, "sandboxes at once; further runs wait in order")
	f.IntVar(&c.MaxPending, "max-pending", 1000, "runs that may wait; beyond it a start is refused")
	f.StringVar(&c.Sources, "sources", "", "folder whose Markdown files and git repositories Sources may point to; empty: none")
	f.StringVar(&c.GitHosts, "git-hosts", "", "URL prefixes of repositories allowed beside GitHub's, separated by commas")
	f.IntVar(&c.RetentionDays, "retention-days", 30, "days that events and artifacts are kept")
	f.IntVar(&c.AutomationHistoryRetention, "automation-history-retention-days", 30, "days that automation history is kept")
	f.StringVar(&c.AnthropicBaseURL, "anthropic-base-url", "", "another server with Anthropic's API for agents with harness model; https, or http to loopback")
	f.StringVar(&c.TickCron, "tick-cron", "0 * * * *", "when automation ticks")
}

func (s *set) identity(c *Local) {
	f := s.std
	f.StringVar(&c.JWTIssuer, "jwt-issuer", "", "OIDC issuer whose tokens are accepted; empty: development users only")
	f.StringVar(&c.JWTAudience, "jwt-audience", "company", "audience that a token must name")
	f.StringVar(&c.JWTHS256Secret, "jwt-hs256-secret", "", "secret of development tokens; empty: one is made and kept in the data folder")
	f.StringVar(&c.Roles, "roles", "", "YAML: group → scopes, the first admin's group, disabled users")
	f.StringVar(&c.GroupsClaim, "groups-claim", "groups", "claim that holds a token's groups")
}

// Loopback says whether only this machine can reach the address.
func (c Local) Loopback() bool {
	a, err := netip.ParseAddrPort(c.Addr)
	return err == nil && a.Addr().IsLoopback()
}
