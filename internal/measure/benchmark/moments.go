package benchmark

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"maestro/bus"
	"maestro/internal/server/witness"
	"maestro/projections"
)

// momentReads is how many moments one round reads at each distance.
const momentReads = 20

// moments measures reads of a moment by how many events it is behind a snapshot, in logs of different lengths, against
// the same read of now. Each read is of another moment, so that no state is kept from the one before.
func moments(ctx context.Context, o Options, report func(Check)) (err error) {
	b, err := open(ctx, o, "moments", bus.Interval)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	dir, err := os.MkdirTemp(o.Dir, "moments-snapshots")
	if err != nil {
		return err
	}
	pictures, err := bus.OpenSnapshots(filepath.Join(dir, "snapshots"))
	if err != nil {
		return err
	}
	p, err := newProductWith(ctx, b, witness.Snapshots{Dir: pictures, Firm: b.Firm})
	if err != nil {
		return err
	}
	p.bus = b
	defer p.handler.Close()
	ours, _, err := (&bench{product: p}).serve(o)
	if err != nil {
		return err
	}
	defer ours.close()
	shortest := map[uint64][]float64{}
	for _, length := range lengths(o) {
		saved, err := p.grow(ctx, length)
		if err == nil {
			err = p.handler.Snapshot(ctx)
		}
		if err == nil {
			_, err = p.grow(ctx, saved+snapshotsApart)
		}
		if err != nil {
			return err
		}
		for _, distance := range []uint64{0, 100, 1_000, 10_000, snapshotsApart - 2*momentReads*uint64(o.Rounds+1)} {
			if err := p.momentsAt(ctx, o, ours, saved, distance, shortest, report); err != nil {
				return err
			}
		}
		if err := p.histogram(ctx, o, ours, report); err != nil {
			return err
		}
	}
	return nil
}

// histogramMost is what the histogram of a million events may take, in ms.
const histogramMost = 20

// histogram measures the histogram of the whole log over HTTP.
func (p *product) histogram(ctx context.Context, o Options, ours *endpoint, report func(Check)) error {
	head := uint64(0)
	p.handler.View(func(s *projections.State) { head = s.Head().Sequence })
	var slices50, now50 []float64
	for range o.Rounds {
		var took, now []float64
		for range momentReads {
			one, err := ours.timeGet(ctx, ours.base+"/api/events/histogram?slices=1000", o.Admin)
			if err != nil {
				return err
			}
			took = append(took, one)
			if one, err = ours.timeGet(ctx, ours.base+"/api/tasks/"+p.task, o.Admin); err != nil {
				return err
			}
			now = append(now, one)
		}
		slices50, now50 = append(slices50, at(took, 50)), append(now50, at(now, 50))
	}
	name := fmt.Sprintf("histogram_of_%dk", head/1000)
	report(compared(name, 0, slices50, now50, "µs", "a task read now"))
	if head >= 1_000_000 {
		report(atMostFigure(name+"_ms", histogramMost, median(slices50)/1000, "ms", "1,000 slices of a million events"))
	}
	return nil
}

// lengths are how many events the logs have before their snapshots.
func lengths(o Options) []uint64 {
	long := uint64(200_000)
	if o.Size > 0 {
		long = uint64(o.Size)
	}
	return []uint64{10_000, long}
}

// snapshotsApart is how many events a server has between two snapshots.
const snapshotsApart = 50_000

// grow has the session report until the log has so many events, and returns the head.
func (p *product) grow(ctx context.Context, length uint64) (head uint64, err error) {
	const callers = 512
	at := func() { p.handler.View(func(s *projections.State) { head = s.Head().Sequence }) }
	if at(); head < length {
		_, err = p.reports(ctx, callers, callers*int((length-head+callers-1)/callers)) //nolint:gosec // a million
	}
	at()
	return head, err
}

// momentsAt measures moments at a distance from a snapshot, and notes what those of the shortest log cost.
func (p *product) momentsAt(
	ctx context.Context, o Options, ours *endpoint, saved, distance uint64, shortest map[uint64][]float64,
	report func(Check),
) error {
	path := ours.base + "/api/tasks/" + p.task
	next := saved + distance
	var then50, now50 []float64
	for round := range o.Rounds + 1 {
		var then, now []float64
		for range momentReads {
			took, err := ours.timeGet(ctx, fmt.Sprint(path, "?at=", next), o.Admin)
			if err != nil {
				return err
			}
			then = append(then, took)
			if took, err = ours.timeGet(ctx, path, o.Admin); err != nil {
				return err
			}
			now = append(now, took)
			next++
		}
		if round > 0 {
			then50, now50 = append(then50, at(then, 50)), append(now50, at(now, 50))
		}
	}
	name := fmt.Sprintf("moment_%d_of_%dk", distance, saved/1000)
	report(compared(name, 0, then50, now50, "µs", "the same read of now"))
	if before := shortest[distance]; before != nil {
		report(atMost(name+"_growth", 2.5, then50, before, "µs", "the same distance in the short log"))
	} else {
		shortest[distance] = then50
	}
	return nil
}

// timeGet reads an answer, and returns in µs how long that took.
func (e *endpoint) timeGet(ctx context.Context, url, authorization string) (float64, error) {
	begin := time.Now()
	_, err := e.get(ctx, url, authorization, nil)
	return float64(time.Since(begin).Microseconds()), err
}
