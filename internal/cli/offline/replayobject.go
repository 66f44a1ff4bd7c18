package offline

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"os"
	"strconv"
	"strings"
	"time"

	"maestro/events"
	"maestro/internal/cli"
	"maestro/internal/failure"
	"maestro/internal/safetext"
	"maestro/projections"
	"maestro/service/wire"
)

// operands tells the object from the file on a command line that takes both, each optional. A single word is the file
// if there is one with this name, or if it can only be a path.
func operands(args []string) (object, file string) {
	switch len(args) {
	case 0:
		return "", ""
	case 1:
	default:
		return args[0], args[1]
	}
	only := args[0]
	if cli.KindOfID(only) != "" {
		return only, ""
	}
	_, err := os.Stat(only)
	if only == "-" || err == nil || strings.Contains(only, ".") || strings.HasPrefix(only, "/") {
		return "", only
	}
	return only, ""
}

// openHistory opens the history of a file or, if there is none, of the server, and says what is meant by an object, ""
// for the whole log.
func openHistory(ctx context.Context, a *cli.Run, command, object, file string) (h history, of subject, done func(),
	err error,
) {
	if file == "" {
		if object != "" {
			kind, id, err := cli.Meant(ctx, a, object)
			if err != nil {
				return nil, of, nil, err
			}
			of = subject{projections.Kind(kind), id}
		}
		c, err := a.Connect(ctx)
		return &serverHistory{Run: a, client: c}, of, func() {}, err
	}
	kind := cli.KindOfID(object)
	if object != "" && kind == "" {
		return nil, of, nil, failure.Usage("%s is not the id of a task, a session, a project or a queue",
			safetext.Quoted(object)).WithWhy("with a file, only whole ids are known").
			WithNext("name a whole id, or <projectId>/<queue>; `%s FILE` shows the log with its ids",
				"maestro audit replay")
	}
	in, done, err := cli.OpenFile(a, file)
	if err != nil {
		return nil, of, nil, err
	}
	log := bufio.NewReader(in)
	if err := mustBeExport(file, log, command); err != nil {
		done()
		return nil, of, nil, err
	}
	redacted, err := redactionsIn(a, file)
	if err != nil {
		done()
		return nil, of, nil, cli.Unreadable(file, err)
	}
	folded := &fileHistory{
		Run:       a,
		foldedLog: newFoldedLog(log, file),
		redacted:  redacted,
	}
	return folded, subject{projections.Kind(kind), object}, done, nil
}

// replayedEvent is an event of the replay of an object, with what it changed.
type replayedEvent struct {
	Sequence uint64 `json:"sequence"`
	Time     string `json:"time,omitempty"`
	Who      string `json:"who,omitempty"`
	Source   string `json:"source,omitempty"`
	Type     string `json:"type,omitempty"`
	Project  string `json:"project,omitempty"`
	What     string `json:"what,omitempty"`
	// Redacted are its long texts that were removed for good since.
	Redacted []wire.RedactedText `json:"redacted,omitempty"`
	// Changes are the views that the event changed.
	Changes []viewChange `json:"changes"`

	event *events.Event
}

// objectReplay is the replay of one object.
type objectReplay struct {
	*cli.Run
	of   subject
	pace pace
	// known are the views as they were after the newest frame.
	known map[projections.ViewKey]fields
	// names are the names of sessions and the titles of tasks, by id.
	names map[string]string
	// shown counts the events; all are those of a single JSON document.
	shown int
	all   []replayedEvent
}

// checkObject refuses flags that do not go together with an object.
func (c *auditReplay) checkObject(object string) error {
	for _, name := range []string{"session", "task", "project", "limit"} {
		if !c.given(name) {
			continue
		}
		refused := failure.Usage("%s names what is replayed, so --%s cannot be used with it",
			safetext.Quoted(object), name)
		if name == "limit" {
			return refused.WithNext("bound the replay with --from and --to")
		}
		return refused.WithNext("leave one of them out")
	}
	for _, name := range []string{"from", "to", "speed"} {
		if c.given("at") && c.given(name) {
			return failure.Usage("--at shows one moment of an object, so --%s cannot be used with it", name).
				WithNext("leave --at out, or end the replay with --to")
		}
	}
	if !c.given("speed") {
		return nil
	}
	if c.JSON && !c.InLines() {
		return failure.Usage("--speed shows one event after the other, not a single JSON document").
			WithNext("use -o jsonl, which prints one object per line, or leave --speed out")
	}
	return checkSpeed(c.o.speed)
}

