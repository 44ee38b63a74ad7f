package netlock

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
)

// Limits of a policy.
const (
	MaxAllow = 64 // addresses in Policy.Allow
	MaxPaths = 256
)

var (
	// ErrUnsupported: this operating system, architecture or kernel cannot hold the lock.
	ErrUnsupported = errors.New("netlock: not supported here")
	// ErrBusy: another program already holds the seccomp listener of this process tree
	// (bypass4netns, LXD, sysbox, another lock); the kernel gives out one per tree.
	ErrBusy = errors.New("netlock: another seccomp listener is active")
	// ErrNotReexecuted: the shim was started but Main was not called by its main function.
	ErrNotReexecuted = errors.New("netlock: call netlock.Main at the start of main")
)

// Policy says what a command may reach. The zero value is refused: a policy
// names at least one address.
type Policy struct {
	// Allow are the TCP addresses that may be reached. Each is a loopback
	// address with a port.
	Allow []netip.AddrPort
	// UnixDirs are directories whose stream sockets may be connected to:
	// absolute, clean, without a symbolic link in them. A directory that the
	// command may write to holds whatever sockets it puts there.
	UnixDirs []string
	// UID and GID are what the command runs as; this takes a supervisor of uid 0.
	// Both zero: the supervisor's own, which must then not be root, and
	// ReadWrite or ReadOnly must be set: without Landlock a program can take
	// over unlocked programs of the same user.
	UID, GID int
	// Listen lets the command serve on loopback, never on a port in Allow, and
	// reach the servers that it opened itself.
	Listen bool
	// Netlink lets it read links and addresses (NETLINK_ROUTE), which node's
	// os.networkInterfaces and getifaddrs need.
	Netlink bool
	// ReadWrite and ReadOnly are the only paths it may touch, by Landlock, when
	// one of them is set. A kernel without Landlock then refuses the start.
	ReadWrite, ReadOnly []string
}

// PolicyError says which rule a policy breaks.
type PolicyError struct {
	Rule  string // what is demanded
	Value string // what was given
}

func (e *PolicyError) Error() string {
	if e.Value == "" {
		return "netlock: policy: " + e.Rule
	}
	return fmt.Sprintf("netlock: policy: %s: %s", e.Rule, e.Value)
}

// identity is who runs the supervisor.
type identity struct{ uid, gid int }

// Validate returns a *PolicyError for the first rule that p breaks for a
// supervisor of the present user, nil when there is none.
func (p Policy) Validate() error {
	return p.validate(identity{os.Geteuid(), os.Getegid()})
}

func (p Policy) validate(self identity) error {
	if err := p.validateAllow(); err != nil {
		return err
	}
	if err := p.validateUser(self); err != nil {
		return err
	}
	if len(p.UnixDirs) > MaxPaths || len(p.ReadWrite) > MaxPaths || len(p.ReadOnly) > MaxPaths {
		return &PolicyError{fmt.Sprintf("a list of paths has at most %d entries", MaxPaths), ""}
	}
	for _, d := range p.UnixDirs {
		if err := validateUnixDir(d); err != nil {
			return err
		}
	}
	for _, f := range append(append([]string{}, p.ReadWrite...), p.ReadOnly...) {
		if !filepath.IsAbs(f) || strings.ContainsRune(f, 0) {
			return &PolicyError{"a ReadWrite or ReadOnly path is absolute", fmt.Sprintf("%q", f)}
		}
		if _, err := os.Stat(f); err != nil {
			return &PolicyError{"a ReadWrite or ReadOnly path exists", err.Error()}
		}
	}
	return nil
}

func (p Policy) validateAllow() error {
	if len(p.Allow) == 0 {
		return &PolicyError{"Allow names at least one address", ""}
	}
	if len(p.Allow) > MaxAllow {
		return &PolicyError{fmt.Sprintf("Allow names at most %d addresses", MaxAllow), ""}
	}
	for _, a := range p.Allow {
		switch {
		case !a.Addr().Unmap().IsLoopback() || a.Addr().Zone() != "":
			return &PolicyError{"an address in Allow is a loopback address", a.String()}
		case a.Port() == 0:
			return &PolicyError{"an address in Allow has a port", a.String()}
		}
	}
	return nil
}

