package bus

import (
	"context"
	"errors"

	"maestro/events"
)

const (
	// aheadFrom is the shortest read whose records are checked concurrently with the caller's work.
	aheadFrom = 2048
	// aheadMessages and aheadBytes bound one page of read-ahead; a read holds at most two such pages.
	aheadMessages = 512
	aheadBytes    = 1 << 20
	// bodiesTogether is how much memory is allocated at once for bodies. Retaining one body retains all of it.
	bodiesTogether = 16 << 10
)

// readAhead is read for a long range: it reads and checks the next page while its caller processes one.
func (l *liveLog) readAhead(
	ctx context.Context, from, to, acked uint64, yield func(events.Message) error,
) (next uint64, err error) {
	ctx, cancel := context.WithCancel(ctx)
	pages := make(chan []events.Message)
	var end uint64 // written, with why, by the goroutine until pages is closed
	var why error
	go func() {
		defer close(pages)
		end, why = l.readPages(ctx, from, to, acked, pages)
	}()
	defer func() {
		cancel()
		for range pages { //nolint:revive // wait for the goroutine to end
		}
	}()
	for page := range pages {
		for _, m := range page {
			if err := yield(m); err != nil {
				return m.Sequence, yieldError{err}
			}
		}
	}
	return end, why
}

// readPages is read that passes on the content in pages.
func (l *liveLog) readPages(
	ctx context.Context, from, to, acked uint64, pages chan<- []events.Message,
) (next uint64, err error) {
	var page []events.Message
	held := 0
	hand := func() error {
		select {
		case pages <- page:
			page, held = nil, 0
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	next, err = l.read(ctx, from, to, acked, func(m events.Message) error {
		if page == nil {
			page = make([]events.Message, 0, aheadMessages)
		}
		page, held = append(page, m), held+len(m.Body)
		if len(page) == aheadMessages || held >= aheadBytes {
			return hand()
		}
		return nil
	})
	var own yieldError
	if errors.As(err, &own) {
		return next, own.error
	}
	if len(page) > 0 {
		if err := hand(); err != nil {
			return page[0].Sequence, err
		}
	}
	return next, err
}

// copies copies messages to memory of their own.
type copies struct {
	// together says that many messages are read.
	together bool
	room     []byte
	subject  string
}

func (c *copies) body(b []byte) []byte {
	if !c.together || len(b) > bodiesTogether/4 {
		return append([]byte(nil), b...)
	}
	if cap(c.room)-len(c.room) < len(b) {
		c.room = make([]byte, 0, bodiesTogether)
	}
	begin := len(c.room)
	c.room = append(c.room, b...)
	return c.room[begin:len(c.room):len(c.room)]
}

// text returns a subject. Nearly every message has the subject of the one before.
func (c *copies) text(subject []byte) string {
	if c.subject != string(subject) {
		c.subject = string(subject)
	}
	return c.subject
}
