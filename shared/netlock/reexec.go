package netlock

import "os"

// Names under which a program that uses the package is started again.
const (
	shimName  = "netlock-shim"
	probeName = "netlock-selftest"
)

// Main must be the first statement of the main function of every program that
// uses the package, and of TestMain in its tests. Started by netlock it does not
// return: the process becomes the command, or the attacker of the self-test.
// Otherwise it does nothing.
func Main() {
	if len(os.Args) == 0 {
		return
	}
	switch os.Args[0] {
	case shimName:
		shim()
	case probeName:
		probe()
	}
}
