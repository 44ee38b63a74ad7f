//go:build linux && (amd64 || arm64)

package netlock

import (
	"slices"
	"time"
)

func median(d []time.Duration) time.Duration {
	s := slices.Clone(d)
	slices.Sort(s)
	return s[len(s)/2]
}
