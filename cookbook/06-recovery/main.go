// Command 06-recovery kills a Company at each point of an automatic attempt and starts it again after the policy that
// allowed it was taken away: what was reserved is settled first, and nothing new is begun.
//
//	go run ./cookbook/06-recovery
package main

import (
	"context"
	"flag"
	"io"

	"companyos/cookbook/example"
)

func main() {
	example.Main("recovery", func(ctx context.Context, log io.Writer) error {
		if flag.NArg() == 2 && flag.Arg(0) == "serve" {
			return serve(ctx, flag.Arg(1), log)
		}
		return story(ctx)
	})
}
