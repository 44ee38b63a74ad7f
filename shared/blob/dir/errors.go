package dir

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"syscall"

	"companyos/shared/blob"
)

// missing maps what the file system says of a key that holds nothing; a part of its path may be a file.
func missing(err error, key string) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return fmt.Errorf("%w: %s", blob.ErrNotFound, key)
	}
	return err
}

func ignore(err, target error) error {
	if errors.Is(err, target) {
		return nil
	}
	return err
}

// heed returns r that ends with the context's error when it is done.
func heed(ctx context.Context, r io.Reader) io.Reader {
	return reading(func(p []byte) (int, error) {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		return r.Read(p)
	})
}

type reading func(p []byte) (int, error)

func (r reading) Read(p []byte) (int, error) { return r(p) }
