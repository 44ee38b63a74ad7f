package gittest

import (
	"bytes"
	"compress/zlib"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"time"
)

// Repository is one bare repository of a Server.
type Repository struct {
	Name string // "owner/name"
	URL  string
	dir  string
}

// File is one entry of a commit.
type File struct {
	Content    string
	Executable bool
	Symlink    string // the target; Content is not used then
	Submodule  string // a commit of another repository; Content is not used then
}

// Commit is one commit to make on the tip of a branch, which it creates where there is none.
type Commit struct {
	Branch  string
	Message string
	Files   map[string]File // path → new content
	Delete  []string
	When    time.Time // zero is 2026-01-01: the same content gives the same id
}

// Create makes an empty repository named "owner/name".
func (s *Server) Create(name string) (*Repository, error) {
	r := &Repository{Name: name, URL: s.URL + "/" + name, dir: filepath.Join(s.dir, filepath.FromSlash(name))}
	if err := os.MkdirAll(filepath.Dir(r.dir), 0o755); err != nil {
		return nil, err
	}
	if _, err := r.git(nil, "init", "--quiet", "--bare", "--template=", "--initial-branch=main", r.dir); err != nil {
		return nil, err
	}
	// A host such as GitHub serves any object that it has, also one that no branch reaches any more.
	settings := "[core]\n\trepositoryformatversion = 0\n\tbare = true\n[uploadpack]\n\tallowAnySHA1InWant = true\n\tallowFilter = true\n[http]\n\treceivepack = false\n"
	return r, os.WriteFile(filepath.Join(r.dir, "config"), []byte(settings), 0o644)
}

// Commit makes a commit and returns its id.
func (r *Repository) Commit(c Commit) (string, error) {
	if c.When.IsZero() {
		c.When = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	ref := "refs/heads/" + c.Branch
	var in bytes.Buffer
	fmt.Fprintf(&in, "commit %s\nmark :1\ncommitter Octo Cat <octocat@example.com> %d +0000\n", ref, c.When.Unix())
	fmt.Fprintf(&in, "data %d\n%s\n", len(c.Message), c.Message)
	if tip, err := r.Tip(c.Branch); err == nil {
		fmt.Fprintf(&in, "from %s\n", tip)
	}
	for _, path := range c.Delete {
		fmt.Fprintf(&in, "D %s\n", quote(path))
	}
	paths := make([]string, 0, len(c.Files))
	for path := range c.Files {
		paths = append(paths, path)
	}
	sort.Strings(paths)
	for _, path := range paths {
		c.Files[path].write(&in, path)
	}
	if _, err := r.git(&in, "-C", r.dir, "fast-import", "--quiet", "--force"); err != nil {
		return "", err
	}
	return r.Tip(c.Branch)
}

// write adds the entry to a fast-import stream.
func (f File) write(in *bytes.Buffer, path string) {
	mode, content := "100644", f.Content
	switch {
	case f.Submodule != "":
		fmt.Fprintf(in, "M 160000 %s %s\n", f.Submodule, quote(path))
		return
	case f.Symlink != "":
		mode, content = "120000", f.Symlink
	case f.Executable:
		mode = "100755"
	}
	fmt.Fprintf(in, "M %s inline %s\ndata %d\n%s\n", mode, quote(path), len(content), content)
}

// Tip is the commit that a branch points at.
func (r *Repository) Tip(branch string) (string, error) {
	// A branch that was just written is a file; git is asked for the others.
	if id, err := os.ReadFile(filepath.Join(r.dir, "refs", "heads", filepath.FromSlash(branch))); err == nil {
		return strings.TrimSpace(string(id)), nil
	}
	out, err := r.git(nil, "-C", r.dir, "rev-parse", "--verify", "--quiet", "refs/heads/"+branch)
	if err != nil {
		return "", err
	}
	return strings.TrimSpace(string(out)), nil
}

// DeleteBranch removes a branch; its commits stay until Prune.
func (r *Repository) DeleteBranch(branch string) error {
	_, err := r.git(nil, "-C", r.dir, "update-ref", "-d", "refs/heads/"+branch)
	return err
}

// Prune removes every object that no branch reaches, as a host does after a force push.
func (r *Repository) Prune() error {
	_, err := r.git(nil, "-C", r.dir, "-c", "gc.pruneExpire=now", "gc", "--quiet", "--prune=now")
	return err
}

func (r *Repository) git(stdin io.Reader, args ...string) ([]byte, error) {
	cmd := exec.Command("git", args...)
	cmd.Env, cmd.Stdin = cleanEnv(), stdin
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return nil, fmt.Errorf("git %s: %w: %s", strings.Join(args, " "), err, bytes.TrimSpace(exit.Stderr))
	}
	return out, err
}

// quote writes a path the way fast-import reads any byte sequence.
func quote(path string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(path) {
		if c := path[i]; c < ' ' || c == '"' || c == '\\' || c >= 0x7f {
			fmt.Fprintf(&b, `\%03o`, c)
		} else {
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// storedBlob is one object of a pack: a blob of 32 KiB that does not compress, other each time this is called.
func storedBlob() []byte {
	const size = 32 << 10
	content := make([]byte, size)
	rand.Read(content)
	var out bytes.Buffer
	// Type 3 (blob) and the size, four bits and then seven at a time.
	n := size
	first := byte(3<<4) | byte(n&0x0f)
	n >>= 4
	for n > 0 {
		out.WriteByte(first | 0x80)
		first = byte(n & 0x7f)
		n >>= 7
	}
	out.WriteByte(first)
	z, _ := zlib.NewWriterLevel(&out, zlib.NoCompression)
	_, _ = z.Write(content) // into memory
	_ = z.Close()
	return out.Bytes()
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

type prefixed struct {
	io.Reader
	io.ReadCloser
}

func (p prefixed) Read(b []byte) (int, error) {
	if n, err := p.Reader.Read(b); n > 0 || err != io.EOF {
		return n, err
	}
	return p.ReadCloser.Read(b)
}
