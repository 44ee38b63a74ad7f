package source

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os/exec"
	"slices"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/sideband"
	"github.com/go-git/go-git/v5/plumbing/transport"
	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"
	"github.com/go-git/go-git/v5/storage/filesystem"
)

// A function's machine has no git. There a remote repository is read by a library, which starts nothing and asks the host for
// no file that is larger than what is taken.

// errNoFilter is a host that sends every file, however large: a small pack can hold gigabytes.
var errNoFilter = errors.New("the host does not support partial fetches")

// gitless says that this machine has no git.
func (r *Reader) gitless() bool {
	_, err := exec.LookPath("git")
	return r.noGit || err != nil
}

// readByLibrary does what fetch and read do.
func (g *repository) readByLibrary(ctx context.Context, ref string, config config, c *collection, link func(string) string) error {
	bounded := &boundedTransport{left: g.limits.Fetch}
	store := filesystem.NewStorage(osfs.New(g.base), cache.NewObjectLRU(8*cache.MiByte))
	defer func() { _ = store.Close() }()
	commit, err := g.fetchByLibrary(ctx, bounded, store, plumbing.ReferenceName(ref))
	if bounded.over {
		return errTooLarge
	}
	if err != nil {
		return err
	}
	found, err := object.GetCommit(store, commit)
	if err != nil {
		return err
	}
	tree, err := found.Tree()
	if err != nil {
		return err
	}
	walk := object.NewTreeWalker(tree, true, nil)
	defer walk.Close()
	for ctx.Err() == nil {
		path, entry, err := walk.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case entry.Mode != filemode.Dir && config.wants(path):
			takeBlob(store, entry, path, c, link)
		}
	}
	return context.Cause(ctx)
}

// takeBlob takes a file that the host sent; it kept the large ones.
func takeBlob(store *filesystem.Storage, entry object.TreeEntry, path string, c *collection, link func(string) string) {
	size, err := store.EncodedObjectSize(entry.Hash)
	if err != nil || !slices.Contains([]filemode.FileMode{filemode.Regular, filemode.Deprecated, filemode.Executable}, entry.Mode) {
		c.skip(path)
		return
	}
	if !c.fits(path, size) {
		return
	}
	content, err := readBlob(store, entry.Hash)
	if err != nil {
		c.skip(path)
		return
	}
	c.add(path, link(path), content)
}

func readBlob(store *filesystem.Storage, id plumbing.Hash) ([]byte, error) {
	blob, err := object.GetBlob(store, id)
	if err != nil {
		return nil, err
	}
	r, err := blob.Reader()
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }()
	return io.ReadAll(r)
}

// fetchByLibrary brings the commit that a ref names, without its history.
func (g *repository) fetchByLibrary(ctx context.Context, bounded http.RoundTripper, store *filesystem.Storage, ref plumbing.ReferenceName) (commit plumbing.Hash, err error) {
	endpoint, err := transport.NewEndpoint(g.url)
	if err != nil {
		return commit, err
	}
	var auth transport.AuthMethod
	if g.token != "" {
		auth = &githttp.BasicAuth{Username: "x-access-token", Password: g.token}
	}
	client := githttp.NewClientWithOptions(&http.Client{Transport: bounded}, &githttp.ClientOptions{RedirectPolicy: githttp.NoFollowRedirects})
	session, err := client.NewUploadPackSession(endpoint, auth)
	if err != nil {
		return commit, err
	}
	defer func() { _ = session.Close() }()
	there, err := session.AdvertisedReferencesContext(ctx)
	if errors.Is(err, transport.ErrEmptyRemoteRepository) {
		return commit, errNoRef
	}
	if err != nil {
		return commit, err
	}
	switch named, known := there.References[ref.String()]; {
	case known:
		commit = named
	case ref == plumbing.HEAD && there.Head != nil:
		commit = *there.Head
	default:
		return commit, errNoRef
	}
	if !there.Capabilities.Supports(capability.Filter) || !there.Capabilities.Supports(capability.Shallow) {
		return commit, errNoFilter
	}
	ask := packp.NewUploadPackRequestFromCapabilities(there.Capabilities)
	ask.Wants, ask.Depth = []plumbing.Hash{commit}, packp.DepthCommits(1)
	ask.Filter = packp.FilterBlobLimit(uint64(g.limits.Item)+1, packp.BlobLimitPrefixNone)
	if err := errors.Join(ask.Capabilities.Set(capability.Shallow), ask.Capabilities.Set(capability.Filter)); err != nil {
		return commit, err
	}
	answer, err := session.UploadPack(ctx, ask)
	if err != nil {
		return commit, err
	}
	defer func() { _ = answer.Close() }()
	var pack io.Reader = answer
	switch {
	case ask.Capabilities.Supports(capability.Sideband64k):
		pack = sideband.NewDemuxer(sideband.Sideband64k, answer)
	case ask.Capabilities.Supports(capability.Sideband):
		pack = sideband.NewDemuxer(sideband.Sideband, answer)
	}
	return commit, packfile.UpdateObjectStorage(store, pack)
}

// boundedTransport lets so many bytes of answers through.
type boundedTransport struct {
	left int64
	over bool
}

// RoundTrip implements http.RoundTripper.
func (b *boundedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err == nil {
		answer.Body = &boundedBody{ReadCloser: answer.Body, of: b}
	}
	return answer, err
}

type boundedBody struct {
	io.ReadCloser
	of *boundedTransport
}

func (b *boundedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.of.left -= int64(n); b.of.left < 0 {
		b.of.over = true
		return 0, errTooLarge
	}
	return n, err
}
