package cli

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"maestro/api/client"
	"maestro/events"
	"maestro/internal/failure"
	"maestro/internal/safetext"
	"maestro/service/wire"
)

// eventList is `maestro events`.
type eventList struct {
	*Run
	cmd        *cobra.Command
	query      wire.EventsQuery
	everywhere bool
	limit      int
	slices     int
	// older and newer are the events where the list goes on: before the first, and after the last; 0 for none.
	older, newer uint64
}

func newEvents(a *Run) *cobra.Command {
	c := &eventList{Run: a}
	cmd := &cobra.Command{
		Use:   "events",
		Short: "List events of the log, filtered",
		Args:  Takes,
		Long: `List the newest events of the log that pass the filters, the oldest of them
first: the number of each, its time, who caused it, and what happened, in short.
With -o jsonl, each line holds an event as it is stored, its sequence, and what
happened in words.

--aggregate shows the events whose subject is an object: what changed it. "maestro
audit replay --task" shows everything about a task, such as reports on it.

With --after-event, list the oldest events after one instead. If there are more
events than are shown, stderr names the command that shows the next ones.

With --slices, count them instead: how many events are in each part of the log,
and how many of them people look for, such as questions and failures.

"maestro watch" shows events as they happen, and "maestro audit replay" the
whole history.`,
		RunE: Running(c.run),
	}
	c.cmd = cmd
	projectFlag(cmd, &c.query.ProjectID)
	allProjectsFlag(cmd, &c.everywhere)
	bindQuery(cmd, &c.query)
	cmd.Flags().StringVar(&c.query.From, "from", "",
		"the first event: a sequence, a time, or a duration ago such as 10m")
	ValueName(cmd, "from", "<sequence|time>")
	cmd.Flags().StringVar(&c.query.To, "to", "", "the last event: a sequence, a time, or a duration ago such as 10m")
	ValueName(cmd, "to", "<sequence|time>")
	cmd.Flags().StringVar(&c.query.After, "after-event", "", "list the oldest events after this one")
	ValueName(cmd, "after-event", "<sequence>")
	cmd.Flags().IntVar(&c.limit, "limit", eventsShown, "at most this many, the newest; with --after-event the oldest")
	ValueName(cmd, "limit", "<number>")
	cmd.Flags().IntVar(&c.slices, "slices", 0, "count the events in this many parts of the log, all about as long")
	ValueName(cmd, "slices", "<number>")
	for _, filter := range []string{"type", "actor", "aggregate", "text", "limit", "after-event"} {
		Exclude(cmd, "slices", filter)
	}
	Complete(cmd, "type", events.TypeNames()...)
	a.ListFlags(cmd)
	a.AtFlag(cmd)
	Exclude(cmd, "at", "to")
	cmd.Flags().Lookup("at").Usage = "the last event: a sequence, a time, or a duration ago such as 10m"
	return Tell(cmd, "events")
}

// slicesMost is into how many parts a server divides the log at most.
const slicesMost = 1000

// eventsShown is how many events are listed if nobody says how many.
const eventsShown = 50

func (c *eventList) run(ctx context.Context, _ []string) (err error) {
	switch {
	case c.query.ProjectID != "" && c.everywhere:
		return bothProjects()
	case c.limit < 1:
		return failure.Usage("--limit must be at least 1, not %d", c.limit)
	case c.cmd.Flags().Changed("slices") && (c.slices < 1 || c.slices > slicesMost):
		return failure.Usage("--slices must be from 1 to %d, not %d", slicesMost, c.slices).
			WithNext("leave it out to list the events instead of counting them")
	case c.query.ProjectID == "" && !c.everywhere:
		c.query.ProjectID = c.currentProject()
	}
	if c.query.Aggregate, err = c.subject(ctx, c.query.Aggregate); err != nil {
		return err
	}
	if c.query.From, err = Beginning(c.query.From); err != nil {
		return err
	}
	if c.query.To, err = Beginning(c.query.To); err != nil {
		return err
	}
	for _, last := range []struct{ flag, moment string }{{"at", c.moment}, {"to", c.query.To}} {
		if isAfter(c.query.From, last.moment) {
			return failure.Usage("--from %s is after --%s %s", c.query.From, last.flag, last.moment).
				WithNext("swap them, or leave one out")
		}
	}
	read := c.events
	if c.slices != 0 {
		read = c.counts
	}
	shown, err := read(ctx)
	if err != nil {
		return err
	}
	values := make([]any, 0, len(shown))
	for _, row := range shown {
		values = append(values, row.value)
	}
	answerList(c.Run, values, idOfRow, func() {
		if len(shown) == 0 {
			c.Say("%s\n", c.none(ctx))
		}
		header := []string{"EVENT", "TIME", "WHO", "WHAT"}
		if c.slices != 0 {
			header = []string{"EVENTS", "SINCE", "COUNT", "MARKS"}
		}
		rows := make([][]string, 0, len(shown))
		for _, row := range shown {
			rows = append(rows, row.cells)
		}
		c.table(header, rows)
		c.goOn()
	})
	return nil
}