// replayObject shows what happened to one object, and how the views about it changed.
func (c *auditReplay) replayObject(ctx context.Context, object, file string) error {
	if err := c.checkObject(object); err != nil {
		return err
	}
	from, until, err := c.o.bounds()
	if err != nil {
		return err
	}
	h, of, done, err := openHistory(ctx, c.Run, "`maestro audit replay`", object, file)
	if err != nil {
		return err
	}
	defer done()
	defer tellPart(c.Run, h)
	if c.given("at") {
		return notYet(h.show(ctx, of, until), "at", c.o.at)
	}
	r := &objectReplay{
		Run:   c.Run,
		of:    of,
		known: map[projections.ViewKey]fields{},
		names: map[string]string{},
		all:   []replayedEvent{},
	}
	r.pace = pace{speed: c.o.speed, say: func(gap time.Duration) {
		c.Say("maestro: nothing happened for %s\n", gap.Round(time.Second))
	}}
	err = r.run(ctx, h, from, until)
	var late *notYetError
	switch {
	case errors.Is(err, context.Canceled):
		return cli.Interrupted()
	case errors.As(err, &late): // as the replay of the whole log says it
		c.Say("maestro: the log ends at event %d, before --from %s\n", late.newest, c.o.from)
	case err != nil:
		return err
	}
	var head uint64
	var ended bool
	if !until.isZero() {
		head, ended = h.head(ctx)
	}
	if ended && until.unreached(head, c.Wall()) {
		c.Say("maestro: the log ends at event %d, before --to %s\n", head, c.o.to)
	}
	if r.shown == 0 {
		if err := c.nothing(of, len(r.known) > 0); err != nil {
			return err
		}
	}
	if r.JSON && !r.InLines() {
		r.Result(r.all, nil)
	}
	return nil
}

// tellPart says what a history does not show.
func tellPart(a *cli.Run, h history) {
	if part := h.part(); part != "" {
		a.Say("maestro: %s\n", part)
	}
}

// nothing says that nothing happened to the object. existed says that there were views of it before.
func (c *auditReplay) nothing(of subject, existed bool) error {
	if !existed && c.o.from == "" {
		return notThere(of, "the log has no event about it"+cli.Prefixed(" up to ", c.o.to))
	}
	c.Say("Nothing happened to %s%s%s\n", of.id, cli.Prefixed(" from ", c.o.from), cli.Prefixed(" up to ", c.o.to))
	return nil
}

// notThere is the error for an object that does not exist.
func notThere(of subject, why string) error {
	kind := string(of.kind)
	return &failure.Error{
		Code:    failure.NotFound,
		Message: strings.ToUpper(kind[:1]) + kind[1:] + " with id '" + of.id + "' not found",
		Why:     why,
		Next:    "name another moment, or find its id with `maestro audit replay`",
	}
}

