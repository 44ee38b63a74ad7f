// Package netlock runs a command that can open connections to a few loopback
// addresses and to nothing else: no other host or port, no name lookup, no UDP.
// It needs no network namespace, no firewall and no privilege but, where the
// command is to have a user id of its own, CAP_SETUID and CAP_SETGID.
//
// A seccomp filter closes everything but stream sockets and hands socket,
// connect, bind and listen to the process that started the command (the
// supervisor), which makes the sockets and the connections itself, from its own
// copy of each argument. The README of this package has the threat model, what
// the lock does not stop, and where it was tried.
//
// A program that uses the package calls [Main] as the first statement of its
// main function: the command is started through a second execution of the same
// binary.
//
//	func main() {
//		netlock.Main()
//		…
//		cmd := netlock.Command(ctx, netlock.Policy{
//			Allow: []netip.AddrPort{broker},
//			UID:   1000, GID: 1000,
//		}, "claude", "-p", prompt)
//		cmd.Stdout = os.Stdout
//		err := cmd.Run()
//	}
//
// Linux 5.9 or later on amd64 or arm64. Elsewhere the package compiles, and
// every command fails to start with [ErrUnsupported].
package netlock
