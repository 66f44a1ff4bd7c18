package offline

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"maestro/api/client"
	"maestro/events"
	"maestro/internal/cli"
	"maestro/internal/failure"
	"maestro/internal/safetext"
	"maestro/projections"
	"maestro/service/wire"
)

type replayOptions struct {
	session, task, project, from, at, to string
	limit                                int
	speed                                float64
}

// auditReplay is `maestro audit replay`.
type auditReplay struct {
	*cli.Run
	o replayOptions
	// checkLimit refuses an invalid --limit.
	checkLimit func() error
	// given reports whether a flag is on the command line.
	given func(flag string) bool
}

func newAuditReplay(a *cli.Run) *cobra.Command {
	c := &auditReplay{Run: a}
	cmd := &cobra.Command{
		Use:   "replay [<object>] [<file>]",
		Short: "Replay the log, or the timeline of one object, or show how things stood at a given time",
		Args:  cli.Takes,
		Long: `Show what happened, from the server's log or from an export.

An object is a task (its id, or its id in a plan), a session, a project or a
queue (<project>/<queue>). Its replay shows each event that concerned it and,
below the event, how the views about it changed: + was created, ~ changed,
- was removed, > came to concern the object, < no longer does. --from and --to
say where the replay begins and ends, and --speed paces it as the events were in
time: 1 as fast, 60 a minute in a second. --at shows the object as it was then,
as "task get --at" does. With a file, name whole ids.

Without an object, it lists the events: with --session or --task, everything
that was said and decided about it, otherwise the history of the project, or of
all projects. --from and --to say where the history begins and ends; --limit
shows only its newest events. Each line shows an event's sequence, its time, its
actor and what happened. With --at alone, or with --project, it shows the tree
of tasks as it was then.

The export of one project shows what is of that project: each of its events, and
how they changed the views. The other events it only counts.`,
		RunE: cli.Running(c.run),
	}
	cmd.Flags().StringVar(&c.o.session, "session", "", "the history of this session")
	cmd.Flags().StringVar(&c.o.task, "task", "", "the history of this task")
	cmd.Flags().StringVar(&c.o.project, "project", "",
		"only this project; else MAESTRO_PROJECT_ID, but not with a file; else all")
	cmd.Flags().StringVar(&c.o.from, "from", "", "the first event: a sequence, a time, or a duration ago such as 10m")
	cmd.Flags().StringVar(&c.o.at, "at", "", "show the state after this event, at this time, or this long ago")
	cmd.Flags().StringVar(&c.o.to, "to", "", "the last event: a sequence, a time, or a duration ago such as 10m")
	cmd.Flags().Float64Var(&c.o.speed, "speed", 0,
		"pace the events of an object as they were in time, so many times as fast")
	cmd.Flags().IntVar(&c.o.limit, "limit", 0, "only this many, the newest")
	cli.Exclude(cmd, "session", "task")
	cli.Exclude(cmd, "at", "to")
	a.ListFlags(cmd)
	a.ReadsFile(cmd, func(args []string) bool {
		_, file := operands(args)
		return file != ""
	})
	cli.ValueName(cmd, "session", "<sessionId>")
	cli.ValueName(cmd, "task", "<taskId>")
	cli.ValueName(cmd, "project", "<projectId>")
	cli.ValueName(cmd, "from", "<sequence|time>")
	cli.ValueName(cmd, "at", "<sequence|time>")
	cli.NoteAt(cmd)
	cli.ValueName(cmd, "to", "<sequence|time>")
	cli.ValueName(cmd, "limit", "<number>")
	cli.ValueName(cmd, "speed", "<number>")
	c.given = func(flag string) bool { return cmd.Flags().Changed(flag) }
	c.checkLimit = func() error { return cli.AtLeastOne(cmd, "limit", c.o.limit) }
	return cli.Tell(cmd, "audit:replay", "at", "task")
}

func (c *auditReplay) run(ctx context.Context, args []string) error {
	if err := c.checkLimit(); err != nil {
		return err
	}
	object, file := operands(args)
	if object != "" {
		return c.replayObject(ctx, object, file)
	}
	if c.given("speed") {
		return failure.Usage("--speed paces the replay of one object").
			WithNext("name a task, a session, a project or a queue: `maestro audit replay ID --speed 60`")
	}
	return replayLog(ctx, c.Run, file, c.o)
}

// bounds returns the first and the last moment of a replay.
func (o replayOptions) bounds() (from, until moment, err error) {
	if from, err = parseMoment("from", o.from); err != nil {
		return from, until, err
	}
	end, flag := o.at, "at"
	if end == "" {
		end, flag = o.to, "to"
	}
	if until, err = parseMoment(flag, end); err == nil && until.isBefore(from) && !until.isZero() {
		err = failure.Usage("--from %s is after --%s %s", o.from, flag, end).WithNext("swap them, or leave one out")
	}
	return from, until, err
}

