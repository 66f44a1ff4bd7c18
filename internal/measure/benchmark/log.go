package benchmark

import (
	"context"
	"errors"
	"os"
	"time"

	"maestro/bus"
	"maestro/engine"
	"maestro/internal/measure/rawbench"
	"maestro/projections"
)

// bench is a product, and a server of its own for the baselines on the same disk.
type bench struct {
	*product
	raw    *rawbench.Server
	sample []byte
}

func newBench(ctx context.Context, o Options, name string, durability bus.Durability) (*bench, error) {
	b, err := open(ctx, o, name, durability)
	if err != nil {
		return nil, err
	}
	p, err := newProduct(ctx, b)
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
	made := &bench{product: p}
	made.sample, err = p.body(ctx)
	var dir string
	if err == nil {
		dir, err = os.MkdirTemp(o.Dir, name+"-raw")
	}
	if err == nil {
		made.raw, err = rawbench.Serve(ctx, dir, durability == bus.Always)
	}
	if err != nil {
		return nil, errors.Join(err, p.close())
	}
	return made, nil
}

func (b *bench) close() error {
	b.raw.Close()
	return b.product.close()
}

func (b *bench) callers(ctx context.Context, callers, n int) sample {
	return func() (float64, error) {
		took, err := b.reports(ctx, callers, n)
		return perSecond(n, took, err)
	}
}

func (b *bench) batches(ctx context.Context, size, n int) sample {
	return func() (float64, error) {
		took, err := rawbench.AtomicBatch(ctx, b.raw.Conn(), rawbench.Stream, b.sample, size, n)
		return perSecond(size*n, took, err)
	}
}

// durable measures with the fsync before the acknowledgement, which is the default.
func durable(ctx context.Context, o Options, report func(Check)) (err error) {
	b, err := newBench(ctx, o, "durable", bus.Always)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.close()) }()

	const lone = 300
	figures, err := turns(o.Rounds,
		func() (float64, error) { took, err := b.reports(ctx, 1, lone); return microseconds(lone, took, err) },
		func() (float64, error) {
			took, err := rawbench.LonePublish(ctx, b.raw.Conn(), rawbench.Stream, b.sample, lone)
			return microseconds(lone, took, err)
		})
	if err != nil {
		return err
	}
	report(atMost("lone_durable_command", 1.5, figures[0], figures[1], "µs", "a lone durable guarded publish"))

	figures, err = turns(o.Rounds,
		b.callers(ctx, 64, 64*100),
		func() (float64, error) {
			const n = 500
			took, err := rawbench.SerialPublish(ctx, b.raw.Conn(), rawbench.Stream, b.sample, 64, n)
			return perSecond(n, took, err)
		},
		b.batches(ctx, 64, 20))
	if err != nil {
		return err
	}
	baseline, against := figures[1], "guarded publishes"
	if median(figures[2]) > median(figures[1]) {
		baseline, against = figures[2], "atomic batches of 64"
	}
	report(atLeast("callers_64_durable", 0.7, figures[0], baseline, "/s", against))

	figures, err = turns(o.Rounds, b.callers(ctx, 512, 512*40), b.batches(ctx, 512, 10))
	if err != nil {
		return err
	}
	report(atLeast("callers_512_durable", 0.6, figures[0], figures[1], "/s", "atomic batches of 512"))
	return nil
}

// interval measures with the fsync once a second.
func interval(ctx context.Context, o Options, report func(Check)) (err error) {
	b, err := newBench(ctx, o, "interval", bus.Interval)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	figures, err := turns(o.Rounds, b.callers(ctx, 512, 512*60), b.batches(ctx, 512, 20))
	if err != nil {
		return err
	}
	report(atLeast("callers_512_interval", 0.5, figures[0], figures[1], "/s", "atomic batches of 512"))
	return nil
}

// replay measures decoding, checking the chain and folding, against a consumer that does nothing with the same
// messages.
func replay(ctx context.Context, o Options, report func(Check)) (err error) {
	b, err := newBench(ctx, o, "replay", bus.Interval)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	if _, err := b.reports(ctx, 512, 512*200); err != nil {
		return err
	}
	var length int
	b.handler.View(func(s *projections.State) { length = int(s.Head().Sequence) }) //nolint:gosec // a hundred thousand
	figures, err := turns(o.Rounds,
		func() (float64, error) {
			begin := time.Now()
			h, err := engine.Open(ctx, engine.Config{Log: b.bus, Now: time.Now, After: time.After})
			took := time.Since(begin)
			if err != nil {
				return 0, err
			}
			h.Close()
			return perSecond(length, took, nil)
		},
		func() (float64, error) {
			took, err := rawbench.OrderedConsumer(ctx, b.bus.Conn(), bus.StreamName, length)
			return perSecond(length, took, err)
		})
	if err != nil {
		return err
	}
	report(atLeast("replay", 0.5, figures[0], figures[1], "/s", "a bare ordered consumer"))
	return nil
}
