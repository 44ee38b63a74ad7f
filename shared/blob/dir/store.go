// Package dir keeps blobs in a folder, for the company on one machine. Its HTTP handler stands for S3's presigned URLs.
package dir

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"time"

	"companyos/shared/blob"
)

// The store's own files. No key begins with a dot, so no key names them.
const (
	tempFolder = ".tmp"
	keyFile    = ".url-key"
	keySize    = 32
	// staleAfter is the age at which an unfinished Put is certainly of a process that died.
	staleAfter = time.Hour
)

// Config of a Store.
type Config struct {
	MaxBytes int64            // the largest blob, more is blob.ErrTooLarge; 0 is 64 MiB
	BaseURL  string           // where the handler is mounted, "http://127.0.0.1:7070"
	Now      func() time.Time // the clock of the URLs; nil is time.Now
}

// Store is a folder of blobs. It implements blob.Store and blob.Deleter. Unlike in S3, a key cannot be the folder of
// another ("a" and "a/b").
type Store struct {
	root   *os.Root
	urlKey []byte
	cfg    Config
}

// Open opens the folder, which it makes where it is missing, readable by this user alone. The key that signs URLs is
// made once and kept in it, so that a URL outlives a restart.
func Open(folder string, cfg Config) (*Store, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.MaxBytes <= 0 {
		cfg.MaxBytes = 64 << 20
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fmt.Errorf("open blobs: %w", err)
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, fmt.Errorf("open blobs: %w", err)
	}
	s := &Store{root: root, cfg: cfg}
	if err := s.prepare(); err != nil {
		return nil, errors.Join(fmt.Errorf("open blobs in %s: %w", folder, err), root.Close())
	}
	return s, nil
}

// Close releases the folder.
func (s *Store) Close() error { return s.root.Close() }

func (s *Store) prepare() error {
	if err := s.root.MkdirAll(tempFolder, 0o700); err != nil {
		return err
	}
	entries, err := fs.ReadDir(s.root.FS(), tempFolder)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > staleAfter {
			if err := s.root.Remove(path.Join(tempFolder, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	s.urlKey, err = s.loadKey()
	return err
}

// loadKey reads the signing key or makes it. Two processes that make one at once end with the same: a link never
// replaces.
func (s *Store) loadKey() ([]byte, error) {
	key, err := s.root.ReadFile(keyFile)
	if errors.Is(err, fs.ErrNotExist) {
		fresh := make([]byte, keySize)
		_, _ = rand.Read(fresh) // never fails
		temp, err := s.writeTemp(bytes.NewReader(fresh))
		if err != nil {
			return nil, err
		}
		err = s.root.Link(temp, keyFile)
		if err := errors.Join(s.root.Remove(temp), ignore(err, fs.ErrExist)); err != nil {
			return nil, err
		}
		return s.root.ReadFile(keyFile)
	}
	if err == nil && len(key) != keySize {
		err = fmt.Errorf("%s has %d bytes, not %d: remove it, URLs signed with it end", keyFile, len(key), keySize)
	}
	return key, err
}

// Put implements blob.Store: a file beside, flushed, then renamed, so that neither a crash nor a reader sees a part.
func (s *Store) Put(ctx context.Context, key string, r io.Reader, size int64) error {
	if err := s.put(ctx, key, r, size); err != nil {
		return fmt.Errorf("put blob: %w", err)
	}
	return nil
}

func (s *Store) put(ctx context.Context, key string, r io.Reader, size int64) error {
	if err := blob.ValidKey(key); err != nil {
		return err
	}
	if size < 0 || size > s.cfg.MaxBytes {
		return fmt.Errorf("%w: %d bytes, the limit is %d", blob.ErrTooLarge, size, s.cfg.MaxBytes)
	}
	temp, err := s.writeTemp(heed(ctx, blob.Exactly(r, key, size)))
	if err != nil {
		return err
	}
	if err := s.place(temp, key); err != nil {
		return errors.Join(err, s.root.Remove(temp))
	}
	return nil
}

// writeTemp writes r to a new file and flushes it. On an error the file is gone.
func (s *Store) writeTemp(r io.Reader) (name string, err error) {
	name = path.Join(tempFolder, rand.Text())
	f, err := s.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	_, err = io.Copy(f, r)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return "", errors.Join(err, s.root.Remove(name))
	}
	return name, nil
}

// place renames temp to key and flushes the folder: the database may name the blob from now on.
func (s *Store) place(temp, key string) error {
	folder := path.Dir(key)
	if err := s.root.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	if err := s.root.Rename(temp, key); err != nil {
		return err
	}
	d, err := s.root.Open(folder)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Get implements blob.Store.
func (s *Store) Get(ctx context.Context, key string) (io.ReadCloser, blob.Info, error) {
	f, info, err := s.open(ctx, key)
	if err != nil {
		return nil, blob.Info{}, fmt.Errorf("get blob: %w", err)
	}
	return blob.VerifyCloser(f, key), info, nil
}

func (s *Store) open(ctx context.Context, key string) (*os.File, blob.Info, error) {
	if _, err := s.head(ctx, key); err != nil {
		return nil, blob.Info{}, err
	}
	f, err := s.root.Open(key)
	if err != nil {
		return nil, blob.Info{}, missing(err, key)
	}
	stat, err := f.Stat()
	if err != nil {
		return nil, blob.Info{}, errors.Join(err, f.Close())
	}
	return f, blob.Info{Size: stat.Size(), ModTime: stat.ModTime()}, nil
}

// Head implements blob.Store.
func (s *Store) Head(ctx context.Context, key string) (blob.Info, error) {
	info, err := s.head(ctx, key)
	if err != nil {
		return blob.Info{}, fmt.Errorf("head blob: %w", err)
	}
	return info, nil
}

func (s *Store) head(ctx context.Context, key string) (blob.Info, error) {
	if err := errors.Join(ctx.Err(), blob.ValidKey(key)); err != nil {
		return blob.Info{}, err
	}
	stat, err := s.root.Lstat(key)
	if err != nil {
		return blob.Info{}, missing(err, key)
	}
	if !stat.Mode().IsRegular() { // a folder, or what somebody else put here
		return blob.Info{}, fmt.Errorf("%w: %s", blob.ErrNotFound, key)
	}
	return blob.Info{Size: stat.Size(), ModTime: stat.ModTime()}, nil
}

// Delete implements blob.Deleter. Folders that become empty stay: another Put may be about to use them.
func (s *Store) Delete(ctx context.Context, key string) error {
	_, err := s.head(ctx, key)
	if err == nil {
		err = s.root.Remove(key)
	}
	if err != nil && !errors.Is(err, blob.ErrNotFound) && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("delete blob: %w", err)
	}
	return nil
}
