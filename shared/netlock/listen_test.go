//go:build linux && (amd64 || arm64)

package netlock

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// TestListenersOfAFullTable: the kernel's table holds the connections of the
// whole machine; reading it takes no memory for those.
func TestListenersOfAFullTable(t *testing.T) {
	var table strings.Builder
	table.WriteString("  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n")
	row := func(n, port int, state string, inode int) {
		fmt.Fprintf(&table, "%4d: 0100007F:%04X 00000000:0000 %s 00000000:00000000 00:00000000 00000000     0        0 %d 1 0000000000000000 100 0 0 10 0\n", n, port, state, inode)
	}
	row(0, 8080, "0A", 41)
	row(1, 8081, "0A", 42)
	for n := range 20_000 {
		row(n+2, 8080, "06", 0)
	}
	row(20_002, 8080, "0A", 43)
	found := map[uint64]struct{}{}
	allocated := testing.AllocsPerRun(1, func() {
		readListeners(strings.NewReader(table.String()), func(port uint16) bool { return port == 8080 }, found)
	})
	if got := slices.Sorted(maps.Keys(found)); !slices.Equal(got, []uint64{41, 43}) || allocated > 100 {
		t.Errorf("listeners %v, %v allocations", got, allocated)
	}
}
