package dsql

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
)

// vector is what testdata/tokens.py printed.
type vector struct {
	At        time.Time `json:"at"`
	AccessKey string    `json:"access_key"`
	SecretKey string    `json:"secret_key"`
	Tokens    []struct {
		Host         string `json:"host"`
		Region       string `json:"region"`
		Action       string `json:"action"`
		Expires      int    `json:"expires"`
		SessionToken string `json:"session_token"`
		Token        string `json:"token"`
	} `json:"tokens"`
}

// parts are a token's host and its parameters as escaped, in one order: the two signers write them in different ones,
// and what is signed is sorted.
func parts(token string) []string {
	host, query, _ := strings.Cut(token, "?")
	return append([]string{host}, slices.Sorted(strings.SplitSeq(query, "&"))...)
}

func TestTokensAreThoseOfBotocore(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/tokens.json")
	if err != nil {
		t.Fatal(err)
	}
	var v vector
	if err := json.Unmarshal(data, &v); err != nil || len(v.Tokens) < 3 {
		t.Fatalf("%d tokens, %v", len(v.Tokens), err)
	}
	for _, want := range v.Tokens {
		c := Cluster{
			Endpoint: want.Host, Region: want.Region, User: "company",
			Credentials: credentials.NewStaticCredentialsProvider(v.AccessKey, v.SecretKey, want.SessionToken),
		}
		if want.Action == "DbConnectAdmin" {
			c.User = Admin
		}
		got, err := c.token(t.Context(), time.Duration(want.Expires)*time.Second, v.At)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(parts(want.Token), parts(got)); diff != "" {
			t.Errorf("%s on %s (-botocore +ours):\n%s", want.Action, want.Host, diff)
		}
	}
}

func TestStoreSignsForEachConnection(t *testing.T) {
	t.Parallel()
	retrieved := 0
	c := Cluster{
		Endpoint: "abc.dsql.eu-central-1.on.aws", Region: "eu-central-1", User: "company",
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			retrieved++
			return aws.Credentials{AccessKeyID: "a", SecretAccessKey: "b"}, nil
		}),
	}
	s := c.Store(1)
	parsed, err := pgx.ParseConfig(s.URL)
	if err != nil || parsed.Host != c.Endpoint || parsed.User != "company" || parsed.Database != "postgres" || parsed.TLSConfig == nil || parsed.TLSConfig.InsecureSkipVerify || parsed.TLSConfig.ServerName != c.Endpoint {
		t.Errorf("%s: %+v, %v", s.URL, parsed, err)
	}
	for range 2 {
		if token, err := s.Password(t.Context()); err != nil || !strings.HasPrefix(token, c.Endpoint+"/?") || !strings.Contains(token, "X-Amz-Expires=900") {
			t.Errorf("%q, %v", token, err)
		}
	}
	if retrieved != 2 {
		t.Errorf("asked for credentials %d times, want once for each connection", retrieved)
	}
}

func TestNoCredentials(t *testing.T) {
	t.Parallel()
	away := errors.New("no role")
	c := Cluster{Endpoint: "abc.dsql.eu-central-1.on.aws", Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{}, away
	})}
	if _, err := c.Store(1).Password(t.Context()); !errors.Is(err, away) {
		t.Errorf("%v", err)
	}
}
