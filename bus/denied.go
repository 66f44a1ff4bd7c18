package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"maestro/events"
)

// DeniedStream is the stream of recorded refusals. It is bounded, and not part of the log.
const DeniedStream = "MAESTRO_DENIED"

const (
	maxDenials     = 20_000
	maxDenialBytes = 256 << 20
)

// ensureDenied creates the stream of refusals, or updates its limits. A slot is a subject with one message.
func ensureDenied(ctx context.Context, js jetstream.JetStream, replicas int) error {
	_, err := js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
		Name:              DeniedStream,
		Description:       "Refusals, within bounds: the newest of each actor",
		Subjects:          []string{events.DeniedPrefix + ">"},
		Storage:           jetstream.FileStorage,
		Discard:           jetstream.DiscardOld,
		Replicas:          replicas,
		MaxMsgs:           maxDenials,
		MaxBytes:          maxDenialBytes,
		MaxMsgSize:        maxMessage,
		MaxMsgsPerSubject: 1,
		AllowDirect:       true,
	})
	if err != nil {
		return fmt.Errorf("make the stream %s: %w", DeniedStream, full(err))
	}
	return nil
}

// StoreDenials stores each record in its slot. When it returns, the records are as durable as an append.
func (b *Bus) StoreDenials(ctx context.Context, records []events.StoredDenial) error {
	return b.storeDenials(ctx, records, b.options.Timeout)
}

func (b *Bus) storeDenials(ctx context.Context, records []events.StoredDenial, patience time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	release, err := b.use()
	if err != nil {
		return err
	}
	defer release()
	if err := b.mayWrite(DeniedStream); err != nil {
		return err
	}
	alive, done := b.whileAlive(ctx, patience)
	defer done()
	if err = b.publishDenials(alive, records); err == nil {
		err = b.syncSide(DeniedStream)
	}
	return b.failed(ctx, err)
}

func (b *Bus) publishDenials(ctx context.Context, records []events.StoredDenial) error {
	acks := make([]jetstream.PubAckFuture, 0, len(records))
	for _, record := range records {
		body, err := json.Marshal(deniedMessage{record.Actor, record.Slot, record.Body})
		if err != nil {
			return fmt.Errorf("record a refusal: %w", err)
		}
		ack, err := b.js.PublishAsync(events.DeniedSubject(record.Actor, record.Slot), body)
		if err != nil {
			return fmt.Errorf("record a refusal: %w", err)
		}
		acks = append(acks, ack)
	}
	for _, ack := range acks {
		select {
		case stored := <-ack.Ok():
			b.watch.acknowledged(DeniedStream, stored.Sequence)
		case err := <-ack.Err():
			return fmt.Errorf("record a refusal: %w", err)
		case <-ctx.Done():
			return fmt.Errorf("record a refusal: %w", context.Cause(ctx))
		}
	}
	return nil
}

// deniedMessage is the stored form of a record: the actor cannot be derived from the subject.
type deniedMessage struct {
	Actor  string          `json:"actor"`
	Slot   string          `json:"slot"`
	Denial json.RawMessage `json:"denial"`
}

// LoadDenials yields the recorded refusals in the order in which they were stored.
func (b *Bus) LoadDenials(ctx context.Context, yield func(events.StoredDenial) error) error {
	files, release, err := b.useFiles()
	if err != nil {
		return err
	}
	defer release()
	if files != nil {
		return files.LoadDenials(ctx, yield)
	}
	stream, err := b.js.Stream(ctx, DeniedStream)
	if err != nil {
		return fmt.Errorf("read the refusals: %w", err)
	}
	info, err := stream.Info(ctx)
	if err != nil {
		return fmt.Errorf("read the refusals: %w", err)
	}
	left := info.State.Msgs
	if left == 0 {
		return nil
	}
	consumer, err := stream.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{})
	if err != nil {
		return fmt.Errorf("read the refusals: %w", err)
	}
	messages, err := consumer.Messages()
	if err != nil {
		return fmt.Errorf("read the refusals: %w", err)
	}
	defer messages.Stop()
	for ; left > 0; left-- {
		m, err := messages.Next(jetstream.NextContext(ctx))
		if err != nil {
			return fmt.Errorf("read the refusals: %w", err)
		}
		meta, err := m.Metadata()
		if err != nil {
			return errors.Join(err, fmt.Errorf("read the refusals: %s is no message of the stream", m.Subject()))
		}
		var stored deniedMessage
		if err := json.Unmarshal(m.Data(), &stored); err != nil {
			b.options.Logger.Warn("the record of a refusal cannot be read", "subject", m.Subject(), "why", err)
		} else if err := yield(events.StoredDenial{
			Actor: stored.Actor, Slot: stored.Slot,
			Body: stored.Denial,
		}); err != nil {
			return err
		}
		if meta.NumPending == 0 {
			return nil
		}
	}
	return nil
}
