package metrics

// The kinds of a Metric.
const (
	kindCounter   = "counter"
	kindGauge     = "gauge"
	kindHistogram = "histogram"
)

// Metric describes a figure.
type Metric struct {
	Name, Kind string
	// Labels are the names of its labels.
	Labels []string
	// Help says what it counts.
	Help string
	// Buckets are those of a histogram.
	Buckets []float64
}

// appendBuckets are the times of an append, in seconds: a sync of a fast disk takes a fraction of a millisecond.
var appendBuckets = []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5}

// requestBuckets are the times of a request, in seconds: some wait for half a minute.
var requestBuckets = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}

// The figures of the writer.
var (
	appendTime = &Metric{
		Name:    "maestro_append_duration_seconds",
		Kind:    kindHistogram,
		Buckets: appendBuckets,
		Help:    "how long the log took to append a batch of events, with the sync if --durability is always",
	}
	appendEvents = &Metric{
		Name:    "maestro_append_batch_events",
		Kind:    kindHistogram,
		Buckets: []float64{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000},
		Help:    "how many events the log appended in a batch",
	}
	commandWait = &Metric{
		Name:    "maestro_command_wait_seconds",
		Kind:    kindHistogram,
		Buckets: appendBuckets,
		Help:    "how long a command waited before the writer decided it",
	}
	commandRetries = &Metric{
		Name: "maestro_command_retries_total",
		Kind: kindCounter,
		Help: "commands that were answered from the event of an earlier attempt with the same key",
	}
	commandsWaiting = &Metric{
		Name: "maestro_commands_waiting",
		Kind: kindGauge,
		Help: "commands that wait for the writer",
	}
	commandsInFlight = &Metric{
		Name: "maestro_commands_in_flight",
		Kind: kindGauge,
		Help: "commands whose callers wait for the answer, with those that are being appended",
	}
	projectionLag = &Metric{
		Name:   "maestro_projection_lag_events",
		Kind:   kindGauge,
		Labels: []string{"projection"},
		Help: "how many events a projection is behind: `state`, what reads show, behind the log; `live`, the live " +
			"views, behind the state",
	}
)

// The figures of what is refused.
var (
	refusals = &Metric{
		Name:   "maestro_refusals_total",
		Kind:   kindCounter,
		Labels: []string{"rule", "code"},
		Help: "refusals that were recorded, by the row of the permission table, and by code; `rule` is `unknown` for " +
			"a command that the table does not have",
	}
	limitRefusals = &Metric{
		Name:   "maestro_limit_refusals_total",
		Kind:   kindCounter,
		Labels: []string{"limit"},
		Help:   "calls that were refused because of a limit, by its name in [limits.md](limits.md)",
	}
	unauthenticated = &Metric{
		Name: "maestro_unauthenticated_requests_total",
		Kind: kindCounter,
		Help: "requests, codes of logins and connections of NATS clients without a valid credential",
	}
)

// The figures of those who follow the log.
var (
	streams = &Metric{
		Name:   "maestro_streams",
		Kind:   kindGauge,
		Labels: []string{"kind"},
		Help: "open streams: `live`, readers of the live views; `log`, what follows the log, such as the live views " +
			"themselves",
	}
	streamsDropped = &Metric{
		Name:   "maestro_streams_dropped_total",
		Kind:   kindCounter,
		Labels: []string{"kind"},
		Help: "streams that were cut off: `live`, because the reader did not read; `log`, because the follower was " +
			"too slow",
	}
	streamsReread = &Metric{
		Name: "maestro_streams_reread_total",
		Kind: kindCounter,
		Help: "how often a reader of the live views was so far behind that the server read the log again for it",
	}
)

// The figures of what exists.
var (
	sessions = &Metric{
		Name:   "maestro_sessions",
		Kind:   kindGauge,
		Labels: []string{"status"},
		Help:   "sessions that were not deleted, by status; `lost` is one of any status that was not heard in time",
	}
	queues = &Metric{
		Name: "maestro_queues",
		Kind: kindGauge,
		Help: "queues, with those of sessions",
	}
	queueItems = &Metric{
		Name:   "maestro_queue_items",
		Kind:   kindGauge,
		Labels: []string{"status"},
		Help:   "items of all queues, by status",
	}
	oldestReady = &Metric{
		Name: "maestro_queue_oldest_ready_seconds",
		Kind: kindGauge,
		Help: "how long ago the first item was pushed that could be started now and is not; 0 if there is none",
	}
)

