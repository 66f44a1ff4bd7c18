package metrics

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"maestro/bus"
	"maestro/engine"
	"maestro/projections"
	"maestro/service"
	"maestro/service/wire"
)

// within bounds how long a scrape may take: a disk that hangs must not hold it. What was not seen by then is left out.
const within = 5 * time.Second

// Sources are what is looked at when the figures are read.
type Sources struct {
	Handler *engine.Handler
	Denials *engine.Denials
	Service *service.Service
	// Sizes returns what the store holds, Free the room on its disk.
	Sizes func(ctx context.Context) (bus.Sizes, error)
	Free  func() (bytes uint64, known bool, files uint64, knownFiles bool)
	// Health returns why the server accepts no writes, or nil, and Warnings what /readyz warns of besides the
	// clock; Warnings may be nil.
	Health   func() error
	Warnings func() []wire.Warning
	Now      func() time.Time
	// Durability is --durability; "" if nothing is written.
	Durability string
}

// Watch adds the figures of a server's parts.
func (m *Metrics) Watch(sources Sources) {
	c := &collector{Sources: sources, metrics: m, descs: map[*Metric]*prometheus.Desc{}}
	c.sizes = look[bus.Sizes]{get: sources.Sizes, open: &m.looks}
	c.free = look[room]{get: sources.room, open: &m.looks}
	c.health = look[error]{get: func(context.Context) (error, error) { return sources.Health(), nil }, open: &m.looks}
	c.warned = look[[]wire.Warning]{get: sources.warned, open: &m.looks}
	for _, metric := range []*Metric{
		commandsWaiting, commandsInFlight, projectionLag, refusals, limitRefusals, unauthenticated, streams,
		streamsDropped, streamsReread, sessions, queues, queueItems, oldestReady, logBytes, logEvents, textBytes,
		refusalBytes, diskBytes, diskFiles, ready, warnings, durability, failures,
		webhooks, webhookBehind, webhookAttempts,
	} {
		c.descs[metric] = prometheus.NewDesc(metric.Name, metric.Help, metric.Labels, nil)
	}
	m.registry.MustRegister(c)
}

// collector reads the figures that need no counter of their own.
type collector struct {
	Sources

	metrics *Metrics
	descs   map[*Metric]*prometheus.Desc
	// These may look at a disk that hangs.
	sizes  look[bus.Sizes]
	free   look[room]
	health look[error]
	warned look[[]wire.Warning]
}

// room is the room on the store's disk.
type room struct {
	bytes, files           uint64
	knownBytes, knownFiles bool
}

func (s Sources) room(context.Context) (r room, err error) {
	r.bytes, r.knownBytes, r.files, r.knownFiles = s.Free()
	return r, nil
}

