package cli

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"maestro/api/client"
	"maestro/events"
	"maestro/internal/failure"
	"maestro/service/wire"
)

// watch is `maestro watch`.
type watch struct {
	*Run
	filter     wire.LiveFilter
	everywhere bool
	// names are the names of sessions and the titles of tasks that the views had, by id.
	names map[string]string
}

func newWatch(a *Run) *cobra.Command {
	c := &watch{Run: a, names: map[string]string{}}
	cmd := &cobra.Command{
		Use:   "watch",
		Short: "Show what happens, as it happens",
		Args:  Takes,
		Long: `Show each event as it happens: its sequence, its time, its actor and what
happened. With -o jsonl, each line is a frame of the live views: the event, and
the views that it changed.

It shows what happens from now on, or with --after-event what happened after
that event first. It continues after a restart of the server without a gap, and
ends with Ctrl-C.`,
		RunE: Running(c.run),
	}
	projectFlag(cmd, &c.filter.ProjectID)
	allProjectsFlag(cmd, &c.everywhere)
	f := cmd.Flags()
	f.StringVar(&c.filter.Session, "session", "", "only this session")
	f.StringVar(&c.filter.Task, "task", "", "only this task")
	f.StringVar(&c.filter.Kinds, "kinds", "", "only changes of these kinds: "+
		strings.Join(wire.LiveFilter{}.KindNames(), ", "))
	f.StringVar(&c.filter.After, "after-event", "", "begin after this event")
	ValueName(cmd, "session", "<sessionId>")
	ValueName(cmd, "task", "<taskId>")
	ValueName(cmd, "kinds", "<kinds>")
	ValueName(cmd, "after-event", "<sequence>")
	Complete(cmd, "kinds", wire.LiveFilter{}.KindNames()...)
	return Tell(cmd, "watch", "session", "task")
}

func (c *watch) run(ctx context.Context, _ []string) error {
	switch {
	case c.format == "json":
		return failure.Usage("`maestro watch` prints one object a line, and no single document").
			WithNext("use -o jsonl")
	case c.filter.ProjectID != "" && c.everywhere:
		return bothProjects()
	case c.filter.ProjectID == "" && !c.everywhere && c.filter.Session == "" && c.filter.Task == "":
		c.filter.ProjectID = c.currentProject()
	}
	if c.filter.After == "" {
		c.filter.After = wire.LiveAfterNow
	}
	server, err := c.Connect(ctx)
	if err != nil {
		return err
	}
	return follow(ctx, c.Run, server, c.filter, c.show)
}

// forever is the time limit of a command that ends with Ctrl-C.
const forever = time.Duration(math.MaxInt64)

// follow reads the live views until ctx ends, also of a server that is restarted meanwhile.
func follow(
	ctx context.Context, a *Run, server *client.Client, filter wire.LiveFilter, each func(client.LiveMessage) error,
) error {
	away := false
	_, err := inSlices(ctx, a, server, forever, func(ctx context.Context, _ time.Duration) (bool, error) {
		begun := false
		err := server.Live(ctx, filter, func(m client.LiveMessage) error {
			if begun = true; away {
				a.Say("maestro: the server answers again\n")
				away = false
			}
			if m.Position != "" {
				filter.After = m.Position
			}
			return each(m)
		})
		if err == nil || ctx.Err() != nil || !comesBack(err) {
			return false, err
		}
		if !away {
			a.Say("maestro: the server is away; this goes on when it is back\n")
			away = true
		}
		if begun {
			return false, nil // it is asked again
		}
		return false, &client.ConnectionError{URL: server.Base(), Err: err}
	})
	if errors.Is(err, context.Canceled) { // its regular end needs no words
		return &commandExit{ExitInterrupted}
	}
	return err
}

// comesBack reports whether a server that does not answer may do so later: it is away, or it begins or stops, and says
// so.
func comesBack(err error) bool {
	var said *client.Error
	return serverAway(err) || errors.As(err, &said) && said.Status == http.StatusServiceUnavailable
}

// show prints a message.
func (c *watch) show(m client.LiveMessage) error {
	switch m.Kind {
	case wire.LiveKindSnapshot: // of another log, as after a restore: what it shows did not happen now
		var part wire.LivePart
		if err := json.Unmarshal(m.Data, &part); err != nil {
			return c.unreadable(err)
		}
		c.learn(part.Items)
	case wire.LiveKindReady:
		c.Say("maestro: the server has another log now; what follows happens in it\n")
	case wire.LiveKindFrame:
		if c.asData() {
			c.WriteJSON(m.Data)
			return c.broken
		}
		var frame wire.LiveFrame
		if err := json.Unmarshal(m.Data, &frame); err != nil {
			return c.unreadable(err)
		}
		return c.showFrame(frame)
	}
	return nil
}

// showFrame prints a line for an event, or for a change whose event is another project's.
func (c *watch) showFrame(frame wire.LiveFrame) error {
	c.learn(frame.Changes)
	if frame.Event == nil {
		return nil
	}
	event, err := events.Decode(frame.Event)
	if err != nil {
		return c.unreadable(err)
	}
	at := Instant(events.Millis(event.Time.UnixMilli()))
	if c.onScreen() != nil {
		at = event.Time.Local().Format(time.TimeOnly)
	}
	what := event.Data.Describe().String()
	c.Print("%s  %s  %s  %s\n", strconv.FormatUint(frame.Seq, 10), at, WhoNamed(event.Source, c.names),
		Mention(what, c.names))
	return c.broken
}

// mostNames bounds the names that are remembered.
const mostNames = 20_000

// learn remembers the names in views.
func (c *watch) learn(views []wire.LiveView) {
	if len(c.names) > mostNames {
		clear(c.names)
	}
	for _, view := range views {
		var named struct{ Name, Title string }
		if view.Kind != "session" && view.Kind != "task" || json.Unmarshal(view.Value, &named) != nil {
			continue
		}
		if name := named.Name + named.Title; name != "" {
			c.names[view.ID] = name
		}
	}
}

func (c *watch) unreadable(err error) error {
	return &failure.Error{
		Code:    failure.File,
		Message: "The server's answer cannot be read",
		Why:     err.Error(),
		Next:    "compare `maestro version` with the server's: it may be newer",
		Err:     err,
	}
}
