package s3_test

import (
	"bytes"
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"

	"companyos/shared/blob"
	"companyos/shared/blob/blobtest"
	"companyos/shared/blob/s3"
)

const maxBytes = 64 << 10

func TestConformance(t *testing.T) {
	t.Parallel()
	blobtest.Run(t, func(t *testing.T) blobtest.Bench {
		f := newFake(t)
		store := s3.New(f.client(), bucket, maxBytes)
		return blobtest.Bench{
			Store: store, Deleter: store, MaxBytes: maxBytes,
			Spoil: func(_ *testing.T, key string, content []byte) { f.spoil(key, content) },
			Later: func(d time.Duration) { f.mu.Lock(); defer f.mu.Unlock(); f.skew += d },
		}
	})
}

// Only a key that holds nothing is ErrNotFound: a bucket that is not there, or a role without s3:ListBucket, is a
// mistake of the deployment and must not read as a missing artifact.
func TestErrorsKeepTheirMeaning(t *testing.T) {
	t.Parallel()
	for code, test := range map[string]struct {
		status int
		onPut  bool
		want   error
	}{
		"NoSuchKey":           {404, false, blob.ErrNotFound},
		"NoSuchBucket":        {404, false, nil},
		"AccessDenied":        {403, false, nil},
		"SlowDown":            {503, false, nil},
		"BadDigest":           {400, true, blob.ErrHash},
		"EntityTooLarge":      {400, true, blob.ErrTooLarge},
		"SomethingOfTomorrow": {400, true, nil},
	} {
		f := newFake(t)
		f.faults = []fault{{test.status, code}}
		store := s3.New(f.client(), bucket, maxBytes)
		var err error
		if test.onPut {
			err = store.Put(t.Context(), "k", strings.NewReader("x"), 1)
		} else {
			_, _, err = store.Get(t.Context(), "k")
		}
		if err == nil {
			t.Errorf("%s: no error", code)
		}
		for _, kind := range []error{blob.ErrNotFound, blob.ErrHash, blob.ErrTooLarge} {
			if errors.Is(err, kind) != (kind == test.want) {
				t.Errorf("%s: %v, want kind %v", code, err, test.want)
			}
		}
	}
}

// The content is sent again whole, with the hash that its key promises for S3 to check.
func TestPutIsRepeatedAndCarriesItsHash(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.faults = []fault{{503, "SlowDown"}, {500, "InternalError"}}
	client := awss3.New(f.client().Options(), func(o *awss3.Options) {
		o.Retryer = retry.NewStandard(func(o *retry.StandardOptions) {
			o.Backoff = retry.BackoffDelayerFunc(func(int, error) (time.Duration, error) { return time.Millisecond, nil })
		})
	})
	content := []byte("result")
	key := blobtest.Hashed("result", content)
	if err := s3.New(client, bucket, maxBytes).Put(t.Context(), key, bytes.NewReader(content), int64(len(content))); err != nil {
		t.Fatal(err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.puts != 3 || string(f.objects[key].content) != "result" {
		t.Errorf("%d requests, stored %q", f.puts, f.objects[key].content)
	}
	if f.last.Get("X-Amz-Checksum-Sha256") == "" {
		t.Errorf("no checksum sent: %v", f.last)
	}
}

// Nothing is sent that its key does not promise.
func TestPutChecksBeforeItSends(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	err := s3.New(f.client(), bucket, maxBytes).Put(t.Context(), blobtest.Hashed("log", []byte("a")), strings.NewReader("b"), 1)
	f.mu.Lock()
	defer f.mu.Unlock()
	if !errors.Is(err, blob.ErrHash) || f.puts != 0 {
		t.Errorf("%v after %d requests", err, f.puts)
	}
}

// A presigned URL bounds no size; reading does.
func TestGetRefusesWhatIsOverTheLimit(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.spoil("k", make([]byte, maxBytes+1))
	if _, _, err := s3.New(f.client(), bucket, maxBytes).Get(t.Context(), "k"); !errors.Is(err, blob.ErrTooLarge) {
		t.Errorf("Get: %v, want ErrTooLarge", err)
	}
}

// The URL asks nothing of the client but the URL: no header to repeat, no checksum of another body.
func TestPresignedURLNeedsNoHeaders(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	client := awss3.New(f.client().Options(), func(o *awss3.Options) { // as config.LoadDefaultConfig has it
		o.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenSupported
	})
	target, err := s3.New(client, bucket, maxBytes).Presign(t.Context(), blobtest.Hashed("log", nil), "PUT", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	query := u.Query()
	if query.Get("X-Amz-SignedHeaders") != "host" || query.Get("X-Amz-Expires") != "3600" || strings.Contains(strings.ToLower(target), "checksum") {
		t.Errorf("URL %s", target)
	}
	if !strings.HasPrefix(target, aws.ToString(f.client().Options().BaseEndpoint)+"/"+bucket+"/runs/") {
		t.Errorf("URL %s is not of the bucket", target)
	}
}
