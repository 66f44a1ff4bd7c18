package cli

import (
	"cmp"
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
	"maestro/internal/safetext"
	"maestro/service/wire"
)

// watch is `maestro watch`.
type watch struct {
	*Run
	filter     wire.LiveFilter
	everywhere bool
	after      string
	// continued says that the server's log has the position at which this began.
	continued bool
	// names are the names of sessions and the titles of tasks that the views had, by id.
	names map[string]string
}

func newWatch(a *Run) *cobra.Command {
	c := &watch{Run: a, names: map[string]string{}}
	cmd := &cobra.Command{
		Use:   "watch",
		Short: "Show events as they happen",
		Args:  Takes,
		Long: `Show each event as it happens: its number, its time, who caused it, and what
happened, in short. It starts with the next event. With --after-event, it first
shows the events after that one. With -o jsonl, each line holds a whole event and
the new state of every object that it changed.

The command reconnects after a restart of the server, and misses nothing.
It ends with Ctrl-C.`,
		RunE: Running(c.run),
	}
	projectFlag(cmd, &c.filter.ProjectID)
	allProjectsFlag(cmd, &c.everywhere)
	bindQuery(cmd, &c.filter)
	cmd.Flags().Lookup("kinds").Usage += ": " + strings.Join(wire.LiveFilter{}.KindNames(), ", ")
	cmd.Flags().StringVar(&c.after, "after-event", "", "first show the events after this one")
	ValueName(cmd, "after-event", "<sequence>")
	Complete(cmd, "kinds", wire.LiveFilter{}.KindNames()...)
	return Tell(cmd, "watch", "session", "task")
}

func (c *watch) run(ctx context.Context, _ []string) error {
	switch {
	case c.oneDocument():
		return severalDocuments("`maestro watch`")
	case c.after != "" && !isPosition(c.after):
		return failure.Usage("--after-event takes the number of an event, not %s", safetext.Quoted(c.after)).
			WithNext("`maestro audit replay` shows the events with their numbers")
	case c.filter.ProjectID != "" && c.everywhere:
		return bothProjects()
	case c.filter.ProjectID == "" && !c.everywhere && c.filter.Session == "" && c.filter.Task == "":
		c.filter.ProjectID = c.currentProject()
	}
	c.filter.After = cmp.Or(c.after, wire.LiveAfterNow)
	server, err := c.Connect(ctx)
	if err != nil {
		return err
	}
	return follow(ctx, c.Run, server, c.filter, func(m client.LiveMessage) error { return c.show(ctx, m) })
}

// oneDocument reports whether the output is to be a single JSON document.
func (a *Run) oneDocument() bool { return a.format == "json" || a.JSON && a.format != "jsonl" }

// severalDocuments refuses to answer with a single document.
func severalDocuments(what string) error {
	return failure.Usage("%s keeps running, so it cannot answer with a single JSON document", what).
		WithNext("use -o jsonl, which prints one object per line")
}

// isPosition reports whether a text can be a position in the log: a sequence, or one with the beginning of a hash.
func isPosition(text string) bool {
	sequence, _, _ := strings.Cut(text, ".")
	_, err := strconv.ParseUint(sequence, 10, 64)
	return err == nil
}

// forever is the time limit of a command that ends with Ctrl-C.
const forever = time.Duration(math.MaxInt64)

