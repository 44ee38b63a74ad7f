package main

import (
	"fmt"
	"os"
	"testing"

	"github.com/aws/jsii-runtime-go"
)

// work holds the cloud assemblies of a test run.
var work string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "company-infra-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	work = dir
	code := m.Run()
	jsii.Close()
	os.RemoveAll(dir)
	os.Exit(code)
}
