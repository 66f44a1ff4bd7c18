package service

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync"

	"maestro/events"
	"maestro/projections"
)

const (
	// entriesAtOnce is how many entries of a timeline are read from the log together, entryBytes after how many bytes
	// of events such a portion ends.
	entriesAtOnce = 64
	entryBytes    = 256 << 10
	// entriesApart is how many events may lie between two entries that are read in one go.
	entriesApart = 8
	// eventsCached is how many bytes of events the server remembers, so that a timeline that is read again and again is
	// not read from the log each time.
	eventsCached = 16 << 20
)

// entryReader reads the entries of timelines from the log, for one caller.
type entryReader struct {
	service *Service
	caller  *Caller
	ctx     context.Context //nolint:containedctx // the call's, for what is read while its answer is written
}

func (v View) entryReader() entryReader {
	ctx := v.ctx
	if ctx == nil {
		ctx = context.Background()
	}
	return entryReader{v.Service, v.Caller, ctx}
}

// each yields the entries of a timeline, oldest first. session is that of a session's timeline, "" for a task's. It
// panics with brokenOff if they cannot be read.
func (r entryReader) each(timeline projections.Timeline, session string) iter.Seq[*projections.Entry] {
	return func(yield func(*projections.Entry) bool) {
		for len(timeline) > 0 {
			found := r.portion(timeline)
			for i, event := range found {
				if !yield(timeline[i].Entry(event, session)) {
					return
				}
			}
			timeline = timeline[len(found):]
		}
	}
}

// backward is each, newest first.
func (r entryReader) backward(timeline projections.Timeline, session string) iter.Seq[*projections.Entry] {
	return func(yield func(*projections.Entry) bool) {
		for len(timeline) > 0 {
			begin := max(0, len(timeline)-entriesAtOnce)
			for _, e := range slices.Backward(slices.Collect(r.each(timeline[begin:], session))) {
				if !yield(e) {
					return
				}
			}
			timeline = timeline[:begin]
		}
	}
}

// portion returns the events of the first entries of a timeline, at least one.
func (r entryReader) portion(timeline projections.Timeline) (found []*events.Event) {
	timeline = timeline[:min(len(timeline), entriesAtOnce)]
	read := map[uint64]*events.Event{}
	size := 0
	for i, place := range timeline {
		event := read[place.Sequence()]
		if event == nil {
			if i > 0 && size >= entryBytes {
				break
			}
			var bytes int
			if event, bytes = r.service.remembered.get(place.Sequence()); event == nil {
				bytes = r.read(timeline[i:], read, entryBytes-size)
				event = read[place.Sequence()]
			}
			size += bytes
		}
		found = append(found, event)
	}
	return found
}

// read reads the events of the first entries of a timeline that are close together, the first in any case and the
// others until they have so many bytes. It returns how many bytes it read.
func (r entryReader) read(timeline projections.Timeline, into map[uint64]*events.Event, most int) (size int) {
	first, last := timeline[0].Sequence(), timeline[0].Sequence()
	wanted := map[uint64]bool{first: true}
	for _, place := range timeline[1:] {
		if place.Sequence() > last+entriesApart {
			break
		}
		last = place.Sequence()
		wanted[last] = true
	}
	err := r.service.logFor(r.caller).Read(r.ctx, first, last, func(m events.Message) error {
		if !wanted[m.Sequence] {
			return nil
		}
		event, err := events.Decode(m.Body)
		if err != nil {
			return &events.DamageError{Sequence: m.Sequence, Why: err.Error()}
		}
		into[m.Sequence] = event
		r.service.remembered.put(m.Sequence, event, len(m.Body))
		if size += len(m.Body); size >= most {
			return errEnough
		}
		return nil
	})
	if err == nil || errors.Is(err, errEnough) {
		return size
	}
	panic(brokenOff{err})
}

var errEnough = errors.New("this is enough for one portion")

// eventCache remembers events of the log that were read last. It is safe for concurrent use.
type eventCache struct {
	mu sync.Mutex
	// recent holds half of what is remembered. When it is full it becomes earlier, which is then forgotten.
	recent, earlier map[uint64]cachedEvent
	size            int
}

type cachedEvent struct {
	event *events.Event
	bytes int
}

func (c *eventCache) get(sequence uint64) (*events.Event, int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	cached, ok := c.recent[sequence]
	if !ok {
		if cached, ok = c.earlier[sequence]; ok {
			c.add(sequence, cached)
		}
	}
	return cached.event, cached.bytes
}

func (c *eventCache) put(sequence uint64, event *events.Event, bytes int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.add(sequence, cachedEvent{event, bytes})
}

func (c *eventCache) add(sequence uint64, cached cachedEvent) {
	if c.recent == nil || c.size >= eventsCached/2 {
		c.recent, c.earlier, c.size = map[uint64]cachedEvent{}, c.recent, 0
	}
	c.recent[sequence] = cached
	c.size += cached.bytes
}
