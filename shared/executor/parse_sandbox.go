package executor

import (
	"fmt"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

var (
	secretName = regexp.MustCompile(`\A[A-Za-z_][A-Za-z0-9_]*\z`)
	egressName = regexp.MustCompile(`\A(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\z`)
)

// The lengths of a host name and of its parts (RFC 1035). They are counted apart from the pattern: a pattern that counts
// is a hundred times as large, and is made at the start of every function.
const mostHostName, mostLabel = 253, 63

// sandbox reads the sandbox of an agent; a key without a value is a sandbox of the default size.
func (p *parser) sandbox(n *yaml.Node, what string, e Executor) (*Sandbox, Limits) {
	f := fields{at: n}
	if !isNull(n) {
		var ok bool
		if f, ok = p.mapping(n, "sandbox of "+what, "cpu", "memory", "disk", "secrets", "egress", "company", "limits"); !ok {
			return nil, Limits{}
		}
	}
	s := &Sandbox{}
	p.size(f, what, s)
	for _, it := range p.distinct(f.values["secrets"], "secrets of "+what) {
		if !secretName.MatchString(it.text) {
			p.fail(it.at, "use letters, digits and _, not beginning with a digit; the value belongs in the secret store", "a secret of %s is not a name", what)
			continue
		}
		s.Secrets = append(s.Secrets, it.text)
	}
	for _, it := range p.distinct(f.values["egress"], "egress of "+what) {
		if err := validateEgress(it.text); err != nil {
			p.fail(it.at, "write a public host name in lower case, such as registry.npmjs.org, with :port where it is not 443", "egress host %q of %s %s", it.text, what, err)
			continue
		}
		s.Egress = append(s.Egress, it.text)
	}
	s.Company = p.boolean(f.values["company"], "company of "+what)
	return s, p.limits(f.values["limits"], what, e)
}

// boolean reads true or false; a missing key is false.
func (p *parser) boolean(n *yaml.Node, what string) (value bool) {
	if n != nil && (n.Kind != yaml.ScalarNode || n.Tag != "!!bool" || n.Decode(&value) != nil) {
		p.fail(n, "write true or false, or remove the key for false", "%s is neither true nor false", what)
	}
	return value
}

func (p *parser) size(f fields, what string, s *Sandbox) {
	cpu, cpuOK := p.integer(f.values["cpu"], "cpu of "+what)
	memory, memoryOK := p.integer(f.values["memory"], "memory of "+what)
	given := cpuOK && memoryOK
	for _, key := range []string{"cpu", "memory"} {
		if n := f.values[key]; n != nil && given && (key == "cpu" && cpu <= 0 || key == "memory" && memory <= 0) {
			p.fail(n, "give a size above zero or remove the key", "%s of %s is not above zero", key, what)
			given = false
		}
	}
	if given {
		var err error
		if s.CPU, s.Memory, err = fargateSize(cpu, memory); err != nil {
			at := f.values["cpu"]
			if at == nil {
				at = f.values["memory"]
			}
			rule, remedy, _ := strings.Cut(err.Error(), "; ")
			p.fail(at, remedy, "sandbox of %s: %s", what, rule)
		}
	}
	disk, ok := p.integer(f.values["disk"], "disk of "+what)
	switch {
	case f.values["disk"] == nil:
		s.Disk = leastDisk
	case ok && (disk < leastDisk || disk > mostDisk):
		p.fail(f.values["disk"], fmt.Sprintf("give %d to %d, or remove the key for %d", leastDisk, mostDisk, leastDisk), "disk of %s is %d GiB, which Fargate does not have", what, disk)
	default:
		s.Disk = disk
	}
}

// validateEgress accepts a public DNS name. An address, the metadata service's among them, or a name of a private
// network is nothing that an agent is let through to.
func validateEgress(host string) error {
	name, port, hasPort := strings.Cut(host, ":")
	if hasPort {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return fmt.Errorf("has no port after its colon")
		}
	}
	if _, err := netip.ParseAddr(name); err == nil {
		return fmt.Errorf("is an address")
	}
	if !egressName.MatchString(name) || len(name) > mostHostName {
		return fmt.Errorf("is not a host name")
	}
	for label := range strings.SplitSeq(name, ".") {
		if len(label) > mostLabel {
			return fmt.Errorf("is not a host name")
		}
	}
	for _, private := range []string{".localhost", ".local", ".internal"} {
		if strings.HasSuffix(name, private) {
			return fmt.Errorf("is a name of a private network")
		}
	}
	return nil
}

