package blob_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"companyos/shared/blob"
)

const hello = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824" // sha256 of "hello"

func TestKeyHash(t *testing.T) {
	t.Parallel()
	zeros := strings.Repeat("0", 64)
	for _, c := range []struct{ key, want string }{
		{"runs/r/1/patch-" + hello, hello},
		{"x-" + hello, hello},
		{"-" + hello, hello},
		{hello, ""},
		{"patch_" + hello, ""},
		{"patch-" + hello[1:], ""},
		{"patch-" + strings.ToUpper(hello), ""},
		{"patch-" + hello[:63] + "g", ""},
		{"patch-" + hello + ".gz", ""},
		{"runs/r/1/input", ""},
		{"", ""},
		{"a-" + hello + "/b", ""},
		{"patch-" + hello[:32] + "-" + hello[:31], ""},
		{"patch-\u00e9" + hello[:62], ""},
		{"patch-" + hello + "-" + hello, hello},
		{"runs/r/1/log-" + zeros, zeros},
		{"runs/r/1/log--" + zeros, zeros},
	} {
		if got, ok := blob.KeyHash(c.key); got != c.want || ok != (c.want != "") {
			t.Errorf("%q: %q %v, want %q", c.key, got, ok, c.want)
		}
	}
}

// Whatever way a reader ends, with its last bytes or after them, the verdict is the same.
func TestExactly(t *testing.T) {
	t.Parallel()
	key := "x-" + hello
	for name, test := range map[string]struct {
		content string
		key     string
		size    int64
		want    error
	}{
		"as promised":      {"hello", key, 5, nil},
		"no promise":       {"hullo", "x", 5, nil},
		"empty":            {"", "x", 0, nil},
		"other content":    {"hullo", key, 5, blob.ErrHash},
		"one more":         {"hello!", key, 5, blob.ErrTooLarge},
		"one more of none": {"h", "x", 0, blob.ErrTooLarge},
		"one less":         {"hell", key, 5, io.ErrUnexpectedEOF},
		"none of some":     {"", "x", 1, io.ErrUnexpectedEOF},
	} {
		for way, r := range map[string]io.Reader{
			"whole":     strings.NewReader(test.content),
			"bytewise":  iotest.OneByteReader(strings.NewReader(test.content)),
			"early EOF": iotest.DataErrReader(strings.NewReader(test.content)),
		} {
			got, err := io.ReadAll(blob.Exactly(r, test.key, test.size))
			if !errors.Is(err, test.want) || test.want == nil && string(got) != test.content {
				t.Errorf("%s, %s: %q, %v, want %v", name, way, got, err, test.want)
			}
		}
	}
}
