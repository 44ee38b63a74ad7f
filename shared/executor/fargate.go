package executor

import (
	"fmt"
	"strings"
)

// Sizes of a sandbox where the file is silent.
const (
	defaultCPU    = 1024
	defaultMemory = 2048
	leastDisk     = 21 // GiB, what Fargate takes; its own 20 cannot be asked for
	mostDisk      = 200
)

// memoryRange is the memory that Fargate offers beside one CPU size, in MiB.
type memoryRange struct{ cpu, least, most, step int }

// fargateSizes: docs.aws.amazon.com/AmazonECS/latest/developerguide/task-cpu-memory-error.html. 256 has 512, 1024 and
// 2048, which is no arithmetic row; fits has the exception.
var fargateSizes = []memoryRange{
	{256, 512, 2048, 512},
	{512, 1024, 4096, 1024},
	{1024, 2048, 8192, 1024},
	{2048, 4096, 16384, 1024},
	{4096, 8192, 30720, 1024},
	{8192, 16384, 61440, 4096},
	{16384, 32768, 122880, 8192},
}

func (r memoryRange) fits(memory int) bool {
	if r.cpu == 256 && memory == 1536 {
		return false
	}
	return memory >= r.least && memory <= r.most && (memory-r.least)%r.step == 0
}

func (r memoryRange) String() string {
	if r.cpu == 256 {
		return "512, 1024 or 2048"
	}
	return fmt.Sprintf("%d to %d in steps of %d", r.least, r.most, r.step)
}

// fargateSize completes a pair of which either may be 0 for "not given", and says what is wrong with it: one vCPU and
// 2 GiB, or the nearest that goes with the one that was given.
func fargateSize(cpu, memory int) (int, int, error) {
	if cpu == 0 {
		cpu = cpuFor(memory)
	}
	for _, r := range fargateSizes {
		if r.cpu != cpu {
			continue
		}
		if memory == 0 {
			memory = max(r.least, min(defaultMemory, r.most))
		}
		if !r.fits(memory) {
			return 0, 0, fmt.Errorf("Fargate has no cpu %d with memory %d; cpu %d goes with memory %s", cpu, memory, cpu, r)
		}
		return cpu, memory, nil
	}
	sizes := make([]string, len(fargateSizes))
	for i, r := range fargateSizes {
		sizes[i] = fmt.Sprint(r.cpu)
	}
	return 0, 0, fmt.Errorf("Fargate has no cpu %d; take one of %s", cpu, strings.Join(sizes, ", "))
}

// cpuFor is the default CPU where it goes with this memory, else the smallest that does.
func cpuFor(memory int) int {
	smallest := 0
	for _, r := range fargateSizes {
		if !r.fits(memory) {
			continue
		}
		if r.cpu == defaultCPU {
			return defaultCPU
		}
		if smallest == 0 {
			smallest = r.cpu
		}
	}
	if smallest == 0 {
		return defaultCPU
	}
	return smallest
}

// LargerSize is the next CPU size up with at least this memory; ok is false where Fargate has none.
func LargerSize(cpu, memory int) (largerCPU, largerMemory int, ok bool) {
	for _, r := range fargateSizes {
		if r.cpu <= cpu || r.most < memory {
			continue
		}
		for m := r.least; m <= r.most; m += r.step {
			if m >= memory && r.fits(m) {
				return r.cpu, m, true
			}
		}
	}
	return 0, 0, false
}
