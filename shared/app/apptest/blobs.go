package apptest

import (
	"bytes"
	"context"
	"io"
	"sync"
	"time"

	"companyos/shared/blob"
)

// Blobs is an artifact store in memory.
type Blobs struct {
	Plan func(call string) Fault // of the next get or head

	mu   sync.Mutex
	data map[string][]byte
}

// Put implements blob.Store.
func (b *Blobs) Put(_ context.Context, key string, r io.Reader, size int64) error {
	content, err := io.ReadAll(blob.Exactly(r, key, size))
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.data[key] = content
	return nil
}

func (b *Blobs) look(call, key string) ([]byte, error) {
	if b.Plan != nil && b.Plan(call) == FaultBefore {
		return nil, ErrFault
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	content, ok := b.data[key]
	if !ok {
		return nil, blob.ErrNotFound
	}
	return content, nil
}

// Get implements blob.Store.
func (b *Blobs) Get(_ context.Context, key string) (io.ReadCloser, blob.Info, error) {
	content, err := b.look("get", key)
	if err != nil {
		return nil, blob.Info{}, err
	}
	return blob.VerifyCloser(io.NopCloser(bytes.NewReader(content)), key), blob.Info{Size: int64(len(content))}, nil
}

// Head implements blob.Store.
func (b *Blobs) Head(_ context.Context, key string) (blob.Info, error) {
	content, err := b.look("head", key)
	return blob.Info{Size: int64(len(content))}, err
}

// Presign implements blob.Store. Its URLs go nowhere: Key gives the key back.
func (b *Blobs) Presign(_ context.Context, key, method string, _ time.Duration) (string, error) {
	return "memory://" + method + "/" + key, blob.ValidKey(key)
}

// Key is the key behind a URL of Presign.
func Key(url string) string {
	_, key, _ := bytes.Cut([]byte(url[len("memory://"):]), []byte("/"))
	return string(key)
}
