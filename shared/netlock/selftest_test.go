//go:build linux && (amd64 || arm64)

package netlock

import (
	"net/netip"
	"os"
	"testing"
)

// testUser is a user id that nothing else on a machine has.
const testUser = 60934 // nobody else uses it: not a person, nor the user of a sandbox

// testPolicy is a policy for whoever runs the tests: root starts commands as
// another user, everybody else shares theirs and needs Landlock.
func testPolicy(t testing.TB, allow ...netip.AddrPort) Policy {
	t.Helper()
	p := Policy{Allow: allow}
	if os.Geteuid() == 0 {
		p.UID, p.GID = testUser, testUser
		return p
	}
	if landlockVersion() == 0 {
		t.Fatal("these tests run as root, or on a kernel with Landlock: the lock does not hold otherwise")
	}
	p.ReadOnly = []string{"/"}
	p.ReadWrite = []string{"/dev/null"}
	return p
}

func TestSelfTest(t *testing.T) {
	for name, change := range map[string]func(*Policy){
		"plain":   func(*Policy) {},
		"listen":  func(p *Policy) { p.Listen = true },
		"netlink": func(p *Policy) { p.Netlink = true },
	} {
		t.Run(name, func(t *testing.T) {
			p := testPolicy(t, netip.MustParseAddrPort("127.0.0.1:9"))
			change(&p)
			r, err := SelfTest(t.Context(), p)
			if err != nil {
				t.Fatal(err)
			}
			t.Log(r)
			for _, c := range r.Checks {
				t.Logf("%t %s: %s", c.OK, c.Name, c.Detail)
			}
			if !r.Held() || len(r.Checks) < 110 {
				t.Errorf("%d checks, %d leaks; failed: %v", len(r.Checks), r.Leaks, r.Failed())
			}
		})
	}
}

// What old kernels cannot keep is no hole; on later ones nothing may be lost.
func TestLosable(t *testing.T) {
	t.Parallel()
	for release, want := range map[string]int{"5.10.0-32-cloud-amd64": 6, "5.13.19": 6, "5.14.0": 0, "6.1.0-13": 0, "4.19.0": 6, "": 0, "six": 0} {
		if got := losable(release, 50); got != want {
			t.Errorf("%q: %d of 50", release, got)
		}
	}
}
