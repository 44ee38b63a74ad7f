//go:build linux && (amd64 || arm64)

package netlock

import (
	"errors"
	"fmt"
	"os"

	"github.com/landlock-lsm/go-landlock/landlock"
	llsys "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// landlockSignals is the first Landlock version that keeps the command from
// signalling processes outside (Linux 6.12).
const landlockSignals = 6

// landlockVersion is 0 where the kernel has none.
func landlockVersion() int {
	v, err := llsys.LandlockGetABIVersion()
	if err != nil {
		return 0
	}
	return v
}

// restrictPaths puts Landlock on the calling thread, which must be locked and
// exec: the paths, no tracing of processes outside and, where the kernel can,
// no signals and no abstract unix sockets to them. TCP is left to the filter:
// Landlock's rule names a port, not an address.
func restrictPaths(readWrite, readOnly []string) error {
	version := landlockVersion()
	if version < 1 {
		return errors.New("this kernel or container does not offer it")
	}
	// Exactly what this kernel knows, and no "best effort": that is to do
	// nothing when a rule asks for more than the kernel has.
	cfg := landlock.V1
	for v, c := range map[int]landlock.Config{2: landlock.V2, 3: landlock.V3, 5: landlock.V5, landlockSignals: landlock.V6} {
		if v <= version {
			cfg.HandledAccessFS |= c.HandledAccessFS
			cfg.Scoped |= c.Scoped
		}
	}
	var rules []landlock.Rule
	for _, p := range readOnly {
		r, err := pathRule(p, landlock.ROFiles, landlock.RODirs)
		if err != nil {
			return err
		}
		rules = append(rules, r)
	}
	for _, p := range readWrite {
		r, err := pathRule(p, landlock.RWFiles, func(d ...string) landlock.FSRule {
			if version >= 2 {
				return landlock.RWDirs(d...).WithRefer()
			}
			return landlock.RWDirs(d...)
		})
		if err != nil {
			return err
		}
		if version >= 5 {
			r = r.WithIoctlDev()
		}
		rules = append(rules, r)
	}
	fd, flags, err := cfg.NewRulesetFD(rules...)
	if err != nil {
		return err
	}
	if fd < 0 {
		return errors.New("nothing to restrict")
	}
	defer unix.Close(fd)
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	return llsys.LandlockRestrictSelf(fd, flags)
}

func pathRule(path string, file, dir func(...string) landlock.FSRule) (landlock.FSRule, error) {
	fi, err := os.Stat(path)
	if err != nil {
		return landlock.FSRule{}, fmt.Errorf("%s: %w", path, err)
	}
	if fi.IsDir() {
		return dir(path), nil
	}
	return file(path), nil
}
