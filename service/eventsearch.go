package service

import (
	"context"
	"maps"
	"strconv"

	"maestro/events"
	"maestro/internal/safetext"
	"maestro/projections"
	"maestro/service/wire"
)

const (
	// eventsListed is how many events a list has if its caller does not say, eventsMost how many it has at most.
	eventsListed = 50
	eventsMost   = 500
	// eventsAtOnce is how many events of the log are read together, eventsSearched how many one call examines: a
	// caller goes on from where it ended.
	eventsAtOnce   = 1000
	eventsSearched = 20_000
)

// eventSearch is a search of the log for events, in one direction.
type eventSearch struct {
	service *Service
	caller  *Caller
	filter  eventFilter
	// seen are the projects that count; all says that events of no project count too.
	seen map[string]bool
	all  bool
	// first and last bound the search, as sequences.
	first, last uint64
	limit       int

	// found are the events so far, the oldest first.
	found []foundEvent
}

// ListEvents returns events of the log that the caller may see, in the order of the log, and the sequence up to which
// the log was read.
func (s *Service) ListEvents(
	ctx context.Context, c *Caller, in *wire.EventsQuery,
) (body wire.LogEvents, sequence uint64, err error) {
	err = s.readingLog(ctx, c, "events", func(ctx context.Context) error {
		body, sequence, err = s.listEvents(ctx, c, in)
		return err
	})
	return body, sequence, err
}

func (s *Service) listEvents(
	ctx context.Context, c *Caller, in *wire.EventsQuery,
) (body wire.LogEvents, head uint64, err error) {
	var tape projections.Tape
	var projects *seenProjects
	err = s.Look(ctx, c, func(v View) (err error) {
		tape, head = v.Tape(), v.Head().Sequence
		projects, err = v.PermitProjects("events", in.ProjectID)
		return err
	})
	if err != nil {
		return body, head, err
	}
	x := &eventSearch{
		service: s,
		caller:  c,
		seen:    map[string]bool{},
		all:     c.ReadsAll() && in.ProjectID == "",
	}
	if x.filter, err = eventFilterOf(in); err == nil {
		x.limit, err = eventLimit(in.Limit)
	}
	if err != nil {
		return body, head, err
	}
	err = RecoverPart(func() error {
		return projects.each(s.later(ctx, c), func(_ View, p *projections.Project) { x.seen[p.ID] = true })
	})
	if err == nil {
		err = x.bound(in, tape)
	}
	if err != nil {
		return body, head, err
	}
	if in.After != "" {
		err = x.forward(ctx, &body)
	} else {
		err = x.backward(ctx, &body)
	}
	if err != nil {
		return body, head, err
	}
	body.Events = make([]wire.LogEvent, 0, len(x.found)) // an empty list is not null
	for _, e := range x.found {
		body.Events = append(body.Events, e.LogEvent)
	}
	body.Names = map[string]string{}
	err = s.Look(ctx, c, func(v View) error {
		for _, e := range x.found {
			maps.Copy(body.Names, v.names(e.mentions...))
		}
		return nil
	})
	return body, head, err
}

// foundEvent is an event that passes the filter.
type foundEvent struct {
	wire.LogEvent
	// mentions are the ids of what it names first: its words are shown up to there.
	mentions []string
}

// mentionsMost is how many of the ids are named that one of several events mentions.
const mentionsMost = 10

func eventLimit(text string) (int, error) {
	if text == "" {
		return eventsListed, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return 0, Invalid("/limit", "limit must be a number from 1 to %d, not '%s'",
			eventsMost, safetext.Printable(text))
	}
	return min(n, eventsMost), nil
}

