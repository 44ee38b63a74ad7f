package executor

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"
)

// Limits bound one attempt. Each ends it on its own, and the one that did is named in the run.
type Limits struct {
	Start       time.Duration // from the reservation to the sandbox's claim; waiting for a slot counts
	Prepare     time.Duration // from the claim to the agent's start: the checkout
	Run         time.Duration // the agent's work
	Idle        time.Duration // without any output of the agent
	CancelGrace time.Duration // from the cancel to the end of the whole sandbox
	BudgetUSD   float64       // 0: none
	Output      int64         // bytes of each of log, patch and transcript
}

// PlainRunLimit is the longest run without a sandbox: it has to end, and be reported, inside one Lambda invocation of
// 15 minutes.
const PlainRunLimit = 14 * time.Minute

const defaultBudgetUSD = 5

// SandboxLimits are the limits of an executor whose file says nothing. The budget has no default here: it takes a
// model with a price.
func SandboxLimits() Limits {
	return Limits{
		Start:       time.Hour,
		Prepare:     5 * time.Minute,
		Run:         30 * time.Minute,
		Idle:        5 * time.Minute,
		CancelGrace: 30 * time.Second,
		Output:      10 << 20,
	}
}

// PlainLimits are the limits of an executor without a sandbox. It prepares nothing, and its steps may be silent.
func PlainLimits() Limits {
	return Limits{Start: time.Hour, Run: PlainRunLimit, CancelGrace: 30 * time.Second, Output: 10 << 20}
}

const (
	leastOutput = 1 << 10
	mostOutput  = 1 << 30
	mostBudget  = 100_000
)

// ParseDuration reads a length of time such as 30s, 5m or 1h30m: positive, with a unit.
func ParseDuration(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if err != nil || d <= 0 {
		return 0, errors.New("is no length of time; write a number above zero with a unit, such as 30s, 5m or 1h30m")
	}
	return d, nil
}

// ParseSize reads a number of bytes such as 64KiB, 10MiB or 1GiB.
func ParseSize(s string) (int64, error) {
	err := errors.New("is no size; write a whole number above zero with a unit, such as 64KiB, 10MiB or 1GiB")
	for _, unit := range []struct {
		suffix string
		shift  uint
	}{{"KiB", 10}, {"MiB", 20}, {"GiB", 30}, {"B", 0}} {
		digits, ok := strings.CutSuffix(s, unit.suffix)
		if !ok {
			continue
		}
		n, convErr := strconv.ParseUint(digits, 10, 63)
		if convErr != nil || n == 0 || n > math.MaxInt64>>unit.shift {
			return 0, err
		}
		return int64(n) << unit.shift, nil
	}
	return 0, err
}
