package offline

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"maestro/api/export"
	"maestro/events"
	"maestro/internal/cli"
	"maestro/internal/failure"
	"maestro/internal/safetext"
	"maestro/internal/syntax"
	"maestro/projections"
	"maestro/service/wire"
)

type replayOptions struct {
	session, task, project, from, at string
	limit                            int
}

// auditReplay is `maestro audit replay`.
type auditReplay struct {
	*cli.Run
	o replayOptions
	// checkLimit refuses an invalid --limit.
	checkLimit func() error
}

func newAuditReplay(a *cli.Run) *cobra.Command {
	c := &auditReplay{Run: a}
	cmd := &cobra.Command{
		Use:   "replay [<file>]",
		Short: "Replay the log: show what happened, or how the tasks stood at a given time",
		Args:  cli.Takes,
		Long: `Show what happened, from the server's log or from an export.

With --session or --task, it shows everything that was said and decided about
it. Otherwise it shows the history of the project, or of all projects. --from
and --at say where the history begins and ends; --limit shows only its newest
events. Each line shows an event's sequence, its time, its actor and what
happened.

With --at alone, or with --project, it shows the tree of tasks as it was then.`,
		RunE: cli.Running(c.run),
	}
	cmd.Flags().StringVar(&c.o.session, "session", "", "the history of this session")
	cmd.Flags().StringVar(&c.o.task, "task", "", "the history of this task")
	cmd.Flags().StringVar(&c.o.project, "project", "", "only this project; else MAESTRO_PROJECT_ID, else all")
	cmd.Flags().StringVar(&c.o.from, "from", "", "the first event: a sequence, a time, or a duration ago such as 10m")
	cmd.Flags().StringVar(&c.o.at, "at", "", "the last event: a sequence, a time, or a duration ago such as 10m")
	cmd.Flags().IntVar(&c.o.limit, "limit", 0, "only this many, the newest")
	cli.Exclude(cmd, "session", "task")
	a.ListFlags(cmd)
	cli.ValueName(cmd, "session", "<sessionId>")
	cli.ValueName(cmd, "task", "<taskId>")
	cli.ValueName(cmd, "project", "<projectId>")
	cli.ValueName(cmd, "from", "<sequence|time>")
	cli.ValueName(cmd, "at", "<sequence|time>")
	cli.ValueName(cmd, "limit", "<number>")
	c.checkLimit = func() error { return cli.AtLeastOne(cmd, "limit", c.o.limit) }
	return cli.Tell(cmd, "audit:replay", "at", "task")
}

func (c *auditReplay) run(ctx context.Context, args []string) error {
	if err := c.checkLimit(); err != nil {
		return err
	}
	return replayLog(ctx, c.Run, cli.At(args, 0), c.o)
}

// moment is a position in the log, such as the end of a replay; the zero value is none.
type moment struct {
	sequence uint64
	time     time.Time
}

func parseMoment(flag, text string) (moment, error) {
	if text == "" {
		return moment{}, nil
	}
	if sequence, err := strconv.ParseUint(text, 10, 64); err == nil && sequence > 0 {
		return moment{sequence: sequence}, nil
	}
	began, err := cli.Beginning(text)
	var at time.Time
	if err == nil {
		at, err = time.Parse(time.RFC3339Nano, began)
	}
	if err != nil {
		return moment{}, failure.Usage("--%s %q is not a sequence above 0, a time or a duration", flag, text).
			WithNext("give one such as 42, 2026-02-02T10:00:00Z, 2026-02-02, 10m or 3d")
	}
	return moment{time: at}, nil
}

// before reports whether the moment is before an event.
func (m moment) before(sequence uint64, at time.Time) bool {
	return m.sequence > 0 && sequence > m.sequence || !m.time.IsZero() && at.After(m.time)
}

// isAfter reports whether the moment is after an event.
func (m moment) isAfter(sequence uint64, at time.Time) bool {
	return sequence < m.sequence || !m.time.IsZero() && at.Before(m.time)
}

// unreached reports whether the moment is still to come when a log ends with this event.
func (m moment) unreached(sequence uint64, now time.Time) bool {
	return m.sequence > sequence || m.time.After(now)
}

// replayed is a log that is being folded.
type replayed struct {
	options replayOptions
	// from and until bound the replay.
	from, until moment
	state       *projections.State
	story       []told
	// last records what moved each task last.
	last map[string]told
	// found says that the requested session or task exists.
	found bool
	// whole says that the log was read to its end.
	whole bool
}