// bound finds the first and the last event to examine.
func (x *eventSearch) bound(in *wire.EventsQuery, tape projections.Tape) (err error) {
	if in.Before != "" && in.After != "" {
		return Invalid("/after", "before and after cannot be used together: leave out one of them")
	}
	if x.first, x.last, err = rangeOf(tape, in.From, in.To); err != nil {
		return err
	}
	for _, cut := range []struct{ name, text string }{{"before", in.Before}, {"after", in.After}} {
		if cut.text == "" {
			continue
		}
		sequence, err := strconv.ParseUint(cut.text, 10, 64)
		switch {
		case err != nil:
			return Invalid("/"+cut.name, "%s must be the sequence of an event, not '%s'",
				cut.name, safetext.Printable(cut.text))
		case cut.name == "before" && sequence == 0:
			x.last = 0
		case cut.name == "before":
			x.last = min(x.last, sequence-1)
		default:
			x.first = max(x.first, min(sequence, tape.Len())+1)
		}
	}
	return nil
}

// backward finds the newest events, and says where older ones may be.
func (x *eventSearch) backward(ctx context.Context, body *wire.LogEvents) error {
	body.After = x.last
	low := uint64(0)
	if x.last > eventsSearched {
		low = x.last - eventsSearched
	}
	low = max(low+1, x.first)
	for high := x.last; high >= low && len(x.found) < x.limit && high > 0; {
		from := low
		if high-low >= eventsAtOnce {
			from = high - eventsAtOnce + 1
		}
		part, err := x.read(ctx, from, high)
		if err != nil {
			return err
		}
		part = part[max(0, len(part)-(x.limit-len(x.found))):]
		x.found = append(part, x.found...)
		high = from - 1
	}
	switch {
	case len(x.found) == x.limit && x.found[0].Seq > x.first:
		body.Before = x.found[0].Seq
	case len(x.found) < x.limit && low > x.first:
		body.Before = low
	}
	return nil
}

// forward finds the oldest events, and says where newer ones may be.
func (x *eventSearch) forward(ctx context.Context, body *wire.LogEvents) error {
	if x.first > 1 {
		body.Before = x.first
	}
	high := min(x.last, x.first+eventsSearched-1)
	body.After = max(high, x.first-1)
	for low := x.first; low <= high && len(x.found) < x.limit; low += eventsAtOnce {
		part, err := x.read(ctx, low, min(high, low+eventsAtOnce-1))
		if err != nil {
			return err
		}
		x.found = append(x.found, part...)
	}
	if len(x.found) >= x.limit {
		x.found = x.found[:x.limit]
		body.After = x.found[x.limit-1].Seq
	}
	return nil
}

// read returns the events of a range that pass the filter, as the caller sees them.
func (x *eventSearch) read(ctx context.Context, from, to uint64) (found []foundEvent, err error) {
	type candidate struct {
		sequence uint64
		event    *events.Event
		redacted []wire.RedactedText
	}
	var candidates []candidate
	err = x.service.logFor(x.caller).Read(ctx, from, to, func(m events.Message) error {
		e, err := events.Decode(m.Body)
		if err != nil {
			return &events.DamageError{Sequence: m.Sequence, Why: err.Error()}
		}
		if (x.seen[e.Project] || x.all && e.Project == "") && x.filter.selects(e) {
			candidates = append(candidates, candidate{sequence: m.Sequence, event: e})
		}
		return nil
	})
	if err != nil || len(candidates) == 0 {
		return nil, err
	}
	err = x.service.Look(ctx, x.caller, func(v View) error {
		sight := newSight(v, WatchFilter{})
		for i := range candidates {
			v.Worked(1)
			candidates[i].event = sight.eventAsSeen(candidates[i].event)
			candidates[i].redacted = RedactedIn(v.State, candidates[i].event.Data)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, c := range candidates {
		text, err := c.event.Append(nil)
		if err != nil {
			return nil, err
		}
		if !x.filter.says(text) {
			continue
		}
		what := x.service.describe(x.caller, c.event.Data)
		mentions := []string{c.event.Source}
		what.Naming(func(id string) string {
			if len(mentions) < mentionsMost {
				mentions = append(mentions, id)
			}
			return id
		})
		found = append(found, foundEvent{wire.LogEvent{
			Seq:      c.sequence,
			What:     what.String(),
			Event:    text,
			Redacted: c.redacted,
		}, mentions})
	}
	return found, nil
}