// replayed is a log that is being folded.
type replayed struct {
	options replayOptions
	// from and until bound the replay.
	from, until moment
	state       *projections.State
	story       []told
	// redacted are the texts that the log says were removed.
	redacted redactions
	// last records what moved each task last.
	last map[string]told
	// ofFile says that the log is in a file: what --project names is known at its end.
	ofFile bool
	// found says that the requested session or task exists.
	found bool
	// whole says that the log was read to its end, part what it does not show.
	whole bool
	part  string
}

func replayLog(ctx context.Context, a *cli.Run, file string, o replayOptions) error {
	from, until, err := o.bounds()
	if err != nil {
		return err
	}
	if file == "" && o.project == "" && o.session == "" && o.task == "" {
		o.project = a.Getenv(wire.EnvProjectID)
	}
	var log io.Reader
	var done func()
	if file != "" {
		log, done, err = cli.OpenFile(a, file)
	} else {
		log, done, err = cli.ExportedLog(ctx, a, client.Exported{To: math.MaxUint64}) // even of a damaged log
	}
	if err != nil {
		return err
	}
	defer done()
	in := bufio.NewReader(log)
	if file != "" {
		if err := mustBeExport(file, in, "`maestro audit replay`"); err != nil {
			return err
		}
	}
	r := &replayed{
		options:  o,
		from:     from,
		until:    until,
		ofFile:   file != "",
		state:    projections.New(),
		redacted: redactions{},
		last:     map[string]told{},
	}
	err = r.fold(in, file)
	if err == nil && r.ofFile {
		err = r.choose(file)
	}
	var own *failure.Error
	switch {
	case err == nil, errors.As(err, &own):
	case file != "":
		err = cli.Unreadable(file, err)
	default:
		err = cli.CutShort(err)
	}
	if err != nil {
		return err
	}
	if r.part != "" {
		a.Say("maestro: %s\n", r.part)
	}
	if r.whole {
		r.tellEnd(a)
	}
	if o.at != "" && o.session == "" && o.task == "" && o.from == "" && o.limit == 0 {
		return showBoard(a, r)
	}
	if kind, id := r.wanted(); id != "" && !r.found {
		return &failure.Error{
			Code:    failure.NotFound,
			Message: kind + " with id '" + id + "' not found",
			Why:     "the log has no event about it" + cli.Prefixed(" up to ", cmp.Or(o.at, o.to)),
		}
	}
	if o.limit > 0 && len(r.story) > o.limit {
		r.story = r.story[len(r.story)-o.limit:]
	}
	none := "Nothing had happened yet"
	if o.from != "" {
		none = "Nothing happened from " + o.from + " on"
	}
	names := r.names()
	columns := []string{"EVENT", "TIME", "WHO", "WHAT"}
	cli.List(a, r.story, none, columns, func(t told) []string {
		return []string{
			strconv.FormatUint(t.Sequence, 10), a.HappenedAt(t.at), cli.WhoNamed(t.Source, names), t.shown(names),
		}
	})
	return nil
}

// tellEnd warns that the log ends before the requested beginning or end.
func (r *replayed) tellEnd(a *cli.Run) {
	head, now := r.state.Head().Sequence, a.Wall()
	for _, flag := range []struct {
		name, value string
		moment
	}{{"from", r.options.from, r.from}, {"at", r.options.at, r.until}, {"to", r.options.to, r.until}} {
		if flag.value != "" && flag.unreached(head, now) {
			a.Say("maestro: the log ends at event %d, before --%s %s\n", head, flag.name, flag.value)
			return
		}
	}
}

func (r *replayed) wanted() (kind, id string) {
	switch {
	case r.options.session != "":
		return "Session", r.options.session
	case r.options.task != "":
		return "Task", r.options.task
	}
	return "Project", r.options.project
}

// names are the names of the sessions and the titles of the tasks of the log, by id, as they are at the end.
func (r *replayed) names() map[string]string {
	names := map[string]string{}
	for _, t := range r.story {
		for _, id := range append(cli.IDsIn(t.What), cli.IDsIn(t.Source)...) {
			if x := r.state.SessionEver(id); x != nil {
				names[id] = x.Name
			}
			if task := r.state.TaskEver(id); task != nil {
				names[id] = task.Title
			}
		}
	}
	for _, last := range r.last {
		if _, id, ok := wire.SessionOfSource(last.Source); ok {
			if x := r.state.SessionEver(id); x != nil {
				names[id] = x.Name
			}
		}
	}
	return names
}

func (r *replayed) fold(log io.Reader, file string) error {
	l := newFoldedLog(log, file)
	r.state = l.state
	for {
		more, err := l.next(r.until)
		if err != nil || !more {
			r.whole, r.part = l.whole, l.part()
			return cmp.Or(err, r.redact(l))
		}
		r.redacted.note(l.line.Sequence, &l.event)
		r.tell(l.line.Sequence, &l.event, l.changes)
	}
}

