package service

import (
	"context"
	"strconv"
	"time"

	"maestro/commands"
	"maestro/events"
	"maestro/internal/safetext"
	"maestro/projections"
	"maestro/service/wire"
)

const (
	// slicesShown is how many slices a histogram has if its caller does not say.
	slicesShown = 100
	// markedPerStep is how many events of a histogram are one step of work.
	markedPerStep = 1000
)

// EventHistogram counts the events that the caller may see, in slices of the log, and the marks among them. It reads no
// event.
func (s *Service) EventHistogram(
	ctx context.Context, c *Caller, in *wire.HistogramQuery,
) (body wire.EventHistogram, sequence uint64, err error) {
	if err := s.Ask(c, "events-histogram"); err != nil {
		return body, 0, err
	}
	var tape projections.Tape
	var projects *seenProjects
	err = s.Look(ctx, c, func(v View) (err error) {
		tape = v.Tape()
		projects, err = v.PermitProjects("events", in.ProjectID)
		return err
	})
	if err != nil {
		return body, 0, err
	}
	slices, err := histogramSlices(in.Slices)
	if err != nil {
		return body, 0, err
	}
	first, last, err := rangeOf(tape, in.From, in.To)
	if err != nil {
		return body, 0, err
	}
	counts := []bool{c.ReadsAll() && in.ProjectID == ""} // the events of no project
	err = RecoverPart(func() error {
		return projects.each(s.later(ctx, c), func(_ View, p *projections.Project) {
			if p.Number >= len(counts) {
				counts = append(counts, make([]bool, p.Number+1-len(counts))...)
			}
			counts[p.Number] = true
		})
	})
	if err != nil {
		return body, 0, err
	}
	if last >= first {
		c.chargeSteps(int((last - first) / markedPerStep)) //nolint:gosec // a length
	}
	body.Slices = []wire.EventSlice{}
	for _, x := range tape.Slices(first, last, slices, counts) {
		shown := wire.EventSlice{
			First: x.First,
			Last:  x.Last,
			At:    events.Millis(tape.At(x.First)),
			Until: events.Millis(tape.At(x.Last)),
			Count: x.Count,
		}
		x.Named(func(name string, n uint32) {
			shown.Marks = append(shown.Marks, wire.EventMark{Mark: name, Count: n})
		})
		body.Slices = append(body.Slices, shown)
	}
	return body, tape.Len(), nil
}

func histogramSlices(text string) (int, error) {
	if text == "" {
		return slicesShown, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > int(commands.LimitEventSlices.Value) {
		return 0, Invalid("/slices", "slices must be a number from 1 to %d, not '%s'",
			commands.LimitEventSlices.Value, safetext.Printable(text))
	}
	return n, nil
}

// rangeOf returns the first and the last event of a range that sequences or times bound. Absent bounds are the log's.
func rangeOf(tape projections.Tape, from, to string) (first, last uint64, err error) {
	first, last = 1, tape.Len()
	if from != "" {
		sequence, moment, err := momentOf("from", from)
		if err != nil {
			return 0, 0, err
		}
		if first = sequence; !moment.IsZero() {
			first = tape.Before(moment) + 1
		}
	}
	if to != "" {
		sequence, moment, err := momentOf("to", to)
		if err != nil {
			return 0, 0, err
		}
		if last = sequence; !moment.IsZero() {
			last = tape.Until(moment)
		}
	}
	return min(max(first, 1), tape.Len()+1), min(last, tape.Len()), nil
}

// momentOf reads a sequence or a time.
func momentOf(name, text string) (sequence uint64, moment time.Time, err error) {
	if sequence, err = strconv.ParseUint(text, 10, 64); err == nil {
		return sequence, moment, nil
	}
	if name == "from" {
		moment, err = events.ParseFrom(text)
	} else {
		moment, err = time.Parse(time.RFC3339Nano, text)
	}
	if err != nil {
		return 0, moment, Invalid("/"+name,
			"%s must be a sequence such as 42, or a time such as 2026-02-02T10:00:00Z, not '%s'",
			name, safetext.Printable(text))
	}
	return 0, moment, nil
}

// tape returns what is said of all events in the present state.
func (s *Service) tape() (tape projections.Tape) {
	s.Handler.View(func(state *projections.State) { tape = state.Tape() })
	return tape
}
