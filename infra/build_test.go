package main

import (
	"archive/zip"
	"bytes"
	"debug/elf"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// program writes a module with one function.
func program(t *testing.T, body string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module example\n\ngo 1.26\n", "functions/api/main.go": "package main\n\nfunc main() { " + body + " }\n"} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func build(t *testing.T, root, arch string) []byte {
	t.Helper()
	zips, err := buildFunctions(t.Context(), root, filepath.Join(root, "out"), []string{"api"}, arch)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(zips["api"])
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// The same source in another folder gives the same bytes, so that what did not change is not deployed.
func TestBuildsAreReproducible(t *testing.T) {
	t.Parallel()
	first, second := build(t, program(t, `println("a")`), "arm64"), build(t, program(t, `println("a")`), "arm64")
	if !bytes.Equal(first, second) {
		t.Error("two builds of the same source differ")
	}
	if bytes.Equal(first, build(t, program(t, `println("b")`), "arm64")) {
		t.Error("another source gives the same zip")
	}
}

func TestZipHoldsTheBootstrapOfItsArchitecture(t *testing.T) {
	t.Parallel()
	for arch, machine := range map[string]elf.Machine{"arm64": elf.EM_AARCH64, "amd64": elf.EM_X86_64} {
		data := build(t, program(t, ""), arch)
		z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatal(err)
		}
		if len(z.File) != 1 || z.File[0].Name != "bootstrap" || z.File[0].Mode() != 0o755 || z.File[0].Modified.UTC().Year() != 2000 {
			t.Fatalf("%s: %+v", arch, z.File[0].FileHeader)
		}
		f, err := z.File[0].Open()
		if err != nil {
			t.Fatal(err)
		}
		binary, err := io.ReadAll(f)
		if err != nil {
			t.Fatal(err)
		}
		e, err := elf.NewFile(bytes.NewReader(binary))
		if err != nil || e.Machine != machine {
			t.Errorf("%s: machine %v, %v", arch, e.Machine, err)
		}
	}
}

func TestABrokenFunctionIsNamed(t *testing.T) {
	t.Parallel()
	root := program(t, "undefined()")
	_, err := buildFunctions(t.Context(), root, filepath.Join(root, "out"), []string{"api"}, "arm64")
	if err == nil || !strings.Contains(err.Error(), "functions/api") || !strings.Contains(err.Error(), "undefined") {
		t.Errorf("says %v", err)
	}
}