// limits reads the limits of a sandboxed agent. A model without a price has no budget unless the file asks for one,
// which is a problem then: it could not be kept.
func (p *parser) limits(n *yaml.Node, what string, e Executor) Limits {
	l := SandboxLimits()
	_, priced := p.Prices[e.Model]
	if priced {
		l.BudgetUSD = defaultBudgetUSD
	}
	if n == nil || isNull(n) {
		return l
	}
	f, ok := p.mapping(n, "limits of "+what, "start", "prepare", "run", "idle", "cancel_grace", "budget_usd", "output")
	if !ok {
		return l
	}
	for _, limit := range []struct {
		key   string
		value *time.Duration
		most  time.Duration
	}{
		{"start", &l.Start, 24 * time.Hour}, // a launch's client token is good for that long
		{"prepare", &l.Prepare, time.Hour},
		{"run", &l.Run, 24 * time.Hour},
		{"idle", &l.Idle, 24 * time.Hour},
		{"cancel_grace", &l.CancelGrace, 10 * time.Minute},
	} {
		p.duration(f.values[limit.key], "limits."+limit.key+" of "+what, limit.value, limit.most)
	}
	p.output(f.values["output"], "limits.output of "+what, &l.Output)
	if at := f.values["budget_usd"]; at != nil {
		l.BudgetUSD = p.budget(at, what, e.Model, priced)
	}
	return l
}

func (p *parser) duration(n *yaml.Node, what string, value *time.Duration, most time.Duration) {
	if n == nil {
		return
	}
	d, err := ParseDuration(n.Value)
	rule, remedy, _ := strings.Cut(fmt.Sprint(err), "; ")
	switch {
	case n.Kind != yaml.ScalarNode || err != nil:
		if n.Kind != yaml.ScalarNode {
			rule, remedy = "is no length of time", "write one such as 30s, 5m or 1h30m"
		}
		p.fail(n, remedy, "%s %s", what, rule)
	case d < time.Second || d > most:
		p.fail(n, fmt.Sprintf("give 1s to %s", short(most)), "%s is out of bounds", what)
	default:
		*value = d
	}
}

// short writes 24h instead of 24h0m0s.
func short(d time.Duration) string {
	return strings.NewReplacer("h0m0s", "h", "m0s", "m").Replace(d.String())
}

func (p *parser) output(n *yaml.Node, what string, value *int64) {
	if n == nil {
		return
	}
	size, err := ParseSize(n.Value)
	if err == nil && size >= leastOutput && size <= mostOutput {
		*value = size
		return
	}
	if err == nil {
		p.fail(n, "give 1KiB to 1GiB", "%s is out of bounds", what)
		return
	}
	rule, remedy, _ := strings.Cut(err.Error(), "; ")
	p.fail(n, remedy, "%s %s", what, rule)
}

// usd reads the amount of a budget, 0 for one that was reported.
func (p *parser) usd(n *yaml.Node, what string) float64 {
	usd, ok := p.amount(n, "limits.budget_usd of "+what)
	if !ok {
		return 0
	}
	if usd == 0 || usd > mostBudget {
		p.fail(n, fmt.Sprintf("give an amount above 0 and up to %d, or remove the key", mostBudget), "limits.budget_usd of %s is out of bounds", what)
		return 0
	}
	return usd
}

const noPriceRemedy = "add the model's prices to the file that -prices or COMPANY_PRICES names, or remove the budget"

// budget reads the budget of an agent, which takes a model with a price.
func (p *parser) budget(n *yaml.Node, what, model string, priced bool) float64 {
	usd := p.usd(n, what)
	switch {
	case usd == 0:
	case model == "":
		p.fail(n, "name a model that prices.yaml knows, or remove the budget", "%s has a budget and no model", what)
	case !priced:
		p.fail(n, noPriceRemedy, "%s has a budget and prices.yaml has no price for model %q", what, model)
	}
	return usd
}

// plainLimits reads the limits of what runs without a sandbox, and where its budget stands, nil for none.
func (p *parser) plainLimits(n *yaml.Node, what string) (Limits, *yaml.Node) {
	l := PlainLimits()
	if n == nil || isNull(n) {
		return l, nil
	}
	f, ok := p.mapping(n, "limits of "+what, "run", "budget_usd", "output")
	if !ok {
		return l, nil
	}
	p.duration(f.values["run"], "limits.run of "+what, &l.Run, PlainRunLimit)
	p.output(f.values["output"], "limits.output of "+what, &l.Output)
	return l, f.values["budget_usd"]
}
