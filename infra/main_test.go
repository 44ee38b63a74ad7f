package main

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/aws/jsii-runtime-go"
)

// work holds the cloud assemblies of a test run.
var work string

var keep = flag.String("keep", "", "folder to leave the templates of all variants in, for cfn-lint")

func TestMain(m *testing.M) {
	flag.Parse()
	dir, err := os.MkdirTemp("", "company-infra-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if work = *keep; work == "" {
		work = dir
	}
	code := m.Run()
	jsii.Close()
	os.RemoveAll(dir)
	os.Exit(code)
}
