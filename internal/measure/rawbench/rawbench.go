// Package rawbench measures JetStream itself, without the product, on the same server and the same disk, so that
// `maestro bench` can show the cost of the product: the ratio to these figures of the same run.
//
// Each function appends to, or reads from, a stream that [Create] created, and returns how long its n operations took.
package rawbench

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Stream and Subject are what the baselines write to, beside the log and separate from it.
const (
	Stream  = "RAW"
	Subject = "raw.bench"
)

// Create creates an empty stream with the log's configuration, replacing any existing one.
func Create(ctx context.Context, nc *nats.Conn, stream string, replicas int) error {
	js, err := jetstream.New(nc)
	if err != nil {
		return err
	}
	if err := Remove(ctx, nc, stream); err != nil {
		return err
	}
	_, err = js.CreateStream(ctx, jetstream.StreamConfig{
		Name:               stream,
		Subjects:           []string{"raw.>"},
		Storage:            jetstream.FileStorage,
		Discard:            jetstream.DiscardNew,
		Replicas:           replicas,
		Duplicates:         100 * time.Millisecond,
		AllowDirect:        true,
		AllowAtomicPublish: true,
	})
	return err
}

// Remove deletes the stream, if it exists.
func Remove(ctx context.Context, nc *nats.Conn, stream string) error {
	js, err := jetstream.New(nc)
	if err != nil {
		return err
	}
	if err := js.DeleteStream(ctx, stream); err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
		return err
	}
	return nil
}

// LonePublish publishes n messages, each guarded by the sequence it expects, one after the other.
func LonePublish(ctx context.Context, nc *nats.Conn, stream string, body []byte, n int) (time.Duration, error) {
	head, err := last(ctx, nc, stream)
	if err != nil {
		return 0, err
	}
	begin := time.Now()
	for i := range n {
		if err := guarded(ctx, nc, head+uint64(i), body); err != nil {
			return 0, err
		}
	}
	return time.Since(begin), nil
}

// SerialPublish makes n guarded publishes, divided among callers but one at a time: what a product without group commit
// could do.
func SerialPublish(ctx context.Context, nc *nats.Conn, stream string, body []byte, callers, n int) (time.Duration,
	error,
) {
	head, err := last(ctx, nc, stream)
	if err != nil {
		return 0, err
	}
	var mu sync.Mutex
	var failed error
	end := head + uint64(n)
	begin := time.Now()
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			for {
				mu.Lock()
				if head == end || failed != nil {
					mu.Unlock()
					return
				}
				if failed = guarded(ctx, nc, head, body); failed == nil {
					head++
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	return time.Since(begin), failed
}

// Publish makes n publishes without a guard, divided among publishers that each wait for their acknowledgement. It is
// the unit in which the rates of the product are given.
func Publish(ctx context.Context, nc *nats.Conn, body []byte, publishers, n int) (time.Duration, error) {
	failed := make(chan error, publishers)
	begin := time.Now()
	var all sync.WaitGroup
	for range publishers {
		all.Go(func() {
			for range n / publishers {
				if err := acked(ctx, nc, &nats.Msg{Subject: Subject, Data: body}); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	all.Wait()
	took := time.Since(begin)
	select {
	case err := <-failed:
		return 0, err
	default:
		return took, nil
	}
}

// AtomicBatch commits n batches of size messages, each guarded on its first message, one after the other.
func AtomicBatch(ctx context.Context, nc *nats.Conn, stream string, body []byte, size, n int) (time.Duration, error) {
	head, err := last(ctx, nc, stream)
	if err != nil {
		return 0, err
	}
	begin := time.Now()
	for i := range n {
		id := "raw-" + strconv.Itoa(i)
		for place := 1; place <= size; place++ {
			m := &nats.Msg{Subject: Subject, Data: body, Header: nats.Header{
				"Nats-Batch-Id":       {id},
				"Nats-Batch-Sequence": {strconv.Itoa(place)},
			}}
			if place == 1 {
				m.Header["Nats-Expected-Last-Sequence"] = []string{strconv.FormatUint(head, 10)}
			}
			if place < size {
				if err := nc.PublishMsg(m); err != nil {
					return 0, err
				}
				continue
			}
			m.Header["Nats-Batch-Commit"] = []string{"1"}
			if err := acked(ctx, nc, m); err != nil {
				return 0, err
			}
		}
		head += uint64(size)
	}
	return time.Since(begin), nil
}

// OrderedConsumer reads the first n messages with nats.go's ordered consumer.
func OrderedConsumer(ctx context.Context, nc *nats.Conn, stream string, n int) (time.Duration, error) {
	js, err := jetstream.New(nc)
	if err != nil {
		return 0, err
	}
	begin := time.Now()
	consumer, err := js.OrderedConsumer(ctx, stream, jetstream.OrderedConsumerConfig{})
	if err != nil {
		return 0, err
	}
	messages, err := consumer.Messages()
	if err != nil {
		return 0, err
	}
	defer messages.Stop()
	for i := range n {
		m, err := messages.Next(jetstream.NextContext(ctx))
		if err != nil {
			return 0, err
		}
		meta, err := m.Metadata()
		if err != nil {
			return 0, err
		}
		if want := uint64(i + 1); meta.Sequence.Stream != want {
			return 0, fmt.Errorf("message %d was delivered where %d was due", meta.Sequence.Stream, want)
		}
	}
	return time.Since(begin), nil
}

// last returns the stream's head.
func last(ctx context.Context, nc *nats.Conn, stream string) (uint64, error) {
	js, err := jetstream.New(nc)
	if err != nil {
		return 0, err
	}
	s, err := js.Stream(ctx, stream)
	if err != nil {
		return 0, err
	}
	return s.CachedInfo().State.LastSeq, nil
}

func guarded(ctx context.Context, nc *nats.Conn, after uint64, body []byte) error {
	return acked(ctx, nc, &nats.Msg{Subject: Subject, Data: body, Header: nats.Header{
		"Nats-Expected-Last-Sequence": {strconv.FormatUint(after, 10)},
	}})
}

func acked(ctx context.Context, nc *nats.Conn, m *nats.Msg) error {
	answer, err := nc.RequestMsgWithContext(ctx, m)
	if err != nil {
		return err
	}
	var ack jetstream.PubAck
	return unmarshalAck(answer.Data, &ack)
}
