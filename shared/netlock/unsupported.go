//go:build !linux || (!amd64 && !arm64)

package netlock

import (
	"context"
	"syscall"
)

type lock struct{}

func (*lock) close() {}

func (c *Cmd) start() error { return ErrUnsupported }

func (c *Cmd) asChild(f func() error) error { return f() }

func validateAttr(*syscall.SysProcAttr) error { return nil }

func leadsGroup(a *syscall.SysProcAttr) bool {
	return a != nil && (a.Setsid || a.Setpgid && a.Pgid == 0)
}

func catchSignals() func(*Cmd) func() { return func(*Cmd) func() { return func() {} } }

func adoptOrphans() {}

func shim() {}

func probe() {}

// SelfTest returns ErrUnsupported.
func SelfTest(context.Context, Policy) (Report, error) { return Report{}, ErrUnsupported }