// redact marks the texts that were removed: the rest of the log may say so.
func (r *replayed) redact(l *foldedLog) error {
	if !slices.ContainsFunc(r.story, func(t told) bool { return t.texts != nil }) {
		return nil
	}
	if l.ahead && !l.line.Withheld() {
		r.redacted.note(l.line.Sequence, &l.event)
	}
	if err := r.redacted.rest(l.lines); err != nil {
		return err
	}
	for i := range r.story {
		r.story[i].Redacted = r.redacted.in(r.story[i].texts)
	}
	return nil
}

// inSpiteOf says in spite of what a change of a task's status was forced, as the state shows it: the event only says
// that it was. It returns "" for any other event.
func (r *replayed) inSpiteOf(data events.Data) string {
	var id string
	switch d := data.(type) {
	case *events.TaskStatusChanged:
		if d.Forced {
			id = d.TaskID
		}
	case *events.TaskUpdated:
		if d.Forced {
			id = d.TaskID
		}
	}
	t := r.state.Task(id)
	if t == nil {
		return ""
	}
	if parent := r.state.Task(t.ParentID); t.Status != events.TaskCompleted && parent != nil &&
		parent.Status == events.TaskCompleted {
		return "its parent " + parent.ID + " was completed"
	}
	const named = 3
	open, all := r.state.SomeUnfinished(t.ID, named)
	switch {
	case t.Status != events.TaskCompleted || all == 0:
		return ""
	case all == 1:
		return open[0] + " below it was open"
	case all > len(open):
		return fmt.Sprintf("%s and %d more below it were open", strings.Join(open, ", "), all-len(open))
	}
	return strings.Join(open, " and ") + " below it were open"
}

// tell keeps the event if the replay is about it.
func (r *replayed) tell(sequence uint64, e *events.Event, changes []projections.Change) {
	what, in := e.Data.Describe(), r.inSpiteOf(e.Data)
	shown := what
	if in != "" {
		shown = what.InSpiteOf(in)
	}
	t := told{
		Sequence: sequence,
		Time:     cli.Instant(events.Millis(e.Time.UnixMilli())),
		at:       events.Millis(e.Time.UnixMilli()),
		Who:      cli.Who(e.Source),
		Source:   e.Source,
		Type:     e.Data.EventType(),
		Project:  e.Project,
		What:     shown.String(),

		what:      what,
		inSpiteOf: in,
		texts:     events.Digests(e.Data),
	}
	if !e.OccurredAt.IsZero() {
		t.SaidAt = cli.Instant(events.Millis(e.OccurredAt.UnixMilli()))
		t.saidAt = " (said at " + t.SaidAt + ")"
		t.What += t.saidAt
	}
	about := r.options.session == "" && r.options.task == "" &&
		(r.options.project == "" || r.ofFile || r.options.project == e.Project)
	for _, change := range changes {
		if change.Kind == projections.KindTask {
			r.last[change.ID] = t
		}
		of := r.state.ChangeAbout(change)
		about = about || r.options.task != "" && of.Has("", r.options.task) || change.ID == r.options.session &&
			(change.Kind == projections.KindSession || change.Kind == projections.KindSessionTimeline)
	}
	if about {
		r.found = true
	}
	if about && !r.from.isAfter(sequence, e.Time) {
		r.story = append(r.story, t)
	}
}

// board is the state of a project at a moment.
type board struct {
	Project projections.ProjectView `json:"project"`
	Tasks   []projections.TaskTree  `json:"tasks"`
}

func showBoard(a *cli.Run, r *replayed) error {
	data := struct {
		Head   events.Head `json:"head"`
		Time   string      `json:"time"`
		Boards []board     `json:"projects"`
	}{Head: r.state.Head(), Time: cli.Instant(events.Millis(r.state.At().UnixMilli())), Boards: []board{}}
	for p := range r.state.Projects() {
		if r.options.project == "" || r.options.project == p.ID {
			data.Boards = append(data.Boards, board{r.state.ProjectView(p), r.state.TaskTrees(p.ID, math.MaxInt)})
		}
	}
	if r.options.project != "" && len(data.Boards) == 0 {
		return &failure.Error{
			Code:    failure.NotFound,
			Message: "Project with id '" + r.options.project + "' not found",
			Why:     "it did not exist at " + r.options.at,
			Next:    "name a later event with --at, or another project with --project",
		}
	}
	a.Result(data, func() {
		if a.Quiet() {
			for _, b := range data.Boards {
				for _, tree := range b.Tasks {
					a.Print("%s\n", cli.TreeIDs(tree))
				}
			}
			return
		}
		if data.Head.Sequence == 0 {
			a.Print("Nothing had happened yet\n")
			return
		}
		names := r.names()
		a.Print("As it was at event %d, %s\n", data.Head.Sequence, data.Time)
		for _, b := range data.Boards {
			a.Print("\n%s  %s\n", b.Project.ID, safetext.OneLine(b.Project.Name))
			cli.DrawTrees(a, b.Tasks, func(t projections.TaskView) string {
				last := r.last[t.ID]
				who := cli.WhoNamed(last.Source, names)
				return fmt.Sprintf("%s  (%d  %s  %s)", cli.TreeLine(t), last.Sequence, last.Time, who)
			})
		}
	})
	return nil
}
