package metrics

import (
	"log/slog"
	"net/http"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// scrapesMost is how many scrapes are answered at the same time: each looks at the state and at the disk.
const scrapesMost = 2

// closing is how long Close waits: a stop takes at most a second in all.
const closing = 200 * time.Millisecond

// Metrics are the figures of one server. It implements engine.Meter and api.Meter, and is safe for concurrent use.
type Metrics struct {
	registry *prometheus.Registry
	handler  http.Handler

	appendTime, appendEvents, wait prometheus.Histogram
	retries                        prometheus.Counter
	requests                       *prometheus.CounterVec
	requestTime                    *prometheus.HistogramVec
	failures                       atomic.Uint64
	// looks are those in progress at sources that may hang.
	looks sync.WaitGroup
}

// New returns the figures of a server of a version. They lack what Watch adds.
func New(version string, logger *slog.Logger) *Metrics {
	m := &Metrics{
		registry:     prometheus.NewRegistry(),
		appendTime:   prometheus.NewHistogram(appendTime.histogram()),
		appendEvents: prometheus.NewHistogram(appendEvents.histogram()),
		wait:         prometheus.NewHistogram(commandWait.histogram()),
		retries: prometheus.NewCounter(
			prometheus.CounterOpts{Name: commandRetries.Name, Help: commandRetries.Help}),
		requests: prometheus.NewCounterVec(
			prometheus.CounterOpts{Name: requests.Name, Help: requests.Help}, requests.Labels),
		requestTime: prometheus.NewHistogramVec(requestTime.histogram(), requestTime.Labels),
	}
	built := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: build.Name, Help: build.Help}, build.Labels)
	built.WithLabelValues(version, runtime.Version()).Set(1)
	m.registry.MustRegister(m.appendTime, m.appendEvents, m.wait, m.retries, m.requests,
		m.requestTime, built, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.handler = promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		ErrorLog:            slog.NewLogLogger(logger.Handler(), slog.LevelWarn),
		ErrorHandling:       promhttp.ContinueOnError, // one figure that cannot be read does not hide the others
		MaxRequestsInFlight: scrapesMost,
	})
	return m
}

func (m *Metric) histogram() prometheus.HistogramOpts {
	return prometheus.HistogramOpts{Name: m.Name, Help: m.Help, Buckets: m.Buckets}
}

// Close waits for the looks in progress, but not for a source that hangs. Nobody may scrape any more.
func (m *Metrics) Close() {
	done := make(chan struct{})
	go func() { m.looks.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(closing):
	}
}

// ServeHTTP shows the figures.
func (m *Metrics) ServeHTTP(w http.ResponseWriter, r *http.Request) { m.handler.ServeHTTP(w, r) }

// Appended implements engine.Meter.
func (m *Metrics) Appended(events int, took time.Duration) {
	m.appendTime.Observe(took.Seconds())
	m.appendEvents.Observe(float64(events))
}

// Waited implements engine.Meter.
func (m *Metrics) Waited(wait time.Duration) { m.wait.Observe(wait.Seconds()) }

// Retried implements engine.Meter.
func (m *Metrics) Retried() { m.retries.Inc() }

// Served implements api.Meter. The caller lists the methods and routes: they are labels.
func (m *Metrics) Served(method, route string, status int, took time.Duration) {
	m.requests.WithLabelValues(method, route, strconv.Itoa(status)).Inc()
	m.requestTime.WithLabelValues(method, route).Observe(took.Seconds())
}
