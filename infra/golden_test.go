package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden templates")

// hashes are names of files by their content.
var hashes = regexp.MustCompile(`[0-9a-f]{64}`)

// The whole template of the default deployment, to read a change's consequences in review. go test -update writes it.
func TestTemplatesAreAsReviewed(t *testing.T) {
	t.Parallel()
	d := deployed(t, "default")
	for _, name := range []string{"Company", "Company-Database"} {
		got := redacted(t, filepath.Join(d.dir, name+".template.json"))
		golden := filepath.Join("testdata", name+".json")
		if *update {
			if err := os.WriteFile(golden, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s changed; go test -update ./infra writes it (-reviewed +now):\n%s", golden, diff)
		}
	}
}

// redacted is a template without hashes and without the CDK's metadata.
func redacted(t *testing.T, path string) []byte {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var tree map[string]any
	if err := json.Unmarshal(raw, &tree); err != nil {
		t.Fatal(err)
	}
	for _, r := range tree["Resources"].(map[string]any) {
		delete(r.(map[string]any), "Metadata")
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetIndent("", " ")
	e.SetEscapeHTML(false)
	if err := e.Encode(tree); err != nil {
		t.Fatal(err)
	}
	return hashes.ReplaceAll(out.Bytes(), []byte("<hash>"))
}