func (s Sources) warned(context.Context) ([]wire.Warning, error) {
	if s.Warnings == nil {
		return nil, nil
	}
	return s.Warnings(), nil
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(to chan<- *prometheus.Desc) {
	for _, desc := range c.descs {
		to <- desc
	}
}

// shown is a scrape that is being answered.
type shown struct {
	*collector

	to chan<- prometheus.Metric
}

// set shows a figure.
func (s shown) set(m *Metric, value float64, labels ...string) {
	kind := prometheus.GaugeValue
	if m.Kind == kindCounter {
		kind = prometheus.CounterValue
	}
	s.to <- prometheus.MustNewConstMetric(s.descs[m], kind, value, labels...)
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(to chan<- prometheus.Metric) {
	s := shown{c, to}
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	sizes, free, health, warned := c.sizes.start(), c.free.start(), c.health.start(), c.warned.start()
	s.writer()
	s.state(ctx)
	s.webhooks(ctx)
	s.refused()
	s.store(sizes.wait(ctx))
	s.disk(free.wait(ctx))
	if refuses, err := health.wait(ctx); refuses == nil && err == nil {
		s.set(ready, 1)
	} else {
		s.set(ready, 0)
	}
	s.warnings(warned.wait(ctx))
	if c.Durability != "" {
		s.set(durability, 1, c.Durability)
	}
	s.set(failures, float64(c.metrics.failures.Load()))
}

// warnings counts what /readyz warns of.
func (s shown) warnings(others []wire.Warning, err error) {
	if err != nil {
		s.metrics.failures.Add(1)
	}
	counted := map[string]int{}
	if clock := s.Service.Clock; clock != nil && clock.Status().Warning != "" {
		counted[wire.CodeClock]++
	}
	for _, w := range others {
		counted[w.Code]++
	}
	for code, n := range counted {
		s.set(warnings, float64(n), code)
	}
}

// store shows the sizes of the store, and how far the state is behind it.
func (s shown) store(sizes bus.Sizes, err error) {
	if err != nil {
		s.metrics.failures.Add(1)
	} else {
		s.set(logBytes, float64(sizes.Log))
		s.set(textBytes, float64(sizes.Texts))
		s.set(refusalBytes, float64(sizes.Refusals))
		if sizes.Head > 0 { // otherwise the store is read without a server
			var head uint64
			s.Handler.View(func(state *projections.State) { head = state.Head().Sequence })
			s.set(logEvents, float64(sizes.Events))
			s.set(projectionLag, float64(sizes.Head-min(head, sizes.Head)), "state")
		}
	}
}

// disk shows the room on the store's disk.
func (s shown) disk(free room, err error) {
	if err != nil {
		s.metrics.failures.Add(1)
	}
	if free.knownBytes {
		s.set(diskBytes, float64(free.bytes))
	}
	if free.knownFiles {
		s.set(diskFiles, float64(free.files))
	}
}

// writer shows how busy the writer is, and who follows it.
func (s shown) writer() {
	load, views := s.Handler.Load(), s.Service.Load()
	s.set(commandsWaiting, float64(load.Waiting))
	s.set(commandsInFlight, float64(load.InFlight))
	s.set(projectionLag, float64(views.Lag), "live")
	s.set(streams, float64(load.Followers), "log")
	s.set(streams, float64(views.Readers), "live")
	s.set(streamsDropped, float64(load.Dropped), "log")
	s.set(streamsDropped, float64(views.Unread), "live")
	s.set(streamsReread, float64(views.Rereads))
}

// state shows what exists.
func (s shown) state(ctx context.Context) {
	var tally projections.Tally
	_, err := s.Handler.Read(ctx, func(state *projections.State) error {
		tally = state.Tally()
		return nil
	})
	if err != nil {
		s.metrics.failures.Add(1)
		return
	}
	for i, n := range tally.Sessions {
		s.set(sessions, float64(n), string(projections.SessionState(i)))
	}
	s.set(sessions, float64(tally.Lost), "lost")
	s.set(queues, float64(tally.Queues))
	for _, x := range []struct {
		status string
		n      int
	}{
		{"queued", tally.Items.Queued},
		{"processing", tally.Items.Processing},
		{"completed", tally.Items.Completed},
		{"failed", tally.Items.Failed},
		{"skipped", tally.Items.Skipped},
		{"quarantined", tally.Items.Quarantined},
	} {
		s.set(queueItems, float64(x.n), x.status)
	}
	at, err := s.Handler.OldestReady(ctx)
	var wait time.Duration
	if at > 0 {
		wait = max(s.Now().Sub(time.UnixMilli(at)), 0)
	}
	if err == nil {
		s.set(oldestReady, wait.Seconds())
	} else {
		s.metrics.failures.Add(1)
	}
}

// webhooks shows whether the receivers of webhooks get their events. A server that sends none has no such figures.
func (s shown) webhooks(ctx context.Context) {
	sender := s.Service.Webhooks
	if sender == nil {
		return
	}
	count, behind := map[string]int{"sending": 0, "failing": 0, "parked": 0}, uint64(0)
	_, err := s.Handler.Read(ctx, func(state *projections.State) error {
		for x := range state.Webhooks() {
			delivery, _ := sender.Delivery(x.ID, state.Head().Sequence)
			behind = max(behind, delivery.Behind)
			switch {
			case x.Parked != nil:
				count["parked"]++
			case delivery.Failures > 0:
				count["failing"]++
			default:
				count["sending"]++
			}
		}
		return nil
	})
	if err != nil {
		s.metrics.failures.Add(1)
		return
	}
	for status, n := range count {
		s.set(webhooks, float64(n), status)
	}
	s.set(webhookBehind, float64(behind))
	accepted, failed := sender.Sent()
	s.set(webhookAttempts, float64(accepted), "accepted")
	s.set(webhookAttempts, float64(failed), "failed")
}

// refused shows what was refused.
func (s shown) refused() {
	for kind, n := range s.Denials.Counts() {
		row := kind.Row
		if row == "" {
			row = "unknown"
		}
		s.set(refusals, float64(n), row, string(kind.Code))
	}
	load := s.Service.Load()
	for name, n := range load.Refused {
		s.set(limitRefusals, float64(n), name)
	}
	s.set(unauthenticated, float64(load.Unauthenticated))
}
