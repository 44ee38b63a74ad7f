// Package gitless reads remote repositories on a machine without git, as a function's is: by a library, which starts nothing
// and asks the host for no file that is larger than what is taken.
package gitless

import (
	"context"
	"errors"
	"io"
	"net/http"
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

	"companyos/shared/company"
	"companyos/shared/source"
)

// Reader reads websites and remote git repositories, for a function: it has neither git nor a folder of local Sources.
func Reader(hosts []string, secrets source.Secrets) func(context.Context, company.Source) ([]company.Document, error) {
	return (&source.Reader{GitHosts: hosts, Token: source.GitHubToken(secrets), Library: Read}).Read
}

// Read is a source.Library.
func Read(ctx context.Context, remote source.Remote, take func(source.File)) error {
	bounded := &boundedTransport{left: remote.Fetch}
	store := filesystem.NewStorage(osfs.New(remote.Dir), cache.NewObjectLRU(8*cache.MiByte))
	defer func() { _ = store.Close() }()
	commit, err := fetch(ctx, remote, bounded, store)
	if bounded.over {
		return source.ErrTooLarge
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
		case entry.Mode != filemode.Dir:
			take(file(store, entry, path))
		}
	}
	return context.Cause(ctx)
}

// file is an entry of a tree. The host kept the large files, so they are none that can be read.
func file(store *filesystem.Storage, entry object.TreeEntry, path string) source.File {
	size, err := store.EncodedObjectSize(entry.Hash)
	if err != nil || !slices.Contains([]filemode.FileMode{filemode.Regular, filemode.Deprecated, filemode.Executable}, entry.Mode) {
		return source.File{Path: path}
	}
	return source.File{Path: path, Size: size, Read: func() ([]byte, error) { return readBlob(store, entry.Hash) }}
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

// fetch brings the commit that a ref names, without its history.
func fetch(ctx context.Context, remote source.Remote, bounded http.RoundTripper, store *filesystem.Storage) (commit plumbing.Hash, err error) {
	endpoint, err := transport.NewEndpoint(remote.URL)
	if err != nil {
		return commit, err
	}
	var auth transport.AuthMethod
	if remote.Token != "" {
		auth = &githttp.BasicAuth{Username: "x-access-token", Password: remote.Token}
	}
	client := githttp.NewClientWithOptions(&http.Client{Transport: bounded}, &githttp.ClientOptions{RedirectPolicy: githttp.NoFollowRedirects})
	session, err := client.NewUploadPackSession(endpoint, auth)
	if err != nil {
		return commit, err
	}
	defer func() { _ = session.Close() }()
	there, err := session.AdvertisedReferencesContext(ctx)
	if errors.Is(err, transport.ErrEmptyRemoteRepository) {
		return commit, source.ErrNoRef
	}
	if err != nil {
		return commit, err
	}
	switch named, known := there.References[remote.Ref]; {
	case known:
		commit = named
	case remote.Ref == plumbing.HEAD.String() && there.Head != nil:
		commit = *there.Head
	default:
		return commit, source.ErrNoRef
	}
	if !there.Capabilities.Supports(capability.Filter) || !there.Capabilities.Supports(capability.Shallow) {
		return commit, source.ErrNoFilter
	}
	ask := packp.NewUploadPackRequestFromCapabilities(there.Capabilities)
	ask.Wants, ask.Depth = []plumbing.Hash{commit}, packp.DepthCommits(1)
	ask.Filter = packp.FilterBlobLimit(uint64(remote.Item)+1, packp.BlobLimitPrefixNone)
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
		return 0, source.ErrTooLarge
	}
	return n, err
}
