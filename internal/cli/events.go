package cli

import (
	"context"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"maestro/api/client"
	"maestro/events"
	"maestro/internal/failure"
	"maestro/service/wire"
)

// eventList is `maestro events`.
type eventList struct {
	*Run
	query      wire.EventsQuery
	everywhere bool
	limit      int
}

func newEvents(a *Run) *cobra.Command {
	c := &eventList{Run: a}
	cmd := &cobra.Command{
		Use:   "events",
		Short: "List events of the log, filtered",
		Args:  Takes,
		Long: `List the newest events of the log that pass the filters, the oldest of them
first: the number of each, its time, who caused it, and what happened. With
-o jsonl, each line holds an event as it is stored.

"maestro watch" shows events as they happen, and "maestro audit replay" the
whole history.`,
		RunE: Running(c.run),
	}
	projectFlag(cmd, &c.query.ProjectID)
	allProjectsFlag(cmd, &c.everywhere)
	bindQuery(cmd, &c.query)
	cmd.Flags().StringVar(&c.query.From, "from", "",
		"the first event: a sequence, a time, or a duration ago such as 10m")
	ValueName(cmd, "from", "<sequence|time>")
	cmd.Flags().IntVar(&c.limit, "limit", eventsShown, "at most this many, the newest")
	ValueName(cmd, "limit", "<number>")
	a.ListFlags(cmd)
	a.AtFlag(cmd)
	return Tell(cmd, "events")
}

// eventsShown is how many events are listed if nobody says how many.
const eventsShown = 50

func (c *eventList) run(ctx context.Context, _ []string) (err error) {
	switch {
	case c.query.ProjectID != "" && c.everywhere:
		return bothProjects()
	case c.limit < 1:
		return failure.Usage("--limit must be at least 1, not %d", c.limit)
	case c.query.ProjectID == "" && !c.everywhere:
		c.query.ProjectID = c.currentProject()
	}
	if c.query.From, err = Beginning(c.query.From); err != nil {
		return err
	}
	found, names, err := c.newest(ctx)
	if err != nil {
		return err
	}
	answerList(c.Run, found, func(e wire.LogEvent) string { return strconv.FormatUint(e.Seq, 10) }, func() {
		if len(found) == 0 {
			c.Say("No event passes the filters\n")
		}
		rows := make([][]string, 0, len(found))
		for _, e := range found {
			var event *events.Event
			if event, err = events.Decode(e.Event); err != nil {
				err = unreadableAnswer(err)
				return
			}
			rows = append(rows, []string{
				strconv.FormatUint(e.Seq, 10),
				Instant(events.Millis(event.Time.UnixMilli())),
				WhoNamed(event.Source, names),
				MentionIn(event.Data.Describe(), names),
			})
		}
		c.table([]string{"EVENT", "TIME", "WHO", "WHAT"}, rows)
	})
	return err
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
		if part.Before == 0 {
			break
		}
		c.query.Before = strconv.FormatUint(part.Before, 10)
	}
	return found, names, nil
}
