package main

import (
	"archive/zip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// maxZip is the largest zip of a function: what is larger starts slower, so something was linked that does not belong.
const maxZip = 10 << 20

// buildFunctions compiles functions/<name> for Lambda and returns the zips by name. The same source gives the same
// bytes, so a function whose code did not change is not deployed again.
func buildFunctions(ctx context.Context, root, out string, names []string, arch string) (map[string]string, error) {
	if err := os.MkdirAll(out, 0o750); err != nil {
		return nil, err
	}
	zips := map[string]string{}
	for _, name := range names {
		path := filepath.Join(out, name+"-"+arch+".zip")
		if err := buildFunction(ctx, root, name, arch, path); err != nil {
			return nil, fmt.Errorf("build functions/%s: %w", name, err)
		}
		zips[name] = path
	}
	return zips, nil
}

func buildFunction(ctx context.Context, root, name, arch, path string) error {
	binary := path + ".bootstrap"
	defer os.Remove(binary)
	// lambda.norpc leaves out the protocol of runtimes before provided.al2023.
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-tags", "lambda.norpc",
		"-ldflags", "-s -w -buildid=", "-o", binary, "./functions/"+name)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH="+arch, "CGO_ENABLED=0", "GOFLAGS=", "GOAMD64=v1", "GOARM64=v8.0")
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, text)
	}
	return zipFile(binary, path)
}

// zipFile packs the binary as bootstrap with a fixed time and mode.
func zipFile(binary, path string) (err error) {
	in, err := os.Open(binary)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(path)
	if err != nil {
		return err
	}
	defer out.Close()
	z := zip.NewWriter(out)
	header := &zip.FileHeader{Name: "bootstrap", Method: zip.Deflate, Modified: time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)}
	header.SetMode(0o755)
	w, err := z.CreateHeader(header)
	if err != nil {
		return err
	}
	if _, err := io.Copy(w, in); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	info, err := out.Stat()
	if err == nil && info.Size() > maxZip {
		return fmt.Errorf("the zip has %d bytes, more than %d", info.Size(), maxZip)
	}
	return err
}

// hashFolder names a folder's files and their content.
func hashFolder(dir string) (string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return "", err
		}
		fmt.Fprintf(h, "%s %d\n%s", e.Name(), len(text), text)
	}
	return hex.EncodeToString(h.Sum(nil))[:16], nil
}
