package main

import (
	"errors"
	"os"
	"path/filepath"
)

// findRoot is the nearest folder upwards with a cdk.json.
func findRoot() (string, error) {
	dir, err := os.Getwd()
	for err == nil {
		if _, err := os.Stat(filepath.Join(dir, "cdk.json")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("no cdk.json here or above; run it in the repository, as go -C infra run .")
		}
		dir = filepath.Dir(dir)
	}
	return "", err
}
