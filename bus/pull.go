package bus

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"maestro/events"
)

const (
	// pullFrom is the shortest read that is worth creating a consumer: a consumer delivers a message at half the cost
	// of a direct get.
	pullFrom = 2048
	// pullMessages and pullBytes bound one pull; a read holds at most two of them.
	pullMessages = 2048
	pullBytes    = 4 << 20
	// pullIdle is when the server deletes a consumer whose reader is slow; the reader then creates another.
	pullIdle = time.Minute
)

// puller reads a long range through a consumer of its own. It fetches the next page while its caller processes one.
type puller struct {
	bus      *Bus
	name     string // of the consumer; "" if there is none
	sub      *nats.Subscription
	answers  chan *nats.Msg
	inbox    string
	next, to uint64
}

type pulled struct {
	page []events.Message
	err  error
}

// pull reads from p.next until less than pullFrom is left, or a page cannot be read this way, and yields the messages.
// It returns the sequence to continue with.
func (b *Bus) pull(ctx context.Context, from, to uint64, yield func(events.Message) error) (next uint64, err error) {
	ctx, cancel := context.WithCancel(ctx)
	p := &puller{bus: b, next: from, to: to}
	pages := make(chan pulled)
	go func() {
		defer close(pages)
		defer p.close()
		for p.to-p.next+1 >= pullFrom {
			page, err := p.page(ctx)
			select {
			case pages <- pulled{page, err}:
			case <-ctx.Done():
				return
			}
			if err != nil || len(page) == 0 {
				return
			}
		}
	}()
	defer func() {
		cancel()
		for range pages { //nolint:revive // wait for the goroutine to end
		}
	}()
	next = from
	for got := range pages {
		if got.err != nil {
			return next, got.err
		}
		for _, m := range got.page {
			if err := yield(m); err != nil {
				return next, err
			}
			next++
		}
	}
	return next, context.Cause(ctx)
}

// page returns the messages after those it returned last; an empty page means that the consumer cannot deliver.
func (p *puller) page(ctx context.Context) ([]events.Message, error) {
	release, err := p.bus.use()
	if err != nil {
		return nil, err
	}
	defer release()
	for range 2 { // a reopened server has lost the consumer
		if p.name == "" {
			if err := p.open(ctx); err != nil {
				return nil, err
			}
		}
		page, err := p.take(ctx)
		if err != nil {
			return nil, err
		}
		for i := range page {
			if page[i].Sequence != p.next+uint64(i) {
				page = page[:i]
				break
			}
		}
		if len(page) > 0 {
			p.next += uint64(len(page))
			return page, nil
		}
		p.close()
	}
	return nil, nil
}

func (p *puller) open(ctx context.Context) error {
	p.close()
	ctx, cancel := context.WithTimeout(ctx, p.bus.options.Timeout)
	defer cancel()
	consumer, err := p.bus.js.CreateConsumer(ctx, StreamName, jetstream.ConsumerConfig{
		DeliverPolicy:     jetstream.DeliverByStartSequencePolicy,
		OptStartSeq:       p.next,
		AckPolicy:         jetstream.AckNonePolicy,
		MemoryStorage:     true,
		Replicas:          1,
		InactiveThreshold: pullIdle,
	})
	if err != nil {
		return fmt.Errorf("read the log: %w", err)
	}
	p.name = consumer.CachedInfo().Name
	p.answers = make(chan *nats.Msg, pullMessages+16)
	p.inbox = p.bus.nc.NewInbox()
	if p.sub, err = p.bus.nc.ChanSubscribe(p.inbox, p.answers); err != nil {
		return fmt.Errorf("read the log: %w", err)
	}
	return nil
}

// close deletes the consumer. A failure does not matter: the server deletes an idle consumer itself.
func (p *puller) close() {
	if p.sub != nil {
		_ = p.sub.Unsubscribe()
		p.sub = nil
	}
	if p.name != "" {
		_ = p.bus.nc.Publish("$JS.API.CONSUMER.DELETE."+StreamName+"."+p.name, nil)
		p.name = ""
	}
}

// take requests one page and returns its messages, up to the first status message.
func (p *puller) take(ctx context.Context) ([]events.Message, error) {
	want := int(min(p.to-p.next+1, pullMessages)) //nolint:gosec // at most a page
	request := fmt.Appendf(nil, `{"batch":%d,"max_bytes":%d,"no_wait":true}`, want, pullBytes)
	if err := p.bus.nc.PublishRequest("$JS.API.CONSUMER.MSG.NEXT."+StreamName+"."+p.name, p.inbox,
		request); err != nil {
		return nil, fmt.Errorf("read the log: %w", err)
	}
	page := make([]events.Message, 0, want)
	timer := time.NewTimer(p.bus.options.Timeout)
	defer timer.Stop()
	for len(page) < want {
		select {
		case m, ok := <-p.answers:
			if !ok {
				return nil, fmt.Errorf("read the log: %w", nats.ErrConnectionClosed)
			}
			if m.Reply == "" { // a status: no more messages, the byte limit, or no such consumer
				return page, nil
			}
			sequence, err := sequenceOf(m.Reply)
			if err != nil {
				return nil, err
			}
			page = append(page, events.Message{Sequence: sequence, Subject: m.Subject, Body: m.Data})
		case <-timer.C:
			return page, nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	return page, nil
}

// sequenceOf parses the stream's sequence from the subject that acknowledges a message:
// $JS.ACK.[<domain>.<account>.]<stream>.<consumer>.<deliveries>.<stream sequence>.<consumer
// sequence>.<time>.<pending>[.<token>]
func sequenceOf(reply string) (uint64, error) {
	tokens := strings.Split(reply, ".")
	place := 5
	if len(tokens) >= 11 {
		place = 7
	}
	if len(tokens) <= place {
		return 0, errors.New("read the log: a message without its sequence: " + reply)
	}
	sequence, err := strconv.ParseUint(tokens[place], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("read the log: a message without its sequence: %w", err)
	}
	return sequence, nil
}
