package s3_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
)

const (
	bucket = "artifacts"
	region = "eu-central-1"
)

// fake is S3's side of one bucket: objects, checksums, presigned URLs with their signature and expiry, and faults.
type fake struct {
	url string

	mu      sync.Mutex
	objects map[string]object
	skew    time.Duration // how far S3's clock is ahead
	faults  []fault       // answered first, one a request
	puts    int           // PUT requests that arrived
	last    http.Header   // of the last request
}

type object struct {
	content  []byte
	modified time.Time
}

type fault struct {
	status int
	code   string
}

func newFake(t *testing.T) *fake {
	t.Helper()
	f := &fake{objects: map[string]object{}}
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	f.url = server.URL
	return f
}

func keys() aws.CredentialsProvider {
	return credentials.NewStaticCredentialsProvider("key", "secret", "")
}

func (f *fake) client() *awss3.Client {
	return awss3.New(awss3.Options{
		Region: region, BaseEndpoint: &f.url, UsePathStyle: true, Credentials: keys(),
		Retryer: aws.NopRetryer{},
	})
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last = r.Header.Clone()
	if r.Method == http.MethodPut {
		f.puts++
	}
	if len(f.faults) > 0 {
		next := f.faults[0]
		f.faults = f.faults[1:]
		refuse(w, next.status, next.code)
		return
	}
	if !f.authorized(r) {
		refuse(w, http.StatusForbidden, "SignatureDoesNotMatch")
		return
	}
	name, key, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if name != bucket {
		refuse(w, http.StatusNotFound, "NoSuchBucket")
		return
	}
	f.serve(w, r, key, body)
}

func (f *fake) serve(w http.ResponseWriter, r *http.Request, key string, body []byte) {
	found, ok := f.objects[key]
	switch r.Method {
	case http.MethodPut:
		sum := sha256.Sum256(body)
		if want := r.Header.Get("X-Amz-Checksum-Sha256"); want != "" && want != base64.StdEncoding.EncodeToString(sum[:]) {
			refuse(w, http.StatusBadRequest, "BadDigest")
			return
		}
		f.objects[key] = object{content: body, modified: time.Now()}
	case http.MethodDelete:
		delete(f.objects, key)
		w.WriteHeader(http.StatusNoContent)
	case http.MethodGet, http.MethodHead:
		if !ok {
			refuse(w, http.StatusNotFound, "NoSuchKey")
			return
		}
		w.Header().Set("Last-Modified", found.modified.UTC().Format(http.TimeFormat))
		w.Header().Set("Content-Length", fmt.Sprint(len(found.content)))
		w.Header().Set("ETag", `"etag"`)
		if r.Method == http.MethodGet {
			_, _ = w.Write(found.content)
		}
	default:
		refuse(w, http.StatusMethodNotAllowed, "MethodNotAllowed")
	}
}

func refuse(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	fmt.Fprintf(w, `<?xml version="1.0" encoding="UTF-8"?><Error><Code>%s</Code><Message>no</Message></Error>`, code)
}

// authorized takes a request signed in its header (its signature is the SDK's business) and checks a presigned one:
// signed again with the same time and expiry it must have the same signature, and the time must not be past.
func (f *fake) authorized(r *http.Request) bool {
	if strings.HasPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 Credential=key/") {
		return true
	}
	query := r.URL.Query()
	at, err := time.Parse("20060102T150405Z", query.Get("X-Amz-Date"))
	if err != nil {
		return false
	}
	lifetime, err := time.ParseDuration(query.Get("X-Amz-Expires") + "s")
	if err != nil || time.Now().Add(f.skew).After(at.Add(lifetime)) {
		return false
	}
	given := query.Get("X-Amz-Signature")
	for _, name := range []string{"Signature", "Algorithm", "Credential", "Date", "SignedHeaders"} {
		query.Del("X-Amz-" + name)
	}
	again := r.Clone(context.Background())
	again.Header, again.ContentLength = http.Header{}, 0 // only the host is signed
	again.URL.RawQuery = query.Encode()
	again.URL.Host = r.Host
	pair, err := keys().Retrieve(r.Context())
	if err != nil {
		return false
	}
	signed, _, err := v4.NewSigner().PresignHTTP(r.Context(), pair, again, "UNSIGNED-PAYLOAD", "s3", region, at,
		func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true })
	if err != nil {
		return false
	}
	u, err := url.Parse(signed)
	return err == nil && given != "" && u.Query().Get("X-Amz-Signature") == given
}

// spoil replaces an object without asking.
func (f *fake) spoil(key string, content []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.objects[key] = object{content: bytes.Clone(content), modified: time.Now()}
}
