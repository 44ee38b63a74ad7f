package fargate

import (
	"companyos/shared/executor"
	"companyos/shared/sandbox"
)

// placement is where one launch is tried, and how large.
type placement struct {
	subnets     []string
	cpu, memory int
	spot        bool
}

// place is a launch's placement. Fargate's capacity is that of an availability zone and of a size, so that each launch
// after one without capacity asks for something else: all subnets, where ECS chooses; each one alone; then the next size
// up in all of them, which costs more; then from the beginning. Spot is tried once: ECS does not fall back from it.
func (c Config) place(spec sandbox.Spec) placement {
	p := placement{subnets: c.Subnets, cpu: spec.CPU, memory: spec.Memory}
	n := spec.Launch - 1
	if c.Spot {
		if n == 0 {
			p.spot = true
			return p
		}
		n--
	}
	switch n %= len(c.Subnets) + 2; {
	case n == 0:
	case n <= len(c.Subnets):
		p.subnets = c.Subnets[n-1 : n]
	default:
		if cpu, memory, ok := executor.LargerSize(spec.CPU, spec.Memory); ok {
			p.cpu, p.memory = cpu, memory
		}
	}
	return p
}
