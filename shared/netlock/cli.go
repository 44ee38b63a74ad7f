package netlock

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
)

// Exit codes of RunCLI besides the command's own.
const (
	exitUsage  = 2
	exitRefuse = 125 // the lock does not hold or the policy is refused: nothing ran
	exitSignal = 128 // plus the signal that ended the command
)

const usage = `usage: lock -allow 127.0.0.1:8099 [flags] -- command [argument ...]

Runs the command so that it, and all that it starts, can open connections to the
allowed loopback addresses and to nothing else: no other host, no name lookup, no
UDP. What was refused is listed on standard error when the command ends.

As root, -uid and -gid name the user that the command gets. As another user the
command keeps yours, and may then write only where -rw says (by default the
present directory, the directory for temporary files and /dev).
`

// RunCLI runs a command under the lock as its arguments say, for people who want
// to try it, and returns the exit code. It uses the standard input of the process.
func RunCLI(args []string, stdout, stderr io.Writer) int {
	opt, err := parseCLI(args, stderr)
	if err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(stderr, "lock:", err)
		}
		return exitUsage
	}
	ctx := context.Background()
	if opt.test {
		return opt.selfTest(ctx, stdout, stderr)
	}
	adoptOrphans()
	seen := &refusals{counts: map[string]int{}}
	c := Command(ctx, opt.policy, opt.argv...)
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, stdout, stderr
	c.Events = seen.add
	attend := catchSignals()
	if err := c.Start(); err != nil {
		explainStart(stderr, err)
		return exitRefuse
	}
	release := attend(c)
	err = c.Wait()
	release()
	if !opt.quiet {
		seen.explain(stderr, opt.policy)
	}
	return exitCode(c, err)
}

type cliOptions struct {
	policy      Policy
	argv        []string
	quiet, test bool
}

func parseCLI(args []string, stderr io.Writer) (*cliOptions, error) {
	o := &cliOptions{}
	p := &o.policy
	f := flag.NewFlagSet("lock", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.Usage = func() { fmt.Fprint(stderr, usage, "\n"); f.PrintDefaults() }
	f.Func("allow", "`address:port` that may be reached; may be repeated", func(s string) error {
		a, err := netip.ParseAddrPort(s)
		p.Allow = append(p.Allow, a)
		return err
	})
	list := func(to *[]string) func(string) error {
		return func(s string) error { *to = append(*to, s); return nil }
	}
	f.Func("unix-dir", "`directory` whose sockets may be reached; may be repeated", list(&p.UnixDirs))
	f.Func("rw", "`path` that may be written; may be repeated", list(&p.ReadWrite))
	f.Func("ro", "`path` that may be read; may be repeated (all, when -rw or nothing is given)", list(&p.ReadOnly))
	f.IntVar(&p.UID, "uid", 0, "user `id` of the command")
	f.IntVar(&p.GID, "gid", 0, "group `id` of the command")
	f.BoolVar(&p.Listen, "listen", false, "the command may serve on loopback and reach its own servers")
	f.BoolVar(&p.Netlink, "netlink", false, "the command may list network interfaces")
	f.BoolVar(&o.quiet, "quiet", false, "do not list what was refused")
	f.BoolVar(&o.test, "selftest", false, "run no command but an attacker, and tell whether the lock held")
	if err := f.Parse(args); err != nil {
		return nil, flag.ErrHelp // said already
	}
	o.argv = f.Args()
	if len(o.argv) == 0 && !o.test {
		f.Usage()
		return nil, flag.ErrHelp
	}
	if o.test && len(p.Allow) == 0 {
		p.Allow = []netip.AddrPort{netip.MustParseAddrPort("127.0.0.1:8099")} // the self-test takes its own
	}
	return o, p.defaultPaths()
}

// defaultPaths is what a command of the same user may touch when nothing is said.
func (p *Policy) defaultPaths() error {
	if os.Geteuid() == 0 {
		return nil
	}
	if len(p.ReadWrite) == 0 && len(p.ReadOnly) == 0 {
		dir, err := os.Getwd()
		if err != nil {
			return err
		}
		p.ReadWrite = []string{dir, os.TempDir(), "/dev"}
	}
	if len(p.ReadOnly) == 0 {
		p.ReadOnly = []string{"/"}
	}
	return nil
}

func (o *cliOptions) selfTest(ctx context.Context, stdout, stderr io.Writer) int {
	r, err := SelfTest(ctx, o.policy)
	if err != nil {
		explainStart(stderr, err)
		return exitRefuse
	}
	fmt.Fprintln(stdout, r)
	if !r.Held() {
		return exitRefuse
	}
	return 0
}

func explainStart(w io.Writer, err error) {
	fmt.Fprintln(w, "lock: nothing was run:", err)
	switch {
	case errors.Is(err, ErrUnsupported):
		fmt.Fprintln(w, "lock: this takes Linux 5.9 or later on amd64 or arm64, and Landlock (5.13) where the command shares your user")
	case errors.Is(err, ErrBusy):
		fmt.Fprintln(w, "lock: something around this process watches its system calls already (rootless containers, LXD, another lock); the kernel allows one")
	}
}

func exitCode(c *Cmd, err error) int {
	if c.ProcessState == nil {
		return exitRefuse
	}
	if ws, ok := c.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return exitSignal + int(ws.Signal())
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return exitRefuse
	}
	return c.ProcessState.ExitCode()
}

// refusals remembers what to tell at the end.
type refusals struct {
	mu     sync.Mutex
	counts map[string]int
	order  []string
}

const maxRefusals = 50

func (r *refusals) add(e Event) {
	if e.Verdict == VerdictAllow {
		return
	}
	n := e.Count
	e.Count = 1
	what := e.String()
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.counts[what]; !ok {
		if len(r.order) >= maxRefusals {
			what = "refused: more of other kinds"
		}
		if _, ok := r.counts[what]; !ok {
			r.order = append(r.order, what)
		}
	}
	r.counts[what] += n
}

func (r *refusals) explain(w io.Writer, p Policy) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.order) == 0 {
		return
	}
	var to []string
	for _, a := range p.Allow {
		to = append(to, a.String())
	}
	fmt.Fprintf(w, "lock: the command may reach %s and nothing else:\n", strings.Join(append(to, p.UnixDirs...), ", "))
	for _, what := range r.order {
		if n := r.counts[what]; n > 1 {
			what += fmt.Sprintf(" (%d times)", n)
		}
		fmt.Fprintln(w, "lock:  ", what)
	}
}
