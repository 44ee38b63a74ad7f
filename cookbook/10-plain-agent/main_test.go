package main

import (
	"testing"

	"companyos/cookbook/cookbooktest"
)

func TestOutput(t *testing.T) {
	t.Parallel()
	cookbooktest.Run(t)
}