// run reads and shows the frames: at once, or in their time. Then they are read before the first is shown, because a
// server does not wait for a slow reader.
func (r *objectReplay) run(ctx context.Context, h history, from, until moment) error {
	if !from.isZero() {
		before, err := h.at(ctx, r.of, from.justBefore())
		if err != nil {
			return err
		}
		if err := r.know(before); err != nil {
			return err
		}
	}
	show := func(frame wire.LiveFrame) error { return r.show(ctx, frame) }
	if r.pace.speed == 0 {
		if err := h.frames(ctx, r.of, until, show); err != nil {
			return err
		}
	} else {
		var frames []wire.LiveFrame
		err := h.frames(ctx, r.of, until, func(frame wire.LiveFrame) error {
			frames = append(frames, frame)
			return ctx.Err()
		})
		for i := 0; err == nil && i < len(frames); i++ {
			err = show(frames[i])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// know notes the views about the object as they were before the first event that is shown.
func (r *objectReplay) know(before *past) error {
	for _, key := range before.keys {
		view := before.views[key]
		is, err := fieldsOf(key.Kind, encoded(view))
		if err != nil {
			return err
		}
		r.learn(key, is)
		if r.of.has(key, view) {
			r.known[key] = is
		}
	}
	return nil
}

// learn notes the names in a view.
func (r *objectReplay) learn(key projections.ViewKey, is fields) {
	note := func(id, name string) {
		if name != "" {
			r.names[id] = name
		}
	}
	switch key.Kind { //nolint:exhaustive // the others name neither a task nor a session
	case projections.KindSession, projections.KindTask:
		note(key.ID, is.text("name")+is.text("title"))
	case projections.KindQueueItem, projections.KindInput:
		note(is.text("sessionId"), is.text("sessionName"))
	}
}

// show shows an event, unless it did not concern the object.
func (r *objectReplay) show(ctx context.Context, frame wire.LiveFrame) error {
	told := replayedEvent{Sequence: frame.Seq, Redacted: frame.Redacted, Changes: []viewChange{}}
	concerns := r.of.kind == projections.KindProject
	for _, view := range frame.Changes {
		key := projections.ViewKey{Kind: projections.Kind(view.Kind), ID: view.ID}
		if key.Kind == projections.KindSessionTimeline || key.Kind == projections.KindTaskTimeline {
			concerns = concerns || r.of.kind != projections.KindQueue
			continue // the entry is the event
		}
		is, err := fieldsOf(key.Kind, view.Value)
		if err != nil {
			return err
		}
		r.learn(key, is)
		if r.of.kind == projections.KindQueue && !r.of.ofQueue(key) {
			continue
		}
		concerns = concerns || r.of.kind == projections.KindQueue
		if change, differs := compare(key, r.known[key], is); differs {
			concerns = true // other views are shown again because something else changed, on which they might depend
			told.Changes = append(told.Changes, change)
		}
		if r.known[key] = is; is == nil {
			delete(r.known, key)
		}
	}
	if err := told.decode(frame.Event); err != nil {
		return err
	}
	if _, by, _ := projections.SessionOfSource(told.Source); !concerns &&
		(r.of.kind != projections.KindSession || by != r.of.id) {
		return nil
	}
	for i, change := range told.Changes {
		told.Changes[i] = change.inTimeline(told.event)
	}
	r.shown++
	if told.event != nil {
		if err := r.pace.until(ctx, told.event.Time); err != nil {
			return err
		}
	}
	return cmp.Or(r.print(told), ctx.Err())
}

func (t *replayedEvent) decode(body []byte) (err error) {
	if body == nil {
		return nil
	}
	if t.event, err = events.Decode(body); err != nil {
		return &failure.Error{
			Code:    failure.File,
			Message: "The event cannot be read",
			Why:     err.Error(),
			Err:     err,
			Next:    "if it is newer than this command, update this command (`maestro version` shows its version)",
		}
	}
	t.Time = cli.Instant(events.Millis(t.event.Time.UnixMilli()))
	t.Who, t.Source = cli.Who(t.event.Source), t.event.Source
	t.Type, t.Project = t.event.Data.EventType(), t.event.Project
	t.What = t.event.Data.Describe().String()
	return nil
}

func (r *objectReplay) print(t replayedEvent) error {
	switch {
	case r.InLines():
		r.WriteJSON(t)
	case r.JSON:
		r.all = append(r.all, t)
	case r.Quiet():
		r.Print("%s\n", strconv.FormatUint(t.Sequence, 10))
	default:
		if t.event == nil {
			r.Print("%d  something in a project that you may not see\n", t.Sequence)
		} else {
			r.EventLine(t.Sequence, t.Time, t.event, r.names, t.Redacted)
		}
		for _, change := range t.Changes {
			if line := change.line(r.names); line != "" {
				r.Below(marks[change.Change], line)
			}
		}
	}
	return r.Broken()
}