// subject returns the subject of events that a text names: a task may be named by the beginning of its id, or its id in
// a plan. A text that names no task stays as it is.
func (c *eventList) subject(ctx context.Context, text string) (string, error) {
	kind, id, found := strings.Cut(text, "/")
	switch {
	case !found:
		kind, id = "", text
	case kind != "task":
		return text, nil
	}
	if id == "" {
		return text, nil
	}
	full, err := c.fullID(ctx, "taskId", id)
	var none *failure.Error
	switch {
	case errors.As(err, &none) && none.Code == failure.NotFound:
		return text, nil
	case err != nil:
		return "", err
	case found:
		return kind + "/" + full, nil
	}
	return full, nil
}

// isAfter reports whether a moment is after another, as far as that is known of two sequences, or of two times.
func isAfter(from, last string) bool {
	first, err := strconv.ParseUint(from, 10, 64)
	until, failed := strconv.ParseUint(last, 10, 64)
	if err == nil && failed == nil {
		return first > until
	}
	begin, err := time.Parse(time.RFC3339Nano, from)
	end, failed := time.Parse(time.RFC3339Nano, last)
	return err == nil && failed == nil && begin.After(end)
}

// goOn says which commands list the events before and after those that are shown, with the same filters.
func (c *eventList) goOn() {
	with := "maestro events"
	c.cmd.Flags().Visit(func(flag *pflag.Flag) {
		switch flag.Name {
		case "after-event", "to", "at":
		case "from":
			if c.newer == 0 { // an older event is sought up to there
				with += " --from " + safetext.Quoted(flag.Value.String())
			}
		default:
			if flag.Value.Type() == "bool" {
				with += " --" + flag.Name
			} else {
				with += " --" + flag.Name + " " + safetext.Quoted(flag.Value.String())
			}
		}
	})
	if c.older > 1 {
		c.Say("maestro: for older events: `%s --to %d`\n", with, c.older-1)
	}
	if c.newer > 0 {
		c.Say("maestro: for newer events: `%s --after-event %d`\n", with, c.newer)
	}
}

// eventRow is a row of the list: of an event, or of a part of the log.
type eventRow struct {
	cells []string
	// value is a wire.LogEvent or a wire.EventSlice.
	value any
}

// idOfRow returns the sequence of an event, or of the first event of a part.
func idOfRow(value any) string {
	if x, part := value.(wire.EventSlice); part {
		return strconv.FormatUint(x.First, 10)
	}
	return strconv.FormatUint(value.(wire.LogEvent).Seq, 10) //nolint:forcetypeassert // the only other one
}

// events lists the events that pass the filters.
func (c *eventList) events(ctx context.Context) ([]eventRow, error) {
	read := c.newest
	if c.query.After != "" {
		read = c.oldest
	}
	found, names, err := read(ctx)
	if err != nil {
		return nil, err
	}
	rows := make([]eventRow, 0, len(found))
	for _, e := range found {
		event, err := events.Decode(e.Event)
		if err != nil {
			return nil, unreadableAnswer(err)
		}
		rows = append(rows, eventRow{[]string{
			strconv.FormatUint(e.Seq, 10),
			c.HappenedAt(events.Millis(event.Time.UnixMilli())),
			WhoNamed(event.Source, names),
			Happened(event.Data.Describe(), names) + WholeOfEvent(e.Seq, events.Digests(event.Data), e.Redacted),
		}, e})
	}
	return rows, nil
}