// The figures of webhooks.
var (
	webhooks = &Metric{
		Name:   "maestro_webhooks",
		Kind:   kindGauge,
		Labels: []string{"status"},
		Help: "webhooks: `sending`; `failing`, which is tried again; `parked`, which waits for " +
			"`maestro webhook resume`",
	}
	webhookBehind = &Metric{
		Name: "maestro_webhook_behind_events",
		Kind: kindGauge,
		Help: "how many events of the log the webhook is behind that is furthest behind",
	}
	webhookAttempts = &Metric{
		Name:   "maestro_webhook_attempts_total",
		Kind:   kindCounter,
		Labels: []string{"result"},
		Help:   "how often an event was sent to a webhook and `accepted`, or `failed`",
	}
)

// The figures of the store.
var (
	logBytes = &Metric{
		Name: "maestro_log_bytes",
		Kind: kindGauge,
		Help: "the size of the log, without long texts",
	}
	logEvents = &Metric{
		Name: "maestro_log_events",
		Kind: kindGauge,
		Help: "the number of events in the log",
	}
	textBytes = &Metric{
		Name: "maestro_texts_bytes",
		Kind: kindGauge,
		Help: "the size of the long texts and manifests beside the log",
	}
	refusalBytes = &Metric{
		Name: "maestro_refusals_bytes",
		Kind: kindGauge,
		Help: "the size of the recorded refusals",
	}
	diskBytes = &Metric{
		Name: "maestro_disk_free_bytes",
		Kind: kindGauge,
		Help: "the room on the log's disk that the server's user may fill; it needs 32 MiB to accept writes",
	}
	diskFiles = &Metric{
		Name: "maestro_disk_free_files",
		Kind: kindGauge,
		Help: "how many files can still be made on the log's disk",
	}
)

// The figures of the server as a whole.
var (
	ready = &Metric{
		Name: "maestro_ready",
		Kind: kindGauge,
		Help: "1 while the server accepts writes, 0 otherwise, as /readyz says",
	}
	warnings = &Metric{
		Name:   "maestro_warnings",
		Kind:   kindGauge,
		Labels: []string{"code"},
		Help:   "the warnings of /readyz, by code",
	}
	requests = &Metric{
		Name:   "maestro_http_requests_total",
		Kind:   kindCounter,
		Labels: []string{"method", "route", "status"},
		Help:   "requests, by the pattern of their route in [routes.md](routes.md); `other` if no route has them",
	}
	requestTime = &Metric{
		Name:    "maestro_http_request_duration_seconds",
		Kind:    kindHistogram,
		Labels:  []string{"method", "route"},
		Buckets: requestBuckets,
		Help:    "how long requests took, with what a client asked the server to wait",
	}
	build = &Metric{
		Name:   "maestro_build_info",
		Kind:   kindGauge,
		Labels: []string{"version", "goversion"},
		Help:   "always 1; the labels say which program this is",
	}
	durability = &Metric{
		Name:   "maestro_durability_info",
		Kind:   kindGauge,
		Labels: []string{"mode"},
		Help:   "always 1; `mode` is --durability: when events are acknowledged",
	}
	failures = &Metric{
		Name: "maestro_collect_failures_total",
		Kind: kindCounter,
		Help: "how often figures were left out because they could not be read",
	}
)

// Table returns every figure, in the order of the page that lists them.
func Table() []*Metric {
	return []*Metric{
		appendTime, appendEvents, commandWait, commandRetries, commandsWaiting, commandsInFlight, projectionLag,
		refusals, limitRefusals, unauthenticated, streams, streamsDropped, streamsReread, sessions, queues, queueItems,
		oldestReady, webhooks, webhookBehind, webhookAttempts,
		logBytes, logEvents, textBytes, refusalBytes, diskBytes, diskFiles, ready, warnings, requests,
		requestTime, build, durability, failures,
	}
}
