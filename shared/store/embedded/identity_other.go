//go:build !linux

package embedded

import (
	"errors"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

func identities(string) ([]identity, error) {
	if os.Geteuid() == 0 {
		return nil, errors.New("PostgreSQL does not run as root, use a non-root user or COMPANY_DATABASE_URL")
	}
	return []identity{{kind: identitySelf}}, nil
}

func (id identity) attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

func startCommand(c *exec.Cmd) error { return c.Start() }

func bootID() string {
	id, err := unix.Sysctl("kern.bootsessionuuid")
	if err != nil {
		return ""
	}
	return id
}
