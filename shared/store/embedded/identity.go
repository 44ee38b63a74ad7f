package embedded

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// identity is a way to run the server's programs, which refuse uid 0.
type identity struct {
	kind     identityKind
	uid, gid int // of identityOther
}

type identityKind string

const (
	// identitySelf: as this process.
	identitySelf identityKind = "this user"
	// identityNamespace: as uid 0, which in a user namespace of the server's own is called nobody. The files stay uid
	// 0's, so that a folder under a home that only its owner may enter needs nothing special.
	identityNamespace identityKind = "user namespace"
	// identityOther: as another uid, whose data directory becomes its own.
	identityOther identityKind = "other user"
)

// chooseIdentity takes the first way that works here, proven by running a program in it.
func (s *Server) chooseIdentity(ctx context.Context, identities func(data string) ([]identity, error)) error {
	candidates, err := identities(s.data())
	if err != nil {
		return err
	}
	if len(candidates) == 1 && candidates[0].kind == identitySelf {
		s.as = candidates[0] // nothing to prove: the programs were tried when they were unpacked
		return nil
	}
	var tried []string
	for _, c := range candidates {
		s.as = c
		if err = s.run(ctx, "postgres", "-V"); err == nil {
			return nil
		}
		if cause := context.Cause(ctx); cause != nil {
			return cause // nothing is said of the others
		}
		tried = append(tried, fmt.Sprintf("%s: %v", c.kind, err))
	}
	return fmt.Errorf("root cannot drop its privileges here, use a non-root user or COMPANY_DATABASE_URL (%s)", strings.Join(tried, "; "))
}

// own gives files to the uid that runs the server.
func (id identity) own(paths ...string) error {
	if id.kind != identityOther {
		return nil
	}
	for _, p := range paths {
		if err := os.Chown(p, id.uid, id.gid); err != nil {
			return err
		}
	}
	return nil
}

func (id identity) start(c *exec.Cmd) error {
	c.SysProcAttr = id.attributes()
	return startCommand(c)
}
