package offline

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"maestro/api/client"
	"maestro/events"
	"maestro/internal/cli"
	"maestro/internal/failure"
	"maestro/projections"
	"maestro/service/wire"
)

// history is a log of which views of the past are read: that of a server, or a file. Moments are read in their order.
type history interface {
	// at returns the views as they were at a moment, those that can be of a subject or more; the zero moment is the
	// newest one.
	at(ctx context.Context, of subject, m moment) (*past, error)
	// frames calls each for what happened to a subject after the moment that was read last, as the live views show it.
	frames(ctx context.Context, of subject, until moment, each func(wire.LiveFrame) error) error
	// show shows the subject at a moment, as the command that shows it does.
	show(ctx context.Context, of subject, m moment) error
	// head returns the newest event of the log, if the frames were read to its end.
	head(ctx context.Context) (sequence uint64, end bool)
	// part says what the history does not show, "" if it shows everything.
	part() string
}

// past are the views at a moment.
type past struct {
	Sequence uint64 `json:"sequence"`
	// Time is that of the newest event then, "" before the first one.
	Time string `json:"time,omitempty"`

	keys  []projections.ViewKey
	views map[projections.ViewKey]any
}

func newPast() *past { return &past{views: map[projections.ViewKey]any{}} }

func (p *past) add(key projections.ViewKey, view any) {
	p.keys = append(p.keys, key)
	p.views[key] = view
}

// subject is what a replay or a difference is about; the zero value is the whole log.
type subject struct {
	kind projections.Kind
	id   string
}

// project returns the project of a project or a queue, "" for the others.
func (s subject) project() string {
	project, _, _ := strings.Cut(s.id, "/")
	if s.kind == projections.KindProject || s.kind == projections.KindQueue {
		return project
	}
	return ""
}

// filter asks the live views for what is about it. Those of a queue come with the others of its project.
func (s subject) filter() wire.LiveFilter {
	f := wire.LiveFilter{ProjectID: s.project()}
	switch s.kind { //nolint:exhaustive // the others have no timeline
	case projections.KindTask:
		f.Task = s.id
	case projections.KindSession:
		f.Session = s.id
	}
	return f
}

// has reports whether a view is about it.
func (s subject) has(key projections.ViewKey, view any) bool {
	switch s.kind { //nolint:exhaustive // the others have no timeline
	case "":
		return true
	case projections.KindQueue:
		return s.ofQueue(key)
	case projections.KindProject:
		return projectOf(key, view) == s.id
	}
	var about projections.About
	about.Add(view)
	f := s.filter()
	return about.Has(f.Session, f.Task)
}

// ofQueue reports whether a view is that of the queue or of one of its items.
func (s subject) ofQueue(key projections.ViewKey) bool {
	return key.Kind == projections.KindQueue && key.ID == s.id ||
		key.Kind == projections.KindQueueItem && strings.HasPrefix(key.ID, s.id+"/")
}

// projectOf returns the project of a view.
func projectOf(key projections.ViewKey, view any) string {
	switch x := view.(type) {
	case projections.TaskView:
		return x.ProjectID
	case projections.SessionView:
		return x.ProjectID
	case projections.InputView:
		return x.ProjectID
	}
	if key.Kind == projections.KindTemplate {
		return ""
	}
	project, _, _ := strings.Cut(key.ID, "/")
	return project
}

// notYetError says that a moment is after the end of the log.
type notYetError struct{ newest uint64 }

func (e *notYetError) Error() string { return fmt.Sprintf("the newest event is %d", e.newest) }

// notYet says in words that there is no such event yet, if that is the error.
func notYet(err error, flag, asked string) error {
	if late := (*notYetError)(nil); errors.As(err, &late) {
		return failure.Usage("--%s %s: there is no such event yet, the newest is %d", flag, asked, late.newest).
			WithNext("name an event up to %d, or a time", late.newest)
	}
	return err
}

// serverHistory is the log of a server. The server reads the past from its nearest snapshot.
type serverHistory struct {
	*cli.Run
	client *client.Client
	// after is the sequence of the moment that was read last.
	after uint64
	ended bool
}

func (h *serverHistory) part() string { return "" }

func (h *serverHistory) head(ctx context.Context) (uint64, bool) {
	newest, err := cli.NewestAt(ctx, h.client, "")
	if err != nil || newest == nil {
		return 0, false
	}
	return newest.Seq, h.ended
}

// moment finds the event that a moment means.
func (h *serverHistory) moment(ctx context.Context, m moment, p *past) error {
	at := ""
	if !m.isZero() {
		at = m.text()
	}
	newest, err := cli.NewestAt(ctx, h.client, at)
	if h.client.LookBack(""); isStatus(err, http.StatusBadRequest) && m.sequence > 0 {
		if newest, later := cli.NewestAt(ctx, h.client, ""); later == nil && newest != nil && newest.Seq < m.sequence {
			return &notYetError{newest.Seq}
		}
	}
	if p.Sequence = m.sequence; err != nil || newest == nil {
		return err
	}
	event, err := events.Decode(newest.Event)
	if err != nil {
		return err
	}
	p.Time = cli.Instant(events.Millis(event.Time.UnixMilli()))
	if m.sequence == 0 { // otherwise the caller may not see the event itself
		p.Sequence = newest.Seq
	}
	return nil
}