// counts counts the events in parts of the log.
func (c *eventList) counts(ctx context.Context) ([]eventRow, error) {
	counted, err := Ask(ctx, c.Run, (*client.Client).EventHistogram, wire.HistogramQuery{
		ProjectID: c.query.ProjectID,
		From:      c.query.From,
		To:        c.query.To,
		Slices:    strconv.Itoa(c.slices),
	})
	if err != nil {
		return nil, err
	}
	rows := make([]eventRow, 0, len(counted.Slices))
	for _, x := range counted.Slices {
		marks := make([]string, 0, len(x.Marks))
		for _, x := range x.Marks {
			marks = append(marks, fmt.Sprintf("%d %s", x.Count, strings.ReplaceAll(x.Mark, "_", " ")))
		}
		rows = append(rows, eventRow{[]string{
			fmt.Sprintf("%d-%d", x.First, x.Last),
			c.HappenedAt(x.At),
			strconv.FormatUint(x.Count, 10),
			strings.Join(marks, ", "),
		}, x})
	}
	return rows, nil
}

// none says that no event was found, and which of the filters no event passes by itself: it may be mistyped.
func (c *eventList) none(ctx context.Context) string {
	for _, x := range []struct {
		only wire.EventsQuery
		said string
	}{
		{
			wire.EventsQuery{Actor: c.query.Actor},
			"No event was caused by '" + c.query.Actor + "': --actor takes a session, a token's name, or system",
		},
		{
			wire.EventsQuery{Aggregate: c.query.Aggregate},
			"No event has the subject '" + c.query.Aggregate + "': --aggregate takes the id of a task, session, " +
				"queue and so on",
		},
	} {
		if x.only == (wire.EventsQuery{}) {
			continue
		}
		x.only.ProjectID, x.only.Limit = c.query.ProjectID, "1"
		found, err := Ask(ctx, c.Run, (*client.Client).Events, x.only)
		if err == nil && len(found.Events) == 0 && found.Before == 0 {
			return x.said
		}
	}
	head := c.head(ctx)
	for _, first := range []struct{ flag, sequence string }{{"from", c.query.From}, {"after-event", c.query.After}} {
		if n, err := strconv.ParseUint(first.sequence, 10, 64); err == nil && n > head {
			return fmt.Sprintf("The log ends at event %d, before --%s %s", head, first.flag, first.sequence)
		}
	}
	return "No event passes the filters"
}

// head returns the sequence at which the log ends, the highest one if that cannot be found out.
func (c *eventList) head(ctx context.Context) uint64 {
	server, err := c.Connect(ctx)
	if err != nil {
		return math.MaxUint64
	}
	server.LookBack("")
	defer server.LookBack(c.moment)
	found, err := server.Events(ctx, wire.EventsQuery{Limit: "1"})
	if err != nil {
		return math.MaxUint64
	}
	return found.After
}

// newest reads the newest events, in as many parts as it takes.
func (c *eventList) newest(ctx context.Context) (found []wire.LogEvent, names map[string]string, err error) {
	names = map[string]string{}
	for len(found) < c.limit {
		c.query.Limit = strconv.Itoa(c.limit - len(found))
		part, err := Ask(ctx, c.Run, (*client.Client).Events, c.query)
		if err != nil {
			return nil, nil, err
		}
		found = slices.Concat(part.Events, found)
		for id, name := range part.Names {
			names[id] = name
		}
		if c.older = part.Before; c.older == 0 {
			break
		}
		c.query.Before = strconv.FormatUint(part.Before, 10)
	}
	if (c.query.To != "" || c.moment != "") && len(found) > 0 {
		if last := found[len(found)-1].Seq; last < c.head(ctx) {
			c.newer = last
		}
	}
	return found, names, nil
}

// oldest reads the oldest events after one, in as many parts as it takes.
func (c *eventList) oldest(ctx context.Context) (found []wire.LogEvent, names map[string]string, err error) {
	names = map[string]string{}
	query := c.query
	for {
		query.Limit = strconv.Itoa(c.limit - len(found))
		part, err := Ask(ctx, c.Run, (*client.Client).Events, query)
		if err != nil {
			return nil, nil, err
		}
		found = append(found, part.Events...)
		for id, name := range part.Names {
			names[id] = name
		}
		if len(found) > 0 && c.older == 0 && found[0].Seq > 1 {
			c.older = found[0].Seq
		}
		after := strconv.FormatUint(part.After, 10)
		switch {
		case len(found) == c.limit:
			c.newer = part.After
			return found, names, nil
		case len(part.Events) == 0 && after == query.After:
			return found, names, nil
		}
		query.After = after
	}
}
