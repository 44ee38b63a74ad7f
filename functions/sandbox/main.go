// Command sandbox is the container's entry point: the supervisor of one launch. "sandbox lock -- cmd" runs a command that can
// reach nothing but the addresses it is given, for whoever wants to try the lock; the other subcommands are the supervisor's
// own.
package main

import (
	"os"

	"companyos/shared/agent"
	"companyos/shared/netlock"
)

func main() {
	netlock.Main()
	if len(os.Args) > 1 && os.Args[1] == "lock" {
		os.Exit(netlock.RunCLI(os.Args[2:], os.Stdout, os.Stderr))
	}
	os.Exit(agent.Main(os.Args[1:]))
}
