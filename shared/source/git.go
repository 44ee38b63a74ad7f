package source

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"companyos/shared/company"
	"companyos/shared/executor"
	"companyos/shared/gitcmd"
)

// repository is one git Source that is being read.
type repository struct {
	url    string // or the path of a folder
	remote bool
	token  string // of a remote one, empty for none
	config [][2]string
	pass   []string
	home   string // empty
	base   string // a bare repository with the one commit
	limits Limits
}

// git reads the text files of a branch's tip, in the order of their paths: of a remote repository, or of one in the
// operator's folder. Both are fetched into an empty repository first, without anybody's configuration or hooks.
func (r *Reader) git(ctx context.Context, s company.Source, config config, c *collection) error {
	scratch, err := os.MkdirTemp("", "company-source-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	g := repository{home: filepath.Join(scratch, "home"), base: filepath.Join(scratch, "base.git"), limits: c.limits}
	if err := os.Mkdir(g.home, 0o700); err != nil {
		return err
	}
	if err := r.locate(ctx, s, &g); err != nil {
		return err
	}
	ref := "HEAD"
	if config.Branch != "" {
		ref = "refs/heads/" + config.Branch
	}
	link := linker(s.Reference, strings.TrimPrefix(ref, "refs/heads/"))
	if g.remote && r.Library != nil {
		err = g.readByLibrary(ctx, r.Library, ref, config, c, link)
	} else {
		err = g.readByGit(ctx, ref, config, c, link)
	}
	return g.explain(ctx, err, ref)
}

// Library reads the tip of a branch of a remote repository: it calls take for each of its files, in the order of their paths.
type Library func(ctx context.Context, remote Remote, take func(File)) error

// Remote is what a Library reads, and how much of it.
type Remote struct {
	URL   string
	Token string // empty for none
	Ref   string
	Dir   string // an empty folder, or none, for what is fetched
	Fetch int64  // bytes that the host may send
	Item  int64  // bytes of the largest file that is worth fetching
}

// File is a file of a repository, or a link or a submodule, which cannot be read.
type File struct {
	Path string
	Size int64
	Read func() ([]byte, error) // nil: it is none that is taken
}

// What a Library answers beside what it met on the way.
var (
	ErrNoRef    = errors.New("the repository has no such branch")
	ErrTooLarge = errors.New("the repository is too large")
	// ErrNoFilter is a host that sends every file, however large: a small pack can hold gigabytes.
	ErrNoFilter = errors.New("the host does not support partial fetches")
)

func (g *repository) readByLibrary(ctx context.Context, read Library, ref string, config config, c *collection, link func(string) string) error {
	remote := Remote{URL: g.url, Token: g.token, Ref: ref, Dir: g.base, Fetch: g.limits.Fetch, Item: g.limits.Item}
	return read(ctx, remote, func(f File) {
		if !config.wants(f.Path) {
			return
		}
		if f.Read == nil {
			c.skip(f.Path)
			return
		}
		if !c.fits(f.Path, f.Size) {
			return
		}
		content, err := f.Read()
		if err != nil {
			c.skip(f.Path)
			return
		}
		c.add(f.Path, link(f.Path), content)
	})
}

func (g *repository) readByGit(ctx context.Context, ref string, config config, c *collection, link func(string) string) error {
	commit, err := g.fetch(ctx, ref)
	if err != nil {
		return err
	}
	return g.read(ctx, commit, config, c, link)
}

// locate finds where the repository is and what may be used to get there.
func (r *Reader) locate(ctx context.Context, s company.Source, g *repository) (err error) {
	if !strings.Contains(s.Reference, "://") {
		return r.locateFolder(s, g)
	}
	if err := company.ValidateRepositoryURL(s.Reference, r.GitHosts); err != nil {
		return unreadable("%s", err.Error())
	}
	switch {
	case s.CredentialRef == nil:
	case *s.CredentialRef != executor.SecretGitHubToken || r.Token == nil:
		return unreadable("The Source needs %s, which this deployment does not use for reading", *s.CredentialRef)
	default:
		if g.token, err = r.Token(ctx); err != nil {
			return notNow("The Source's credential cannot be read", err)
		}
	}
	g.url, g.remote, g.pass = s.Reference, true, gitcmd.Passed()
	g.config, err = gitcmd.RemoteConfig(s.Reference, g.token)
	return err
}

// locateFolder accepts a repository that is in the operator's folder, also after every link was followed.
func (r *Reader) locateFolder(s company.Source, g *repository) error {
	name, err := r.local(s.Reference)
	if err != nil {
		return err
	}
	root, err := filepath.EvalSymlinks(r.Root)
	if err != nil {
		return notNow("The folder of local Sources cannot be opened", err)
	}
	whole, err := filepath.EvalSymlinks(filepath.Join(root, filepath.FromSlash(name)))
	if errors.Is(err, fs.ErrNotExist) {
		return unreadable("The Source does not exist")
	}
	if err != nil {
		return notNow("The Source cannot be opened", err)
	}
	if inside, err := filepath.Rel(root, whole); err != nil || !filepath.IsLocal(inside) {
		return errOutside()
	}
	g.url, g.config = whole, gitcmd.FolderConfig()
	return nil
}

// linker says where a file of a repository is for people. The link names the branch, so that it stays when others change.
func linker(reference, branch string) func(path string) string {
	if !strings.Contains(reference, "://") {
		return func(path string) string { return reference + "@" + branch + ":" + path }
	}
	base := strings.TrimSuffix(reference, ".git") + "/blob/" + branch + "/"
	return func(path string) string { return base + path }
}

// fetch brings the commit that a ref names.
func (g *repository) fetch(ctx context.Context, ref string) (commit string, err error) {
	if _, err := g.run(ctx, gitcmd.InitArgs(g.base), nil); err != nil {
		return "", err
	}
	out, err := g.run(ctx, gitcmd.TipArgs(g.url, ref), nil)
	if err != nil {
		return "", err
	}
	commit, ok := gitcmd.Tip(out, ref)
	if !ok {
		return "", ErrNoRef
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	go gitcmd.WatchSize(ctx, g.base, g.limits.Fetch, func() { stop(ErrTooLarge) })
	_, err = g.run(ctx, gitcmd.FetchArgs(g.base, g.url, commit), nil)
	return commit, err
}

// file is one entry of a tree that is a file.
type file struct{ object, path string }

// read takes the files of a commit.
func (g *repository) read(ctx context.Context, commit string, config config, c *collection, link func(string) string) error {
	tree, err := g.run(ctx, gitcmd.TreeArgs(g.base, commit), nil)
	if err != nil {
		return err
	}
	var wanted []file
	var ask bytes.Buffer
	size := int64(0)
	for entry := range strings.SplitSeq(strings.TrimSuffix(string(tree), "\x00"), "\x00") {
		f, bytes, regular := parseEntry(entry)
		if !config.wants(f.path) {
			continue
		}
		// What is asked for is bounded; binary files among it count too.
		if !regular || bytes > g.limits.Item || size+bytes > 2*g.limits.Total || len(wanted) >= 2*g.limits.Items {
			c.skip(f.path)
			continue
		}
		size += bytes
		wanted = append(wanted, f)
		fmt.Fprintln(&ask, f.object)
	}
	out, err := g.run(ctx, []string{"--git-dir=" + g.base, "cat-file", "--batch", "--buffer"}, &ask)
	if err != nil {
		return err
	}
	return takeFiles(bufio.NewReader(bytes.NewReader(out)), wanted, c, link)
}

// parseEntry reads "mode type object size<TAB>path"; a symlink or a submodule is no file.
func parseEntry(entry string) (f file, size int64, regular bool) {
	meta, path, _ := strings.Cut(entry, "\t")
	fields := strings.Fields(meta)
	if len(fields) != 4 {
		return file{path: path}, 0, false
	}
	size, err := strconv.ParseInt(fields[3], 10, 64)
	return file{fields[2], path}, size, err == nil && strings.HasPrefix(fields[0], "100")
}

// takeFiles reads what cat-file prints for the files, in their order.
func takeFiles(in *bufio.Reader, files []file, c *collection, link func(string) string) error {
	for _, f := range files {
		head, err := in.ReadString('\n')
		if err != nil {
			return err
		}
		fields := strings.Fields(head)
		if len(fields) != 3 || fields[0] != f.object {
			return fmt.Errorf("git answered %q for %s", head, f.object)
		}
		size, err := strconv.ParseInt(fields[2], 10, 64)
		if err != nil || size < 0 {
			return fmt.Errorf("git answered %q for %s", head, f.object)
		}
		content := make([]byte, size)
		if _, err := io.ReadFull(in, content); err != nil {
			return err
		}
		if _, err := in.Discard(1); err != nil {
			return err
		}
		c.add(f.path, link(f.path), content)
	}
	return nil
}

// maxOutput bounds what git may print: a tree of a million files is no Source.
const maxOutput = 64 << 20

// run runs git in a process group of its own, which ends with ctx.
func (g *repository) run(ctx context.Context, args []string, stdin io.Reader) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	out, complaints := &limited{left: maxOutput}, &limited{left: 8 << 10}
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = g.home, stdin, out, complaints
	cmd.Env = append(gitcmd.Environment(g.home, g.config), g.pass...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	switch cause := context.Cause(ctx); {
	case err == nil && !out.over:
		return out.Bytes(), nil
	case cause != nil:
		return nil, cause
	case out.over:
		return nil, ErrTooLarge
	}
	return nil, fmt.Errorf("git %s: %w: %s", args[0], err, complaints.String())
}

// limited keeps the beginning of what is written to it.
type limited struct {
	bytes.Buffer
	left int
	over bool
}

func (l *limited) Write(p []byte) (int, error) {
	keep := p[:min(len(p), l.left)]
	l.left -= len(keep)
	l.over = l.over || len(keep) < len(p)
	_, _ = l.Buffer.Write(keep)
	return len(p), nil
}

// explain tells people what kept a repository from being read. What git printed is for the log.
func (g *repository) explain(ctx context.Context, err error, ref string) error {
	exit, _ := errors.AsType[*exec.ExitError](err)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrNoFilter):
		return notNow("This process reads repositories only of hosts that support partial fetches", err)
	case errors.Is(err, exec.ErrNotFound):
		return notNow("This process cannot read git Sources: git is not installed", err)
	case errors.Is(err, ErrTooLarge):
		return unreadable("The repository is larger than is read")
	case errors.Is(err, ErrNoRef), exit != nil && exit.ExitCode() == 2:
		return unreadable("The repository has no %s", strings.TrimPrefix(ref, "refs/heads/"))
	case ctx.Err() != nil:
		return notNow("The repository did not answer in time", err)
	}
	return notNow("The repository cannot be read: it does not exist, needs another credential or does not answer", err)
}