func (p Policy) validateUser(self identity) error {
	switch {
	case p.UID < 0 || p.GID < 0 || int64(p.UID) > 1<<32-2 || int64(p.GID) > 1<<32-2:
		return &PolicyError{"UID and GID are user and group ids", fmt.Sprintf("%d:%d", p.UID, p.GID)}
	case p.UID == 0 && p.GID != 0, p.UID != 0 && p.GID == 0:
		return &PolicyError{"UID and GID are set together and neither is 0 (root can undo the lock)", fmt.Sprintf("%d:%d", p.UID, p.GID)}
	case p.UID == 0 && self.uid == 0:
		return &PolicyError{"a supervisor of uid 0 sets UID and GID (root can undo the lock)", ""}
	case p.UID != 0 && self.uid != 0 && (p.UID != self.uid || p.GID != self.gid):
		return &PolicyError{"only a supervisor of uid 0 sets another UID or GID", fmt.Sprintf("%d:%d", p.UID, p.GID)}
	case !p.shared(self):
		return nil
	case len(p.ReadWrite)+len(p.ReadOnly) == 0:
		return &PolicyError{"a command that shares the supervisor's user sets ReadWrite or ReadOnly (Landlock)", ""}
	}
	for _, f := range p.ReadWrite {
		if r, err := filepath.EvalSymlinks(f); err == nil && r == "/" {
			return &PolicyError{"a command that shares the supervisor's user may not write everywhere", f}
		}
	}
	return nil
}

// shared tells whether command and supervisor have the same user id.
func (p Policy) shared(self identity) bool { return self.uid != 0 }

// locksPaths tells whether Landlock is asked for.
func (p Policy) locksPaths() bool { return len(p.ReadWrite)+len(p.ReadOnly) > 0 }

func validateUnixDir(d string) error {
	if !filepath.IsAbs(d) || filepath.Clean(d) != d || d == "/" || strings.ContainsRune(d, 0) {
		return &PolicyError{"a directory in UnixDirs is absolute, clean and not /", fmt.Sprintf("%q", d)}
	}
	for _, top := range []string{"/proc", "/sys"} {
		if d == top || strings.HasPrefix(d, top+"/") {
			return &PolicyError{"a directory in UnixDirs is not of the kernel's file systems", d}
		}
	}
	for at := d; at != "/"; at = filepath.Dir(at) {
		fi, err := os.Lstat(at)
		switch {
		case err != nil:
			return &PolicyError{"a directory in UnixDirs exists", err.Error()}
		case fi.Mode()&os.ModeSymlink != 0:
			return &PolicyError{"a directory in UnixDirs has no symbolic link in its path", at}
		case !fi.IsDir():
			return &PolicyError{"a directory in UnixDirs is a directory", at}
		}
	}
	return nil
}

// allows tells whether a decoded address is one of Allow. IPv4 and its mapped
// IPv6 form are the same address to the kernel, so they are to us.
func (p Policy) allows(a netip.AddrPort) bool {
	for _, x := range p.Allow {
		if x.Port() == a.Port() && x.Addr().Unmap() == a.Addr().Unmap() && a.Addr().Zone() == "" {
			return true
		}
	}
	return false
}

// reserves tells whether a port belongs to an allowed address, so that the
// command may not serve on it.
func (p Policy) reserves(port uint16) bool {
	for _, x := range p.Allow {
		if x.Port() == port {
			return true
		}
	}
	return false
}

// allowsUnix tells whether a path may be connected to. The path's components
// are walked without following links at the time of the connect.
func (p Policy) allowsUnix(path string) bool {
	if !filepath.IsAbs(path) || filepath.Clean(path) != path { // abstract and relative names are none
		return false
	}
	for _, d := range p.UnixDirs {
		if strings.HasPrefix(path, d+"/") {
			return true
		}
	}
	return false
}
