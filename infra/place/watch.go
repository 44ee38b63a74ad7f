package place

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatchactions"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssns"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssnssubscriptions"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"
)

// namespace of the metrics that are counted from logs.
const namespace = "Company"

// Watch is what tells somebody: alarms on one topic, and a dashboard of the same figures.
type Watch struct {
	scope constructs.Construct
	topic awssns.Topic
	rows  []awscloudwatch.IWidget
}

// NewWatch makes the topic, with a subscriber where an address is given. Metrics' alarms stay below the ten that an
// account has free.
func NewWatch(scope constructs.Construct, email string) *Watch {
	w := &Watch{scope: scope, topic: awssns.NewTopic(scope, jsii.String("alarms"), &awssns.TopicProps{EnforceSSL: jsii.Bool(true)})}
	if email != "" {
		w.topic.AddSubscription(awssnssubscriptions.NewEmailSubscription(jsii.String(email), nil))
	}
	return w
}

// alarm fires when the metric passes the threshold in so many five-minute periods in a row.
func (w *Watch) alarm(id, says string, metric awscloudwatch.Metric, above, periods float64) {
	a := awscloudwatch.NewAlarm(w.scope, jsii.String("alarm-"+id), &awscloudwatch.AlarmProps{
		AlarmDescription: jsii.String(says), Metric: metric, Threshold: jsii.Number(above), EvaluationPeriods: jsii.Number(periods),
		ComparisonOperator: awscloudwatch.ComparisonOperator_GREATER_THAN_THRESHOLD,
		TreatMissingData:   awscloudwatch.TreatMissingData_NOT_BREACHING,
	})
	a.AddAlarmAction(awscloudwatchactions.NewSnsAction(w.topic))
	w.rows = append(w.rows, awscloudwatch.NewGraphWidget(&awscloudwatch.GraphWidgetProps{
		Title: jsii.String(id), Left: &[]awscloudwatch.IMetric{metric}, Width: jsii.Number(8),
	}))
}

func metricOptions(statistic string) *awscloudwatch.MetricOptions {
	return &awscloudwatch.MetricOptions{Period: awscdk.Duration_Minutes(jsii.Number(5)), Statistic: jsii.String(statistic)}
}

// Queue watches dead letters and the age of the oldest message.
func (w *Watch) Queue(name string, q *Queue, oldestSeconds float64) {
	w.alarm(name+"-dead", "Dead letters in "+name+": a message failed every time. Read the function's log, then redrive.",
		q.Dead.MetricApproximateNumberOfMessagesVisible(metricOptions("Maximum")), 0, 1)
	w.alarm(name+"-oldest", "The oldest message in "+name+" waits too long: its function is throttled or fails.",
		q.MetricApproximateAgeOfOldestMessage(metricOptions("Maximum")), oldestSeconds, 1)
}

// Errors watches a function that nobody waits for.
func (w *Watch) Errors(name string, fn *Function, periods float64) {
	w.alarm(name+"-errors", name+" fails. Read its log.", fn.MetricErrors(metricOptions("Sum")), 0, periods)
}

// API watches the answers that are our fault.
func (w *Watch) API(api *API) {
	w.alarm("api-5xx", "The API answers with 5xx: read the api function's log by request_id.",
		awscloudwatch.NewMetric(&awscloudwatch.MetricProps{
			Namespace: jsii.String("AWS/ApiGateway"), MetricName: jsii.String("5xx"), Statistic: jsii.String("Sum"),
			Period: awscdk.Duration_Minutes(jsii.Number(5)), DimensionsMap: &map[string]*string{"ApiId": api.ApiId()},
		}), 4, 1)
}

// Settles watches runs that could not be settled: a line of the functions' logs whose msg is SettleFailed.
func (w *Watch) Settles(functions ...*Function) {
	for _, fn := range functions {
		awslogs.NewMetricFilter(w.scope, jsii.String("settles-"+*fn.Node().Id()), &awslogs.MetricFilterProps{
			LogGroup: fn.LogGroup, MetricNamespace: jsii.String(namespace), MetricName: w.settleMetric(),
			MetricValue:   jsii.String("1"),
			FilterPattern: awslogs.FilterPattern_StringValue(jsii.String("$.msg"), jsii.String("="), jsii.String(SettleFailed)),
		})
	}
	w.alarm("failed-settles", "A run could not be settled: read the log for its run_id.",
		awscloudwatch.NewMetric(&awscloudwatch.MetricProps{
			Namespace: jsii.String(namespace), MetricName: w.settleMetric(), Statistic: jsii.String("Sum"),
			Period: awscdk.Duration_Minutes(jsii.Number(5)),
		}), 0, 1)
}

// SettleFailed is the line that the functions log.
const SettleFailed = "settle failed"

// settleMetric is named after the stack, so that two of them in an account do not count each other's.
func (w *Watch) settleMetric() *string {
	return jsii.String("FailedSettles-" + *awscdk.Stack_Of(w.scope).StackName())
}

// Board draws everything that is watched.
func (w *Watch) Board() {
	board := awscloudwatch.NewDashboard(w.scope, jsii.String("dashboard"), nil)
	for len(w.rows) > 0 {
		n := min(3, len(w.rows))
		board.AddWidgets(w.rows[:n]...)
		w.rows = w.rows[n:]
	}
}
