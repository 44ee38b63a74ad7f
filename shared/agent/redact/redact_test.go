package redact_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/url"
	"strings"
	"testing"

	"companyos/shared/agent/redact"
)

const secret = `ghs_Canary/42+"quoted"<&>~`

func TestBytes(t *testing.T) {
	t.Parallel()
	quoted, err := json.Marshal(secret)
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]string{
		"plain":             "a " + secret + " b",
		"query":             "https://x.example/?t=" + url.QueryEscape(secret),
		"path":              "https://x.example/" + url.PathEscape(secret),
		"json":              string(quoted),
		"json without html": strings.NewReplacer(`"`, `\"`).Replace(secret),
		"base64":            base64.StdEncoding.EncodeToString([]byte(secret)),
		"base64 url":        base64.URLEncoding.EncodeToString([]byte(secret)),
		"base64 after 1":    base64.StdEncoding.EncodeToString([]byte("u" + secret + "xy")),
		"base64 after 2":    base64.StdEncoding.EncodeToString([]byte("u:" + secret)),
		"basic auth":        base64.StdEncoding.EncodeToString([]byte("x-access-token:" + secret)),
		"twice":             secret + secret,
		"hexadecimal":       hex.EncodeToString([]byte(secret)),
		"coloured":          "\x1b[31m" + strings.Join(strings.Split(secret, ""), "\x1b[0m\x1b[1;32m") + "\x1b[0m",
		"a title in it":     secret[:5] + "\x1b]0;title\x07" + secret[5:],
		"coloured in JSON":  secret[:5] + `\u001b[31m` + secret[5:],
		"wrapped":           secret[:9] + "\r\n" + secret[9:],
		"wrapped in JSON":   secret[:9] + `\n` + secret[9:],
		"wrapped base64":    wrap(base64.StdEncoding.EncodeToString([]byte(secret))),
	}
	r := redact.New(secret, "", "short")
	for name, in := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, found := r.Bytes([]byte(in))
			if !found || !bytes.Contains(out, []byte(redact.Marker)) {
				t.Fatalf("nothing was taken out of %q: %q", in, out)
			}
			core := secret[4:12]
			for _, form := range []string{core, base64.RawStdEncoding.EncodeToString([]byte(core))[:8]} {
				if bytes.Contains(out, []byte(form)) {
					t.Errorf("%q still holds %q", out, form)
				}
			}
		})
	}
	for _, in := range []string{"", "nothing here", "ghs_Canar", "a short word"} {
		if out, found := r.Bytes([]byte(in)); found || string(out) != in {
			t.Errorf("%q became %q", in, out)
		}
	}
}

func wrap(s string) string { return s[:8] + "\n" + s[8:16] + "\n" + s[16:] }

// TestPatterns: what looks like a key is taken out although nobody knows it, and what only looks a little like one stays.
func TestPatterns(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("Ab1_", 24)
	r := redact.New()
	for name, in := range map[string]string{
		"Anthropic":   "sk-ant-api03-" + long,
		"OpenAI":      "sk-proj-" + long,
		"GitHub":      "ghp_" + strings.Repeat("a1B2", 9),
		"GitHub fine": "github_pat_" + long,
		"AWS":         "AKIA" + "IOSFODNN7EXAMPLE",
		"Slack":       "xoxb-" + "123456789012-123456789012-abcdef",
		"launch":      "cl1.9da237dd-8fb2-51c7-855d-d91bafffa97a.1." + long,
		"JWT":         "eyJhbGciOiJSUzI1NiJ9." + long + "." + long,
		"PEM":         "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1r\nZXktdjE\n-----END OPENSSH PRIVATE KEY-----",
		"PEM in JSON": `-----BEGIN PRIVATE KEY-----\nb3BlbnNzaC1r\n-----END PRIVATE KEY-----`,
	} {
		for _, around := range [][2]string{{"", ""}, {"key=", " rest"}, {`"text\n`, `\n"`}} {
			if got, want := r.String(around[0]+in+around[1]), around[0]+redact.Marker+around[1]; got != want {
				t.Errorf("%s: %q", name, got)
			}
		}
		var out bytes.Buffer
		w := r.Writer(&out)
		for i := range in {
			_, _ = w.Write([]byte{in[i]})
		}
		if err := w.Close(); err != nil || out.String() != redact.Marker {
			t.Errorf("%s byte by byte: %q %v", name, out.String(), err)
		}
	}
	for _, in := range []string{
		"task-" + strings.Repeat("a1", 30), "sk-some-long-kebab-case-class-name-of-a-style-sheet", "AKIA", "AKIAIOSFODNN7EXAMPLEX", "eyJ", "eyJhbGciOiJSUzI1NiJ9",
		"ghp_short", "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----", "risk-" + long,
	} {
		if got := r.String(in); got != in {
			t.Errorf("%q became %q", in, got)
		}
	}
}

// TestPrefixOfAnother: of two secrets that begin alike the longer one is taken out whole, whatever the pieces.
func TestPrefixOfAnother(t *testing.T) {
	t.Parallel()
	r := redact.New("secret-one", "secret-one-and-more")
	var out bytes.Buffer
	w := r.Writer(&out)
	for _, piece := range []string{"x secret-one", "-and-", "more y secret-one", " z"} {
		_, _ = w.Write([]byte(piece))
	}
	if err := w.Close(); err != nil || out.String() != "x "+redact.Marker+" y "+redact.Marker+" z" {
		t.Errorf("%q %v", out.String(), err)
	}
}

func BenchmarkWriter(b *testing.B) {
	text := bytes.Repeat([]byte("2026/12/01 ok  some/package 0.123s and a line of words that nobody needs\n"), 1000)
	w := redact.New(secret, "sk-ant-0123456789abcdef0123456789", "cs1.abcdefabcdefabcdefabcdef").Writer(io.Discard)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		_, _ = w.Write(text)
	}
}

func TestLinesOfAValue(t *testing.T) {
	t.Parallel()
	r := redact.New("-----BEGIN KEY-----\nMIIBcanary\n")
	if got := r.String("line: MIIBcanary!"); got != "line: "+redact.Marker+"!" {
		t.Errorf("got %q", got)
	}
}

func TestWriterWhateverThePieces(t *testing.T) {
	t.Parallel()
	r := redact.New(secret)
	in := "begin " + secret + " ghs_Cana middle ghs_" + secret + secret[:9]
	want := r.String(in)
	for size := 1; size <= len(in); size++ {
		var out bytes.Buffer
		w := r.Writer(&out)
		for rest := in; rest != ""; {
			n := min(size, len(rest))
			if _, err := w.Write([]byte(rest[:n])); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if out.String() != want || !w.Found() {
			t.Fatalf("pieces of %d: %q, want %q", size, out.String(), want)
		}
	}
}

func TestNilRedactsNothing(t *testing.T) {
	t.Parallel()
	var r *redact.Redactor
	if got := r.String("text"); got != "text" {
		t.Errorf("got %q", got)
	}
}