func (h *serverHistory) at(ctx context.Context, of subject, m moment) (*past, error) {
	p := newPast()
	if err := h.moment(ctx, m, p); err != nil {
		return nil, err
	}
	h.after = p.Sequence
	h.client.LookBack(strconv.FormatUint(p.Sequence, 10))
	defer h.client.LookBack("")
	project := of.project()
	var err error
	switch of.kind { //nolint:exhaustive // the others have no timeline
	case projections.KindTask:
		var t wire.Task
		t, err = h.client.Task(ctx, of.id)
		project = t.ProjectID
	case projections.KindSession:
		var x wire.Session
		x, err = h.client.Session(ctx, of.id)
		project = x.ProjectID
	case projections.KindProject, projections.KindQueue:
		_, err = h.client.Project(ctx, project)
	}
	if isStatus(err, http.StatusNotFound) {
		return p, nil // it did not exist then, and nothing was about it
	}
	if err != nil {
		return nil, err
	}
	return p, h.lists(ctx, p, project)
}

// isStatus reports whether a server answered with a status.
func isStatus(err error, status int) bool {
	var said *client.Error
	return errors.As(err, &said) && said.Status == status
}

// listed reads a list of views.
func listed[T any](p *past, kind projections.Kind, id func(T) string) func([]T, error) error {
	return func(found []T, err error) error {
		for _, view := range found {
			p.add(projections.ViewKey{Kind: kind, ID: id(view)}, view)
		}
		return err
	}
}

// lists reads the lists of all objects, or of those of a project.
func (h *serverHistory) lists(ctx context.Context, p *past, project string) error {
	c := h.client
	projects := func() ([]wire.Project, error) { return c.Projects(ctx, wire.ProjectFilter{}) }
	if project != "" {
		projects = func() ([]wire.Project, error) {
			one, err := c.Project(ctx, project)
			return []wire.Project{one}, err
		}
	}
	var queues []wire.Queue
	for _, read := range []func() error{
		func() error {
			return listed(p, projections.KindProject, func(x wire.Project) string { return x.ID })(projects())
		},
		func() error {
			return listed(p, projections.KindTask, func(t wire.Task) string { return t.ID })(
				c.Tasks(ctx, wire.TaskFilter{ProjectID: project}))
		},
		func() error {
			return listed(p, projections.KindSession, func(x wire.Session) string { return x.ID })(
				c.Sessions(ctx, wire.SessionFilter{ProjectID: project, Brief: "true"}))
		},
		func() (err error) {
			queues, err = c.Queues(ctx, wire.QueueFilter{ProjectID: project})
			return listed(p, projections.KindQueue, queueID)(queues, err)
		},
		func() error { return h.items(ctx, p, queues) },
		func() error {
			return listed(p, projections.KindInput, func(x wire.Input) string { return x.ID })(
				c.Inputs(ctx, wire.InputFilter{ProjectID: project}))
		},
		func() error {
			if project != "" {
				return nil
			}
			return listed(p, projections.KindTemplate, func(t wire.Template) string { return t.ID })(c.Templates(ctx))
		},
	} {
		if err := read(); err != nil {
			return err
		}
	}
	return nil
}

func queueID(q wire.Queue) string { return q.ProjectID + "/" + q.Name }

func (h *serverHistory) items(ctx context.Context, p *past, queues []wire.Queue) error {
	for _, q := range queues {
		body, err := h.client.Queue(ctx, wire.QueueName{Name: q.Name, ProjectID: q.ProjectID})
		if err != nil {
			return err
		}
		for _, item := range body.Items {
			p.add(projections.ViewKey{Kind: projections.KindQueueItem, ID: queueID(q) + "/" + item.TaskID}, item)
		}
	}
	return nil
}

// errReplayed ends the reading of frames.
var errReplayed = errors.New("the end of the replay is reached")

func (h *serverHistory) frames(
	ctx context.Context, of subject, until moment, each func(wire.LiveFrame) error,
) error {
	filter := of.filter()
	filter.After, filter.Follow = strconv.FormatUint(h.after, 10), "false"
	err := h.client.Live(ctx, filter, func(m client.LiveMessage) error {
		if m.Kind != wire.LiveKindFrame {
			return nil
		}
		frame, at, err := frameIn(m.Data)
		switch {
		case err != nil:
			return err
		case until.before(frame.Seq, at):
			return errReplayed
		}
		return each(frame)
	})
	if errors.Is(err, errReplayed) {
		return nil
	}
	h.ended = err == nil
	return err
}

func (h *serverHistory) show(ctx context.Context, of subject, m moment) error {
	return cli.AsItWas(ctx, h.Run, string(of.kind), of.id, m.text())
}
