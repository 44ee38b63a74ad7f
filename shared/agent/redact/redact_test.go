package redact_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
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
