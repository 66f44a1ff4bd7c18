package bus

import (
	"fmt"
	"testing"
	"time"

	"maestro/events"
	"maestro/internal/measure/rawbench"
)

func benchBus(b *testing.B, d Durability) *Bus {
	b.Helper()
	bus, err := Open(b.Context(), Options{Dir: b.TempDir(), Durability: d})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = bus.Close() })
	return bus
}

func benchMessages(n int) []events.Message {
	messages := make([]events.Message, n)
	for i := range messages {
		messages[i] = events.Message{Subject: "maestro.ev.p.session.s1", Body: make([]byte, 450)}
	}
	return messages
}

// BenchmarkAppend measures one append of n messages; BenchmarkRaw measures the same with JetStream alone.
func BenchmarkAppend(b *testing.B) {
	for _, d := range []Durability{Always, Interval} {
		for _, n := range []int{1, 2, 3, 8, 64, 1000} {
			b.Run(fmt.Sprintf("%s/%d", d, n), func(b *testing.B) {
				bus := benchBus(b, d)
				messages := benchMessages(n)
				head := uint64(0)
				b.ReportAllocs()
				for b.Loop() {
					if err := bus.Append(b.Context(), head, messages); err != nil {
						b.Fatal(err)
					}
					head += uint64(n)
				}
			})
		}
	}
}

func BenchmarkRaw(b *testing.B) {
	body := make([]byte, 450)
	for _, d := range []Durability{Always, Interval} {
		raw, err := rawbench.Serve(b.Context(), b.TempDir(), d == Always)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(raw.Close)
		report := func(b *testing.B, took time.Duration, err error) {
			if err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(took.Nanoseconds())/float64(b.N), "ns/op")
		}
		b.Run(d.String()+"/lone", func(b *testing.B) {
			took, err := rawbench.LonePublish(b.Context(), raw.Conn(), rawbench.Stream, body, b.N)
			report(b, took, err)
		})
		b.Run(d.String()+"/serial64", func(b *testing.B) {
			took, err := rawbench.SerialPublish(b.Context(), raw.Conn(), rawbench.Stream, body, 64, b.N)
			report(b, took, err)
		})
		for _, size := range []int{2, 64, 1000} {
			b.Run(fmt.Sprintf("%s/batch%d", d, size), func(b *testing.B) {
				took, err := rawbench.AtomicBatch(b.Context(), raw.Conn(), rawbench.Stream, body, size, b.N)
				report(b, took, err)
			})
		}
	}
}

// BenchmarkRead measures a read per message.
func BenchmarkRead(b *testing.B) {
	bus := benchBus(b, Interval)
	const n = 100_000
	messages := benchMessages(1000)
	for head := uint64(0); head < n; head += 1000 {
		if err := bus.Append(b.Context(), head, messages); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("all", func(b *testing.B) {
		for b.Loop() {
			if err := bus.Read(b.Context(), 1, n, func(events.Message) error { return nil }); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/message")
	})
	b.Run("one", func(b *testing.B) {
		b.ReportAllocs()
		at := uint64(0)
		for b.Loop() {
			at = at%n + 1
			if err := bus.Read(b.Context(), at, at, func(events.Message) error { return nil }); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("consumer", func(b *testing.B) {
		for b.Loop() {
			if _, err := rawbench.OrderedConsumer(b.Context(), bus.Conn(), StreamName, n); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/message")
	})
}
