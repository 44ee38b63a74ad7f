package price

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// Item is one line of a bill.
type Item struct {
	What    string
	Dollars float64
}

// Bill is what something costs.
type Bill []Item

// Total of all items.
func (b Bill) Total() float64 {
	sum := 0.0
	for _, i := range b {
		sum += i.Dollars
	}
	return sum
}

// Idle is a month without a run. Free is what an account has free every month: true for an account that uses it for
// nothing else. secrets are those that the operator makes beside the template.
func (t Template) Idle(secrets int, free bool) Bill {
	polls := float64(len(t.of("AWS::Lambda::EventSourceMapping"))) * idlePolls
	alarms, dashboards := float64(len(t.of("AWS::CloudWatch::Alarm"))), float64(len(t.of("AWS::CloudWatch::Dashboard")))
	if free {
		polls, alarms, dashboards = max(0, polls-freeSQS), max(0, alarms-freeAlarms), max(0, dashboards-freeDashboards)
	}
	bill := Bill{
		{"database: Aurora DSQL asleep, or your own PostgreSQL", 0},
		{fmt.Sprintf("%d secrets", secrets+len(t.of("AWS::SecretsManager::Secret"))), secret * float64(secrets+len(t.of("AWS::SecretsManager::Secret")))},
		{fmt.Sprintf("%.1f GB of image in the registry", imageGB), registry * imageGB},
		{fmt.Sprintf("%.0f polls of queues", polls), polls / 1e6 * sqsMillion},
		{fmt.Sprintf("%.0f alarms", alarms), alarms * alarm},
		{fmt.Sprintf("%.0f dashboards", dashboards), dashboards * dashboard},
		{fmt.Sprintf("%d ticks", hours), hours * (lambdaMillion/1e6 + lambdaSecond*callSeconds/2)},
		{"customer keys", float64(len(t.of("AWS::KMS::Key"))) * customerKey},
		{"NAT gateways", float64(len(t.of("AWS::EC2::NatGateway"))) * natGateway * hours},
		{"interface endpoints", t.endpointZones() * endpoint * hours},
	}
	kept := Bill{}
	for _, i := range bill {
		if i.Dollars > 0 || strings.HasPrefix(i.What, "database") {
			kept = append(kept, i)
		}
	}
	return kept
}

// endpointZones counts the zones of the interface endpoints; each is paid.
func (t Template) endpointZones() float64 {
	zones := 0
	for _, e := range t.of("AWS::EC2::VPCEndpoint") {
		if subnets, ok := e.Properties["SubnetIds"].([]any); ok && e.Properties["VpcEndpointType"] == "Interface" {
			zones += len(subnets)
		}
	}
	return float64(zones)
}

// Attempt is one attempt of this length in a sandbox of the task definition's size. What the model costs comes on top.
func (t Template) Attempt(length time.Duration) (Bill, error) {
	tasks := t.of("AWS::ECS::TaskDefinition")
	if len(tasks) != 1 {
		return nil, fmt.Errorf("the template has %d task definitions, not 1", len(tasks))
	}
	task := tasks[0]
	cpu, memory, second := fargateARMCPU, fargateARMMemory, lambdaSecond
	if platform, ok := task.Properties["RuntimePlatform"].(map[string]any); ok && platform["CpuArchitecture"] == "X86_64" {
		cpu, memory, second = fargateX86CPU, fargateX86Memory, lambdaX86Second
	}
	disk := 0.0
	if storage, ok := task.Properties["EphemeralStorage"].(map[string]any); ok {
		disk = max(0, Resource{Properties: storage}.number("SizeInGiB")-20)
	}
	billed := length.Hours() + startupMinute/60
	bill := Bill{
		{fmt.Sprintf("%.2g vCPU and %.3g GB for %s and %.0f minute of start", task.number("Cpu")/1024, task.number("Memory")/1024, length, startupMinute), billed * (cpu*task.number("Cpu")/1024 + memory*task.number("Memory")/1024)},
		{fmt.Sprintf("%.0f GB of disk above 20", disk), billed * fargateDisk * disk},
		{"public IPv4 address", billed * publicIPv4},
		{fmt.Sprintf("%d calls of functions", attemptCalls), attemptCalls * (lambdaMillion/1e6 + second*callSeconds/2)},
		{fmt.Sprintf("%d units of Aurora DSQL", attemptDPU), attemptDPU * dsqlMillion / 1e6},
		{"log", attemptLogGB * logsGB},
	}
	return bill, nil
}

// Print writes a bill as a table.
func (b Bill) Print(w io.Writer, title string) {
	fmt.Fprintln(w, title)
	for _, i := range b {
		fmt.Fprintf(w, "  %-58s %9.4f\n", i.What, i.Dollars)
	}
	fmt.Fprintf(w, "  %-58s %9.4f\n", "together", b.Total())
}
