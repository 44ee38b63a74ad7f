// Package s3 keeps blobs in one Amazon S3 bucket.
//
// The role needs s3:ListBucket on the bucket beside s3:GetObject and s3:PutObject: without it S3 answers 403, not 404,
// for a key that holds nothing, and ErrNotFound is never seen.
package s3

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"

	"companyos/shared/blob"
)

// Store is a bucket. It implements blob.Store and blob.Deleter.
type Store struct {
	client   *s3.Client
	signer   *s3.PresignClient
	bucket   string
	maxBytes int64
}

// New returns the store of bucket. No blob over maxBytes is written or read through it; 0 is 64 MiB.
func New(client *s3.Client, bucket string, maxBytes int64) *Store {
	if maxBytes <= 0 {
		maxBytes = 64 << 20
	}
	return &Store{client: client, signer: s3.NewPresignClient(client), bucket: bucket, maxBytes: maxBytes}
}

// Put implements blob.Store. It holds the whole blob in memory, so that its hash is checked before anything is sent and
// a request can be repeated; what is large goes through a presigned URL.
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
	if size < 0 || size > s.maxBytes {
		return fmt.Errorf("%w: %d bytes, the limit is %d", blob.ErrTooLarge, size, s.maxBytes)
	}
	content, err := io.ReadAll(blob.Exactly(r, key, size))
	if err != nil {
		return err
	}
	in := &s3.PutObjectInput{Bucket: &s.bucket, Key: &key, Body: bytes.NewReader(content), ContentLength: &size}
	if sum, ok := checksum(key); ok {
		in.ChecksumSHA256 = &sum
	}
	_, err = s.client.PutObject(ctx, in)
	return mapped(err, key)
}

// checksum is the hash that key promises as S3 writes it; S3 checks it again.
func checksum(key string) (string, bool) {
	sum, ok := blob.KeyHash(key)
	if !ok {
		return "", false
	}
	raw, err := hex.DecodeString(sum)
	return base64.StdEncoding.EncodeToString(raw), err == nil
}

// Get implements blob.Store. What a presigned URL brought over the limit is blob.ErrTooLarge.
func (s *Store) Get(ctx context.Context, key string) (io.ReadCloser, blob.Info, error) {
	if err := blob.ValidKey(key); err != nil {
		return nil, blob.Info{}, fmt.Errorf("get blob: %w", err)
	}
	out, err := s.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &s.bucket, Key: &key}, func(o *s3.Options) {
		// What a presigned URL brought has no checksum of S3's; the key's own hash is checked here.
		o.DisableLogOutputChecksumValidationSkipped = true
	})
	if err != nil {
		return nil, blob.Info{}, fmt.Errorf("get blob: %w", mapped(err, key))
	}
	info := blob.Info{Size: aws.ToInt64(out.ContentLength), ModTime: aws.ToTime(out.LastModified)}
	if info.Size > s.maxBytes {
		err := fmt.Errorf("get blob: %w: %d bytes, the limit is %d", blob.ErrTooLarge, info.Size, s.maxBytes)
		return nil, blob.Info{}, errors.Join(err, out.Body.Close())
	}
	return blob.VerifyCloser(out.Body, key), info, nil
}

// Head implements blob.Store.
func (s *Store) Head(ctx context.Context, key string) (blob.Info, error) {
	if err := blob.ValidKey(key); err != nil {
		return blob.Info{}, fmt.Errorf("head blob: %w", err)
	}
	out, err := s.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &s.bucket, Key: &key})
	if err != nil {
		return blob.Info{}, fmt.Errorf("head blob: %w", mapped(err, key))
	}
	return blob.Info{Size: aws.ToInt64(out.ContentLength), ModTime: aws.ToTime(out.LastModified)}, nil
}

// Delete implements blob.Deleter.
func (s *Store) Delete(ctx context.Context, key string) error {
	if err := blob.ValidKey(key); err != nil {
		return fmt.Errorf("delete blob: %w", err)
	}
	if _, err := s.client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &s.bucket, Key: &key}); err != nil {
		return fmt.Errorf("delete blob: %w", mapped(err, key))
	}
	return nil
}

// Presign implements blob.Store. The URL ends with the credentials that sign it, a Lambda's after some hours, even
// where ttl is longer. It bounds neither the size nor the content of what is put: Get checks both.
func (s *Store) Presign(ctx context.Context, key, method string, ttl time.Duration) (string, error) {
	if err := blob.ValidKey(key); err != nil {
		return "", fmt.Errorf("presign blob: %w", err)
	}
	options := s3.WithPresignExpires(ttl)
	var request *v4.PresignedHTTPRequest
	var err error
	switch method {
	case http.MethodGet:
		request, err = s.signer.PresignGetObject(ctx, &s3.GetObjectInput{Bucket: &s.bucket, Key: &key}, options)
	case http.MethodPut:
		request, err = s.signer.PresignPutObject(ctx, &s3.PutObjectInput{Bucket: &s.bucket, Key: &key}, options)
	default:
		err = fmt.Errorf("method %q", method)
	}
	if err != nil {
		return "", fmt.Errorf("presign blob: %w", err)
	}
	return request.URL, nil
}

// mapped gives S3's errors their meaning. A bucket that is missing is no missing blob.
func mapped(err error, key string) error {
	if _, ok := errors.AsType[*types.NoSuchKey](err); ok {
		return fmt.Errorf("%w: %s", blob.ErrNotFound, key)
	}
	// HEAD has no body: its 404 has this name.
	if _, ok := errors.AsType[*types.NotFound](err); ok {
		return fmt.Errorf("%w: %s", blob.ErrNotFound, key)
	}
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		switch api.ErrorCode() {
		case "EntityTooLarge":
			return fmt.Errorf("%w: %w", blob.ErrTooLarge, err)
		case "BadDigest", "XAmzContentChecksumMismatch":
			return fmt.Errorf("%w: %w", blob.ErrHash, err)
		}
	}
	return err
}
