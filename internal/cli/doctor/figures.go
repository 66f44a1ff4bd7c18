package doctor

import (
	"bytes"
	"context"
	"fmt"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"maestro/bus"
	"maestro/internal/cli"
)

// The bounds beyond which a figure is a finding.
const (
	lagMost     = 10_000   // events that a projection may be behind
	waitingMost = 500      // commands that may wait for the writer
	droppedMost = 10       // streams that may be cut off, since the server started
	eventsMost  = 10 << 20 // events: `maestro bench` was run with ten million
	bytesLeast  = 1 << 30  // of free disk
	filesLeast  = 1000     // that can still be made
)

// figures are what /metrics showed, by name; nil if that is not known.
type figures map[string]*dto.MetricFamily

// value returns a figure with a label's value, or without labels if value is ""; false if there is none.
func (f figures) value(name, value string) (float64, bool) {
	family := f[name]
	for _, m := range family.GetMetric() {
		if value != "" && (len(m.GetLabel()) != 1 || m.GetLabel()[0].GetValue() != value) {
			continue
		}
		switch {
		case m.GetGauge() != nil:
			return m.GetGauge().GetValue(), true
		case m.GetCounter() != nil:
			return m.GetCounter().GetValue(), true
		case m.GetUntyped() != nil: // a proxy dropped the types
			return m.GetUntyped().GetValue(), true
		}
	}
	return 0, false
}

// atLeast returns a figure if it is at least so much, 0 otherwise.
func (f figures) atLeast(least float64, name, value string) float64 {
	if n, known := f.value(name, value); known && n >= least {
		return n
	}
	return 0
}

// lookAtFigures reads /metrics.
func lookAtFigures(ctx context.Context, x *examination) []Finding {
	if !x.may("the server's figures") {
		return nil
	}
	text, err := x.server.Metrics(ctx)
	if err == nil {
		parser := expfmt.NewTextParser(model.LegacyValidation)
		x.figures, err = parser.TextToMetricFamilies(bytes.NewReader(text))
	}
	if err != nil {
		what, why, _ := cli.Explain(err)
		return []Finding{metricsMissing.found("The figures of the server cannot be read: "+what, why,
			"if the server is older than this program, install the same version in both places")}
	}
	return x.ofFigures()
}

// ofFigures judges the figures.
func (x *examination) ofFigures() (found []Finding) {
	f := x.figures
	if n := f.atLeast(1, "maestro_collect_failures_total", ""); n > 0 {
		found = append(found, metricsMissing.found("The server could not read all its figures",
			fmt.Sprintf("that happened %.0f times since it started, and what is missing was not judged", n),
			"look at its log and at its disk, then run `maestro doctor` again"))
	}
	for _, projection := range []string{"state", "live"} {
		if n := f.atLeast(lagMost, "maestro_projection_lag_events", projection); n > 0 {
			found = append(found, projectionLag.found(
				fmt.Sprintf("The projection '%s' is %.0f events behind", projection, n), "readers see an old state",
				"run `maestro doctor` again in a minute; if it is further behind then, give the server more "+
					"processors"))
		}
	}
	if n := f.atLeast(waitingMost, "maestro_commands_waiting", ""); n > 0 {
		found = append(found, commandsWaiting.found(fmt.Sprintf("%.0f commands wait for the writer", n),
			"every agent waits for the answer to its command",
			"see who sends so many with `maestro audit limits`, and measure the disk with `maestro bench`"))
	}
	if n := f.atLeast(droppedMost, "maestro_streams_dropped_total", "live"); n > 0 {
		found = append(found, streamsDropped.found(
			fmt.Sprintf("%.0f readers of live views were cut off since the server started", n),
			"they did not read what they were sent; each starts again from its position",
			"find the slow readers: they, or their network, take less than 8 KiB a second"))
	}
	if n := f.atLeast(1, "maestro_queue_items", "quarantined"); n > 0 {
		found = append(found, itemsQuarantined.found(cli.Many(int(n), "queue item")+" in quarantine",
			"nobody works on them: they were started too often without a result",
			"see `maestro inbox --all-projects --kind quarantined`, which says how to requeue or skip each"))
	}
	if n := f.atLeast(1, "maestro_sessions", "lost"); n > 0 {
		found = append(found, sessionsLost.found(cli.Many(int(n), "lost session"),
			"they were not heard in time; the queue items that they held went back",
			"list them with `maestro session list --status lost`; `maestro inbox --all-projects` says how to end or "+
				"continue each"))
	}
	if n := f.atLeast(eventsMost, "maestro_log_events", ""); n > 0 {
		found = append(found, logLarge.found(fmt.Sprintf("The log has %.0f events", n),
			"no larger log was measured than one of ten million events: memory and starts grow with it",
			"measure this machine with `maestro bench --size`, and see docs/operations.md, \"What grows with what\""))
	}
	return append(append(found, x.ofWaits()...), x.ofDisk()...)
}

// ofDisk judges the room on the log's disk.
func (x *examination) ofDisk() (found []Finding) {
	if free, known := x.figures.value("maestro_disk_free_bytes", ""); known {
		found = ofRoom(uint64(free), "The server's disk")
	}
	if n, known := x.figures.value("maestro_disk_free_files", ""); known && n < filesLeast {
		found = append(found, filesLow.found(fmt.Sprintf("%.0f more files can be made on the log's disk", n),
			"without room for files the server accepts no writes",
			"delete files on that disk; `df -i` shows how many are left"))
	}
	if mode := label(x.figures["maestro_durability_info"], "mode"); mode != "" && mode != bus.Always.String() {
		found = append(found, durability.found("The server runs with --durability "+mode,
			"a power cut can lose commands that were acknowledged just before it",
			"restart it with `maestro serve --durability always` if that matters"))
	}
	return found
}

func ofRoom(free uint64, what string) []Finding {
	switch {
	case free < bus.Reserve:
		return []Finding{diskFull.found(
			fmt.Sprintf("%s has %d MiB free, and %d are needed", what, free>>20, bus.Reserve>>20),
			"the server answers reads and refuses writes", "make room on that disk; nothing needs a restart")}
	case free < bytesLeast:
		return []Finding{diskLow.found(fmt.Sprintf("%s has %d MiB free", what, free>>20),
			fmt.Sprintf("below %d MiB the server refuses writes, and it makes no backups earlier", bus.Reserve>>20),
			"make room on that disk, or move the home to a larger one: docs/operations.md, \"A home that is moved\"")}
	}
	return nil
}

// label returns a label of a family's first figure.
func label(family *dto.MetricFamily, name string) string {
	for _, m := range family.GetMetric() {
		for _, l := range m.GetLabel() {
			if l.GetName() == name {
				return l.GetValue()
			}
		}
	}
	return ""
}

// The time in which refusals are compared: in the last part with the time before it.
const (
	recently = 15 * time.Minute
	earlier  = time.Hour
	// refusedLeast is below how many refusals nothing is said.
	refusedLeast = 20
)
