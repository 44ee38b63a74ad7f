package netlock

import (
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPolicyIsRefusedWithItsRule(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	root, user := identity{0, 0}, identity{1000, 1000}
	allow := func(a ...string) (out []netip.AddrPort) {
		for _, s := range a {
			out = append(out, netip.MustParseAddrPort(s))
		}
		return out
	}
	good := Policy{Allow: allow("127.0.0.1:8099"), UID: 1000, GID: 1000}
	mine := Policy{Allow: allow("127.0.0.1:8099"), ReadOnly: []string{dir}}
	with := func(p Policy, change func(*Policy)) Policy { change(&p); return p }
	for _, c := range []struct {
		name string
		p    Policy
		by   identity
		rule string // empty: accepted
	}{
		{"separate user", good, root, ""},
		{"shared user", mine, user, ""},
		{"shared user, named", with(mine, func(p *Policy) { p.UID, p.GID = 1000, 1000 }), user, ""},
		{"IPv6 loopback", with(good, func(p *Policy) { p.Allow = allow("[::1]:1", "[::ffff:127.0.0.9]:2") }), root, ""},
		{"unix directory", with(good, func(p *Policy) { p.UnixDirs = []string{dir} }), root, ""},
		{"no address", with(good, func(p *Policy) { p.Allow = nil }), root, "at least one address"},
		{"too many addresses", with(good, func(p *Policy) { p.Allow = make([]netip.AddrPort, MaxAllow+1) }), root, "at most"},
		{"public address", with(good, func(p *Policy) { p.Allow = allow("127.0.0.1:1", "192.0.2.1:443") }), root, "loopback"},
		{"private address", with(good, func(p *Policy) { p.Allow = allow("10.0.0.1:443") }), root, "loopback"},
		{"metadata address", with(good, func(p *Policy) { p.Allow = allow("169.254.170.2:80") }), root, "loopback"},
		{"every address", with(good, func(p *Policy) { p.Allow = allow("0.0.0.0:80") }), root, "loopback"},
		{"zone", with(good, func(p *Policy) { p.Allow = allow("[::1%eth0]:80") }), root, "loopback"},
		{"zero address", with(good, func(p *Policy) { p.Allow = []netip.AddrPort{{}} }), root, "loopback"},
		{"no port", with(good, func(p *Policy) { p.Allow = allow("127.0.0.1:0") }), root, "port"},
		{"root child", with(good, func(p *Policy) { p.UID, p.GID = 0, 0 }), root, "root can undo"},
		{"root group", with(good, func(p *Policy) { p.GID = 0 }), root, "neither is 0"},
		{"root user, other group", with(good, func(p *Policy) { p.UID = 0 }), root, "neither is 0"},
		{"negative user", with(good, func(p *Policy) { p.UID = -1 }), root, "user and group ids"},
		{"no user id", with(good, func(p *Policy) { p.UID = 1<<32 - 1 }), root, "user and group ids"},
		{"another user without root", good, identity{1001, 1001}, "uid 0 sets another"},
		{"shared user without Landlock", with(mine, func(p *Policy) { p.ReadOnly = nil }), user, "Landlock"},
		{"shared user that writes everywhere", with(mine, func(p *Policy) { p.ReadWrite = []string{"/"} }), user, "everywhere"},
		{"relative path", with(mine, func(p *Policy) { p.ReadOnly = []string{"x"} }), user, "absolute"},
		{"missing path", with(mine, func(p *Policy) { p.ReadWrite = []string{dir + "/none"} }), user, "exists"},
		{"unix directory: symbolic link", with(good, func(p *Policy) { p.UnixDirs = []string{link} }), root, "symbolic link"},
		{"unix directory: behind a link", with(good, func(p *Policy) { p.UnixDirs = []string{link + "/sub"} }), root, "symbolic link"},
		{"unix directory: a file", with(good, func(p *Policy) { p.UnixDirs = []string{file} }), root, "is a directory"},
		{"unix directory: missing", with(good, func(p *Policy) { p.UnixDirs = []string{dir + "/none"} }), root, "exists"},
		{"unix directory: relative", with(good, func(p *Policy) { p.UnixDirs = []string{"run"} }), root, "absolute"},
		{"unix directory: not clean", with(good, func(p *Policy) { p.UnixDirs = []string{dir + "/../x"} }), root, "clean"},
		{"unix directory: trailing slash", with(good, func(p *Policy) { p.UnixDirs = []string{dir + "/"} }), root, "clean"},
		{"unix directory: root", with(good, func(p *Policy) { p.UnixDirs = []string{"/"} }), root, "not /"},
		{"unix directory: empty", with(good, func(p *Policy) { p.UnixDirs = []string{""} }), root, "absolute"},
		{"unix directory: proc", with(good, func(p *Policy) { p.UnixDirs = []string{"/proc/self"} }), root, "kernel's"},
		{"too many paths", with(good, func(p *Policy) { p.UnixDirs = make([]string, MaxPaths+1) }), root, "entries"},
	} {
		err := c.p.validate(c.by)
		var refused *PolicyError
		switch {
		case c.rule == "" && err != nil:
			t.Errorf("%s: %v", c.name, err)
		case c.rule != "" && (!errors.As(err, &refused) || !strings.Contains(err.Error(), c.rule)):
			t.Errorf("%s: %v, want the rule about %q", c.name, err, c.rule)
		}
	}
}

func TestPolicyAllows(t *testing.T) {
	t.Parallel()
	p := Policy{Allow: []netip.AddrPort{netip.MustParseAddrPort("127.0.0.1:80"), netip.MustParseAddrPort("[::1]:81")}, UnixDirs: []string{"/run/x"}}
	for a, want := range map[string]bool{
		"127.0.0.1:80": true, "[::ffff:127.0.0.1]:80": true, "[::1]:81": true, "127.0.0.1:81": false, "[::1]:80": false,
		"127.0.0.2:80": false, "0.0.0.0:80": false, "[::]:81": false, "[::127.0.0.1]:80": false,
	} {
		if got := p.allows(netip.MustParseAddrPort(a)); got != want {
			t.Errorf("%s: %t", a, got)
		}
	}
	for path, want := range map[string]bool{
		"/run/x/s": true, "/run/x/a/b": true, "/run/x": false, "/run/xy/s": false, "/run/x/../y": false, "/run/x//s": false,
		"/run/x/./s": false, "run/x/s": false, "@/run/x/s": false, "": false, "/run/x/": false,
	} {
		if got := p.allowsUnix(path); got != want {
			t.Errorf("%q: %t", path, got)
		}
	}
}
