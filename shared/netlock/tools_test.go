//go:build attack && linux && (amd64 || arm64)

package netlock

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// toolBroker serves a page and a git repository.
func toolBroker(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	git := func(args ...string) {
		t.Helper()
		c := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"}, args...)...)
		c.Dir = root
		c.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v %s", args, err, out)
		}
	}
	git("init", "-q", "work")
	if err := os.WriteFile(filepath.Join(root, "work", "README"), []byte("the-readme\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	git("-C", "work", "add", "README")
	git("-C", "work", "commit", "-qm", "one")
	git("clone", "-q", "--bare", "work", "repo.git")
	out, err := exec.Command("git", "--exec-path").Output()
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/repo.git/", &cgi.Handler{
		Path: filepath.Join(strings.TrimSpace(string(out)), "git-http-backend"),
		Env:  []string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*"},
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") })
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

const pythonDial = `
import asyncio, socket, sys, threading, multiprocessing, urllib.request
good, evil = int(sys.argv[1]), int(sys.argv[2])
def get(port=good): return urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=5).read().decode()
def fails(f):
    try: f()
    except OSError as e: return type(e).__name__
    return "REACHED"
async def stream():
    r, w = await asyncio.open_connection("127.0.0.1", good)
    w.write(b"GET / HTTP/1.0\r\n\r\n"); await w.drain()
    return (await r.read()).decode().endswith("hello")
if __name__ == "__main__":
    multiprocessing.set_start_method("fork")
    print("urllib", get())
    print("asyncio", asyncio.run(stream()))
    out = []
    ts = [threading.Thread(target=lambda: out.append(get())) for _ in range(50)]
    [t.start() for t in ts]; [t.join() for t in ts]
    print("threads", out.count("hello"))
    with multiprocessing.Pool(4) as p: print("processes", p.map(get, [good] * 8).count("hello"))
    print("evil", fails(lambda: get(evil)))
    print("name", fails(lambda: socket.getaddrinfo("example.com", 80)))
    print("udp", fails(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM)))
`

const pythonServe = `
import asyncio
async def main():
    s = await asyncio.start_server(lambda r, w: w.close(), "127.0.0.1", 0)
    port = s.sockets[0].getsockname()[1]
    await asyncio.open_connection("127.0.0.1", port)
    print("served")
try: asyncio.run(main())
except PermissionError: print("refused")
`

const nodeDial = `
const [good, evil] = process.argv.slice(1).map(Number), net = require("net"), http = require("http"), dns = require("dns");
const get = () => new Promise((ok, no) => http.get({port: good, host: "127.0.0.1"}, r => { let b = ""; r.on("data", d => b += d); r.on("end", () => ok(b)) }).on("error", no));
const code = s => new Promise(ok => s.on("connect", () => ok("REACHED")).on("error", e => ok(e.code)));
(async () => {
  console.log("http", await get());
  console.log("fetch", await (await fetch("http://127.0.0.1:" + good)).text());
  console.log("evil", await code(net.connect(evil, "127.0.0.1")));
  console.log("public", await code(net.connect(443, "192.0.2.1")));
  console.log("name", await new Promise(ok => dns.lookup("example.com", e => ok(e ? "refused" : "REACHED"))));
  console.log("serve", await new Promise(ok => net.createServer().listen(0, "127.0.0.1", () => ok("served")).on("error", e => ok(e.code))));
  try { require("os").networkInterfaces(); console.log("interfaces listed") } catch { console.log("interfaces refused") }
  process.exit(0);
})();
`

func TestTools(t *testing.T) {
	t.Parallel()
	good := toolBroker(t)
	_, s := broker(t)
	evil := s.evil4.String()
	ports := []string{port(good), port(evil)}
	bashDial := func(to string) string { return "exec 3<>/dev/tcp/" + strings.Replace(to, ":", "/", 1) + " && " }
	for _, c := range []struct {
		name   string
		argv   []string
		change func(*Policy)
		want   string
	}{
		{name: "curl", argv: []string{"curl", "-sS", "http://" + good + "/"}, want: "hello"},
		{name: "curl another port", argv: []string{"curl", "-sS", "http://" + evil + "/"}, want: "Failed to connect"},
		{name: "curl a name", argv: []string{"curl", "-sS", "https://example.com/"}, want: "Could not resolve host"},
		{name: "curl an address", argv: []string{"curl", "-sS", "--connect-timeout", "5", "https://192.0.2.1/"}, want: "Failed to connect"},
		{name: "bash", argv: []string{"bash", "-c", bashDial(good) + `printf 'GET / HTTP/1.0\r\n\r\n' >&3; tail -n 1 <&3`}, want: "hello"},
		{name: "bash another port", argv: []string{"bash", "-c", bashDial(evil) + "echo REACHED"}, want: "Connection refused"},
		{name: "bash over UDP", argv: []string{"bash", "-c", "echo x > /dev/udp/127.0.0.1/" + s.udp.String()[10:] + " && echo REACHED"}, want: "Permission denied"},
		{name: "python", argv: append([]string{"/usr/bin/python3", "-c", pythonDial}, ports...), want: "urllib hello\nasyncio True\nthreads 50\nprocesses 8\nevil URLError\nname gaierror\nudp PermissionError\n"},
		{name: "python serves", argv: []string{"/usr/bin/python3", "-c", pythonServe}, want: "refused"},
		{name: "python serves, Listen", argv: []string{"/usr/bin/python3", "-c", pythonServe}, change: func(p *Policy) { p.Listen = true }, want: "served"},
		{name: "node", argv: append([]string{"node", "-e", nodeDial}, ports...), want: "http hello\nfetch hello\nevil ECONNREFUSED\npublic EACCES\nname refused\nserve EACCES\ninterfaces refused\n"},
		{name: "node, Listen and Netlink", argv: append([]string{"node", "-e", nodeDial}, ports...), change: func(p *Policy) { p.Listen, p.Netlink = true, true }, want: "http hello\nfetch hello\nevil ECONNREFUSED\npublic EACCES\nname refused\nserve served\ninterfaces listed\n"},
		{name: "git clone", argv: []string{"sh", "-c", "git clone -q http://" + good + "/repo.git c && cat c/README"}, want: "the-readme"},
		{name: "git another port", argv: []string{"git", "clone", "-q", "http://" + evil + "/repo.git", "d"}, want: "unable to access"},
		{name: "git a name", argv: []string{"git", "ls-remote", "https://github.com/a/b"}, want: "Could not resolve host"},
		{name: "sudo", argv: []string{"sh", "-c", "su -c id root </dev/null 2>&1 | grep -q uid=0 && echo REACHED || echo refused"}, want: "refused"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := testPolicy(t, netip.MustParseAddrPort(good))
			dir := sharedDir(t)
			if p.locksPaths() {
				p.ReadWrite = append(p.ReadWrite, dir, "/dev")
			}
			if c.change != nil {
				c.change(&p)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			cmd := Command(ctx, p, c.argv...)
			cmd.Dir, cmd.Env = dir, []string{"HOME=" + dir, "PATH=/usr/local/bin:/usr/bin:/bin", "GIT_TERMINAL_PROMPT=0", "LC_ALL=C"}
			out, err := cmd.CombinedOutput()
			if !strings.Contains(string(out), c.want) || strings.Contains(string(out), "REACHED") {
				t.Errorf("%v\n%s\nwant %q", err, out, c.want)
			}
		})
	}
	t.Cleanup(func() {
		if n := s.leaks.Load(); n != 0 {
			t.Errorf("%d leaks", n)
		}
	})
}

// A static Go program: the test binary, built without cgo by ci.sh, with the
// net package's own resolver and dialer.
func TestStaticGo(t *testing.T) {
	t.Parallel()
	good := toolBroker(t)
	_, s := broker(t)
	out, err := roleCommand(t, testPolicy(t, netip.MustParseAddrPort(good)), "http", "http://"+good, "http://"+s.evil4.String(), "https://example.com").Output()
	want := "hello\nconnection refused\nlookup refused\n"
	if err != nil || string(out) != want || s.leaks.Load() != 0 {
		t.Errorf("%q %v, want %q", out, err, want)
	}
}

func port(addr string) string {
	_, p, _ := net.SplitHostPort(addr)
	return p
}
