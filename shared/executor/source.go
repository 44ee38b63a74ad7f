package executor

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"
)

// Fetch returns the present bytes of executors.yaml.
type Fetch func(context.Context) ([]byte, error)

// FromFile reads a file of this machine.
func FromFile(path string) Fetch {
	return func(context.Context) (data []byte, err error) {
		f, err := os.Open(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s does not exist; write it, or name another file with -executors or COMPANY_EXECUTORS", path)
		}
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		// One byte more than is allowed, so that Parse sees that it is too much.
		return io.ReadAll(io.LimitReader(f, MaxFileSize+1))
	}
}

// Source holds the present registry and reads it again on demand. A file that breaks a rule never replaces one that
// did not. It is safe for concurrent use.
type Source struct {
	fetch   Fetch
	options Options
	reload  sync.Mutex
	current atomic.Pointer[Registry]
	failure atomic.Pointer[error]
}

// Open reads the file for the first time, which has to succeed.
func Open(ctx context.Context, fetch Fetch, o Options) (*Source, error) {
	s := &Source{fetch: fetch, options: o}
	if _, err := s.Reload(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// Static is a Source of a registry that a program made. Reload changes nothing.
func Static(r *Registry) *Source {
	s := &Source{}
	s.current.Store(r)
	return s
}

// Registry returns the last good registry. Whoever decides several things about one request takes it once.
func (s *Source) Registry() *Registry { return s.current.Load() }

// Replace puts another registry in the place of the present one, for a program whose executors come and go.
func (s *Source) Replace(r *Registry) { s.current.Store(r) }

// Failure returns why the last Reload kept the registry that was there, nil when it did not have to.
func (s *Source) Failure() error {
	if err := s.failure.Load(); err != nil {
		return *err
	}
	return nil
}

// Reload reads the file again and says whether the registry changed. With an error, of the fetch or Problems of the
// file, the last good registry stays.
func (s *Source) Reload(ctx context.Context) (changed bool, err error) {
	if s.fetch == nil {
		return false, nil
	}
	s.reload.Lock()
	defer s.reload.Unlock()
	defer func() {
		if err != nil {
			s.failure.Store(&err)
		} else {
			s.failure.Store(nil)
		}
	}()
	data, err := s.fetch(ctx)
	if err != nil {
		return false, fmt.Errorf("read the executors: %w", err)
	}
	if now := s.current.Load(); now != nil && now.Revision() == revision(data) {
		return false, nil
	}
	registry, err := Parse(data, s.options)
	if err != nil {
		return false, err
	}
	s.current.Store(registry)
	return true, nil
}

func revision(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
