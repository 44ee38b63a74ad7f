package cloud

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"companyos/shared/executor"
)

// Objects reads objects of S3.
type Objects interface {
	GetObject(ctx context.Context, in *s3.GetObjectInput, opts ...func(*s3.Options)) (*s3.GetObjectOutput, error)
}

// file reads a file of the deployment: s3://bucket/key, or a path of this machine.
func file(objects Objects, name string) executor.Fetch {
	object, ok := strings.CutPrefix(name, "s3://")
	if !ok {
		return executor.FromFile(name)
	}
	return func(ctx context.Context) (data []byte, err error) {
		bucket, key, _ := strings.Cut(object, "/")
		if bucket == "" || key == "" {
			return nil, fmt.Errorf("%s has not the form s3://bucket/key", name)
		}
		out, err := objects.GetObject(ctx, &s3.GetObjectInput{Bucket: &bucket, Key: &key})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		defer func() { err = errors.Join(err, out.Body.Close()) }()
		// One byte more than is allowed, so that the parser sees that it is too much.
		return io.ReadAll(io.LimitReader(out.Body, executor.MaxFileSize+1))
	}
}
