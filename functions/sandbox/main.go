// Command sandbox is the container's entry point: the supervisor of one launch. "sandbox fixture" is the harness without a
// model, "sandbox enter PROGRAM…" how the supervisor starts an agent.
package main

import (
	"os"

	"companyos/shared/agent"
	"companyos/shared/netlock"
)

func main() {
	netlock.Main()
	os.Exit(agent.Main(os.Args[1:]))
}
