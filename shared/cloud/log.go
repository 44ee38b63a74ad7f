package cloud

import (
	"context"
	"io"
	"log/slog"
)

// namespace of the metrics.
const namespace = "Company"

// metrics are what is counted, by the log line that says it.
var metrics = map[string]string{
	"a message names an unknown run":     "UnknownRuns",
	"a sandbox that nobody wants":        "OrphanSandboxes",
	"the database is not reachable":      "DatabaseAway",
	"a sandbox was not started":          "FailedLaunches",
	"the launcher did not answer":        "LauncherAway",
	"runs are overdue":                   "OverdueSweeps",
	"a run waits for the artifact store": "ArtifactsAway",
}

// NewLog returns a log of JSON lines. A line that is counted carries its metric in CloudWatch's embedded format
// (docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html), so that
// nothing has to be called for it.
func NewLog(w io.Writer) *slog.Logger {
	return slog.New(counted{slog.NewJSONHandler(w, nil)})
}

type counted struct{ slog.Handler }

func (h counted) Handle(ctx context.Context, r slog.Record) error {
	if name, ok := metrics[r.Message]; ok {
		r = r.Clone()
		r.AddAttrs(slog.Int(name, 1), slog.Any("_aws", embedded(r.Time.UnixMilli(), name)))
	}
	return h.Handler.Handle(ctx, r)
}

func (h counted) WithAttrs(attrs []slog.Attr) slog.Handler {
	return counted{h.Handler.WithAttrs(attrs)}
}

func (h counted) WithGroup(name string) slog.Handler { return counted{h.Handler.WithGroup(name)} }

// metadata is the part of a line that makes it a metric. It has no dimensions: a function's name is its log group's.
type metadata struct {
	Timestamp         int64
	CloudWatchMetrics []directive
}

type directive struct {
	Namespace  string
	Dimensions [][]string
	Metrics    []metric
}

type metric struct{ Name, Unit string }

func embedded(at int64, name string) metadata {
	return metadata{at, []directive{{namespace, [][]string{{}}, []metric{{name, "Count"}}}}}
}