func replayLog(ctx context.Context, a *cli.Run, file string, o replayOptions) error {
	from, err := parseMoment("from", o.from)
	if err != nil {
		return err
	}
	until, err := parseMoment("at", o.at)
	if err != nil {
		return err
	}
	if !until.time.IsZero() && from.time.After(until.time) || until.sequence > 0 && from.sequence > until.sequence {
		return failure.Usage("--from %s is after --at %s", o.from, o.at).WithNext("swap them, or leave one out")
	}
	if o.project == "" && o.session == "" && o.task == "" {
		o.project = a.Getenv(wire.EnvProjectID)
	}
	var log io.Reader
	var done func()
	if file != "" {
		log, done, err = cli.OpenFile(a, file)
	} else {
		log, done, err = cli.ExportedLog(ctx, a, "", math.MaxUint64) // even of a damaged log
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
		options: o,
		from:    from,
		until:   until,
		state:   projections.New(),
		last:    map[string]told{},
	}
	err = r.fold(in)
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
			Why:     "the log has no event about it" + cli.Prefixed(" up to ", o.at),
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
			strconv.FormatUint(t.Sequence, 10), t.Time, cli.WhoNamed(t.Source, names), t.shown(names),
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
	}{{"from", r.options.from, r.from}, {"at", r.options.at, r.until}} {
		if flag.unreached(head, now) {
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

func (r *replayed) fold(log io.Reader) error {
	lines := bufio.NewScanner(log)
	lines.Buffer(make([]byte, 64<<10), 2*events.MaxBody+4<<10)
	var decoder events.Decoder
	var event events.Event
	for lines.Scan() {
		line, err := export.ReadLine(lines.Bytes())
		if err != nil {
			return unreadable(r.state.Head().Sequence, err)
		}
		if line.Withheld() {
			return failure.Usage("The export holds only a part of the log: event %d has no body", line.Sequence).
				WithNext("replay a whole export, or let the server's log be read: leave the file out")
		}
		if err := decoder.DecodeInto(line.Body(), &event); err != nil {
			return unreadable(r.state.Head().Sequence, fmt.Errorf("event %d: %w", line.Sequence, err))
		}
		if r.until.before(line.Sequence, event.Time) {
			return nil
		}
		changes, err := r.state.Apply(line.Sequence, &event, events.BodyHash(line.Body()))
		if err != nil {
			return err
		}
		r.tell(line.Sequence, &event, changes)
	}
	if err := lines.Err(); err != nil {
		return unreadable(r.state.Head().Sequence, syntax.Plain(err))
	}
	r.whole = true
	return nil
}

// unreadable says where an export can no longer be read.
func unreadable(behind uint64, err error) error {
	return &failure.Error{
		Status:  http.StatusUnprocessableEntity,
		Code:    failure.File,
		Err:     err,
		Message: fmt.Sprintf("The export cannot be read after event %d", behind),
		Why:     err.Error(),
		Next:    "name a file as `maestro audit export` wrote it",
	}
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
		Who:      cli.Who(e.Source),
		Source:   e.Source,
		Type:     e.Data.EventType(),
		Project:  e.Project,
		What:     shown.String(),

		what:      what,
		inSpiteOf: in,
	}
	if !e.OccurredAt.IsZero() {
		t.SaidAt = cli.Instant(events.Millis(e.OccurredAt.UnixMilli()))
		t.saidAt = " (said at " + t.SaidAt + ")"
		t.What += t.saidAt
	}
	about := r.options.session == "" && r.options.task == "" &&
		(r.options.project == "" || r.options.project == e.Project)
	for _, change := range changes {
		if change.Kind == projections.KindTask {
			r.last[change.ID] = t
		}
		switch change.Kind {
		case projections.KindSession, projections.KindSessionTimeline:
			about = about || change.ID == r.options.session
		case projections.KindTask, projections.KindTaskTimeline:
			about = about || change.ID == r.options.task
		case projections.KindProject,
			projections.KindQueue,
			projections.KindQueueItem,
			projections.KindInput,
			projections.KindToken,
			projections.KindTemplate:
		}
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
			data.Boards = append(data.Boards, board{p.View(), r.state.TaskTrees(p.ID, math.MaxInt)})
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
