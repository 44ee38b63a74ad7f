package executor_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"companyos/shared/executor"
)

func TestParseDuration(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]time.Duration{
		"30s": 30 * time.Second, "5m": 5 * time.Minute, "1h30m": 90 * time.Minute, "500ms": 500 * time.Millisecond, "1.5h": 90 * time.Minute,
	} {
		if got, err := executor.ParseDuration(s); err != nil || got != want {
			t.Errorf("%q: got %v, %v; want %v", s, got, err, want)
		}
	}
	for _, s := range []string{"", "30", "0s", "-1s", "1d", "5 m", "m", "1h ", "99999999999h", "nan"} {
		if got, err := executor.ParseDuration(s); err == nil || got != 0 {
			t.Errorf("%q: got %v, %v; want an error", s, got, err)
		}
	}
}

func TestParseSize(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]int64{
		"1B": 1, "64KiB": 64 << 10, "10MiB": 10 << 20, "1GiB": 1 << 30, "8589934591GiB": 8589934591 << 30,
		"9223372036854775807B": math.MaxInt64,
	} {
		if got, err := executor.ParseSize(s); err != nil || got != want {
			t.Errorf("%q: got %d, %v; want %d", s, got, err, want)
		}
	}
	for _, s := range []string{
		"", "10", "0MiB", "-1MiB", "+1MiB", "1.5MiB", "10 MiB", "10MB", "10M", "10mib", "MiB", "B", "1TiB", "8589934592GiB", "9223372036854775808B", "0x10B", "1_0B",
	} {
		if got, err := executor.ParseSize(s); err == nil || got != 0 {
			t.Errorf("%q: got %d, %v; want an error", s, got, err)
		}
	}
}

// TestFargatePairs goes through every pair on a grid that is finer than Fargate's and compares with its published table.
func TestFargatePairs(t *testing.T) {
	t.Parallel()
	published := map[int][]int{
		256: {512, 1024, 2048}, 512: row(1024, 4096, 1024), 1024: row(2048, 8192, 1024), 2048: row(4096, 16384, 1024),
		4096: row(8192, 30720, 1024), 8192: row(16384, 61440, 4096), 16384: row(32768, 122880, 8192),
	}
	pairs := map[[2]int]bool{}
	for cpu, memories := range published {
		for _, memory := range memories {
			pairs[[2]int{cpu, memory}] = true
		}
	}
	accepted := 0
	for _, cpu := range []int{128, 256, 512, 768, 1024, 1536, 2048, 4096, 8192, 16384, 32768} {
		for memory := 256; memory <= 131072; memory += 256 {
			_, err := executor.Parse([]byte(agent(fmt.Sprintf("sandbox: {cpu: %d, memory: %d}", cpu, memory))), executor.Options{})
			if (err == nil) != pairs[[2]int{cpu, memory}] {
				t.Fatalf("cpu %d, memory %d: %v", cpu, memory, err)
			}
			if err == nil {
				accepted++
			}
		}
	}
	if accepted != len(pairs) {
		t.Errorf("accepted %d pairs of %d", accepted, len(pairs))
	}
}

func row(least, most, step int) (all []int) {
	for m := least; m <= most; m += step {
		all = append(all, m)
	}
	return all
}

func TestSizeDefaults(t *testing.T) {
	t.Parallel()
	for given, want := range map[string][2]int{
		"":              {1024, 2048},
		"cpu: 256":      {256, 2048},
		"cpu: 512":      {512, 2048},
		"cpu: 1024":     {1024, 2048},
		"cpu: 2048":     {2048, 4096},
		"cpu: 16384":    {16384, 32768},
		"memory: 512":   {256, 512},
		"memory: 1024":  {256, 1024},
		"memory: 2048":  {1024, 2048},
		"memory: 8192":  {1024, 8192},
		"memory: 16384": {2048, 16384},
		"memory: 61440": {8192, 61440},
	} {
		r, err := executor.Parse([]byte(agent("sandbox: {"+given+"}")), executor.Options{})
		if err != nil {
			t.Errorf("%q: %v", given, err)
			continue
		}
		e, _ := r.Agent("a")
		if got := [2]int{e.Sandbox.CPU, e.Sandbox.Memory}; got != want {
			t.Errorf("%q: got %v, want %v", given, got, want)
		}
	}
}

func TestLargerSize(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		cpu, memory, largerCPU, largerMemory int
		ok                                   bool
	}{
		{256, 512, 512, 1024, true},
		{256, 2048, 512, 2048, true},
		{1024, 2048, 2048, 4096, true},
		{4096, 30720, 8192, 32768, true},
		{8192, 61440, 16384, 65536, true},
		{16384, 32768, 0, 0, false},
	} {
		cpu, memory, ok := executor.LargerSize(tt.cpu, tt.memory)
		if cpu != tt.largerCPU || memory != tt.largerMemory || ok != tt.ok {
			t.Errorf("LargerSize(%d, %d) = %d, %d, %v", tt.cpu, tt.memory, cpu, memory, ok)
		}
	}
}