// follow reads the live views until ctx ends, also of a server that is restarted meanwhile.
func follow(
	ctx context.Context, a *Run, server *client.Client, filter wire.LiveFilter, each func(client.LiveMessage) error,
) error {
	at := contact{Run: a}
	_, err := inSlicesQuietly(ctx, a, server, forever, func(ctx context.Context, _ time.Duration) (bool, error) {
		begun := false
		err := server.Live(ctx, filter, func(m client.LiveMessage) error {
			begun = true
			at.made()
			if m.Position != "" {
				filter.After = m.Position
			}
			return each(m)
		})
		if err == nil || ctx.Err() != nil || !comesBack(err) || !at.connected && IsInsecure(err) {
			return false, err
		}
		if begun {
			return false, nil // it is asked again at once
		}
		at.lost()
		return false, &client.ConnectionError{URL: server.Base(), Err: err}
	})
	if errors.Is(err, context.Canceled) { // its regular end needs no words
		return Interrupted()
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
func (c *watch) show(ctx context.Context, m client.LiveMessage) error {
	switch m.Kind {
	case wire.LiveKindSnapshot: // of another log, as after a restore: what it shows did not happen now
		var part wire.LivePart
		if err := json.Unmarshal(m.Data, &part); err != nil {
			return unreadableAnswer(err)
		}
		c.learn(part.Items)
	case wire.LiveKindAt:
		c.continued = true
	case wire.LiveKindReady:
		if !c.continued {
			return c.noSuchEvent(m)
		}
		c.Say("maestro: the server's log was replaced, for example by a restore; what follows happens in the new one\n")
	case wire.LiveKindFrame:
		if c.asData() {
			c.WriteJSON(m.Data)
			return c.broken
		}
		var frame wire.LiveFrame
		if err := json.Unmarshal(m.Data, &frame); err != nil {
			return unreadableAnswer(err)
		}
		return c.showFrame(ctx, frame)
	}
	return nil
}

// showFrame prints a line for an event, or for a change whose event is another project's.
func (c *watch) showFrame(ctx context.Context, frame wire.LiveFrame) error {
	c.learn(frame.Changes)
	if frame.Event == nil {
		return nil
	}
	event, err := events.Decode(frame.Event)
	if err != nil {
		return unreadableAnswer(err)
	}
	if c.mentionsUnknown(event) {
		c.learnOf(ctx, frame.Seq)
	}
	c.EventLine(frame.Seq, c.HappenedAt(events.Millis(event.Time.UnixMilli())), event, c.names, frame.Redacted)
	return c.broken
}

// mentionsUnknown reports whether an event mentions a session or a task of which no view was shown, as those that the
// filter leaves out, and that was not looked up yet.
func (c *watch) mentionsUnknown(event *events.Event) (unknown bool) {
	look := func(id string) string {
		if _, known := c.names[id]; !known && idsInText().MatchString(id) {
			c.names[id], unknown = "", true // it is looked up once
		}
		return id
	}
	if _, session, ok := wire.SessionOfSource(event.Source); ok {
		look(session)
	}
	event.Data.Describe().Naming(look)
	return unknown
}

// learnOf asks for the names that an event mentions. A session may not ask everything, and its refusals are recorded.
func (c *watch) learnOf(ctx context.Context, sequence uint64) {
	if c.isSession() {
		return
	}
	at := strconv.FormatUint(sequence, 10)
	found, err := Ask(ctx, c.Run, (*client.Client).Events, wire.EventsQuery{From: at, To: at, Limit: "1"})
	if err != nil {
		return // the names are missing, as they would be without it
	}
	for id, name := range found.Names {
		c.names[id] = name
	}
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

// noSuchEvent refuses a position that the log does not have.
func (c *watch) noSuchEvent(m client.LiveMessage) error {
	var point wire.LivePoint
	if err := json.Unmarshal(m.Data, &point); err != nil {
		return unreadableAnswer(err)
	}
	if sequence, _, isOf := strings.Cut(c.after, "."); isOf {
		return &failure.Error{
			Code:    failure.NotFound,
			Message: "Event " + sequence + " of this log is another one, or does not exist",
			Why:     "the position " + c.after + " is from another log, or from before a restore",
			Next:    "leave out --after-event to see what happens from now on",
		}
	}
	return &failure.Error{
		Code:    failure.NotFound,
		Message: "There is no event " + c.after + " to start after",
		Why:     "the newest event of the log is " + strconv.FormatUint(point.Seq, 10),
		Next:    "leave out --after-event to see what happens from now on",
	}
}

// unreadableAnswer returns the error for an answer that this version does not understand.
func unreadableAnswer(err error) error {
	return &failure.Error{
		Code:    failure.File,
		Message: "The server's answer cannot be read",
		Why:     err.Error(),
		Next:    "if the server is newer than this command, update this command (`maestro version` shows its version)",
		Err:     err,
	}
}
