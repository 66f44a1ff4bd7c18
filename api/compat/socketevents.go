package compat

import (
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"sort"

	"maestro/events"
	"maestro/projections"
	"maestro/service"
	"maestro/service/wire"
)

// socketEvent is a message to a client.
type socketEvent struct {
	Type      string        `json:"type"`
	Event     string        `json:"event"`
	Data      any           `json:"data"`
	Timestamp events.Millis `json:"timestamp"`
}

// gone is the data of an event about a deleted object.
type gone struct {
	ID string `json:"id"`
}

// taskOfSession is the data of an event about a link, as the task has it; sessionOfTask as the session has it.
type taskOfSession struct {
	TaskID    string `json:"taskId"`
	SessionID string `json:"sessionId"`
}

type sessionOfTask struct {
	SessionID string `json:"sessionId"`
	TaskID    string `json:"taskId"`
}

// spawnEvent is the data of session:spawn: what a client needs to start the agent of a new session.
type spawnEvent struct {
	Session     socketSession     `json:"session"`
	Command     string            `json:"command"`
	Cwd         string            `json:"cwd"`
	EnvVars     map[string]string `json:"envVars"`
	Manifest    json.RawMessage   `json:"manifest"`
	ProjectID   string            `json:"projectId"`
	TaskIDs     []string          `json:"taskIds"`
	SpawnSource string            `json:"spawnSource"`
	// ParentSessionID is null if a user spawned the session.
	ParentSessionID *string `json:"parentSessionId"`
	IsSpawnCreated  bool    `json:"_isSpawnCreated"`
}

// socketSession is a [SessionBody] whose lists are complete.
type socketSession struct {
	SessionHead
	Events   []SessionEvent `json:"events"`
	Timeline []wire.Entry   `json:"timeline"`
}

// told is what one commit says to a client, in order.
type told struct {
	*socket
	frame *service.Frame
	view  service.View
	at    events.Millis
	found []func() (socketEvent, error)
}

// tell sends what a frame says to older clients: the events that their server sent for the same change, whatever
// interface it came by. The objects are found while the state is held, and shown afterwards.
func (s *socket) tell(ctx context.Context, frame *service.Frame, send func(socketEvent) error) error {
	t := &told{socket: s, frame: frame, at: events.Millis(s.Now().UnixMilli())}
	if frame.Event != nil {
		t.at = events.Millis(frame.Event.Time.UnixMilli())
	}
	err := s.Look(ctx, s.caller, func(v service.View) error {
		t.view, t.found = v, nil
		t.changes(ctx)
		return nil
	})
	t.view = service.View{} // the state may change from now on
	if err != nil {
		return err
	}
	for _, show := range t.found {
		event, err := show()
		if err == nil {
			err = send(event)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// later adds an event whose data is made when it is sent.
func (t *told) later(kind string, data func() (any, error)) {
	t.found = append(t.found, func() (socketEvent, error) {
		made, err := data()
		return socketEvent{kind, kind, made, t.at}, err
	})
}

func (t *told) add(kind string, data any) {
	t.later(kind, func() (any, error) { return data, nil })
}

// changed is an object before and after a commit. Before is nil for a new one.
type changed[T any] struct{ before, after *T }

// changedOf returns the objects of a type that a commit changed, in the order in which it first did.
func changedOf[T any](changes []projections.Change) (objects []*changed[T]) {
	byID := map[string]*changed[T]{}
	for _, change := range changes {
		after, is := change.After.(*T)
		if !is || after == nil {
			continue
		}
		known := byID[change.ID]
		if known == nil {
			before, _ := change.Before.(*T)
			known = &changed[T]{before: before}
			byID[change.ID] = known
			objects = append(objects, known)
		}
		known.after = after
	}
	return objects
}

// changes finds what a commit changed.
func (t *told) changes(ctx context.Context) {
	for _, p := range changedOf[projections.Project](t.frame.Changes) {
		t.project(p.before, p.after)
	}
	for _, task := range changedOf[projections.Task](t.frame.Changes) {
		t.task(task.before, task.after)
	}
	known := map[string]bool{}
	for _, x := range changedOf[projections.Session](t.frame.Changes) {
		known[x.after.ID] = true
		t.session(ctx, x.before, x.after)
	}
	// Others may write to a timeline without changing its session.
	for _, change := range t.frame.Changes {
		if change.Kind != projections.KindSessionTimeline || known[change.ID] || t.data() == quiet {
			continue
		}
		known[change.ID] = true
		if x := t.view.Session(change.ID); x != nil {
			t.updated(x)
		}
	}
}

func (t *told) project(before, after *projections.Project) {
	switch {
	case before == nil:
		t.add("project:created", t.view.ProjectView(after))
	case after.Deleted:
		t.add("project:deleted", gone{after.ID})
	case t.data() == ofProject: // others only change how much is in it
		t.add("project:updated", t.view.ProjectView(after))
	}
}

func (t *told) task(before, after *projections.Task) {
	switch {
	case before == nil:
		t.add("task:created", t.view.TaskViewAlone(after))
	case after.Deleted:
		t.add("task:deleted", gone{after.ID})
	case t.data() == ofTask || before.Status != after.Status:
		t.add("task:updated", t.view.TaskViewAlone(after))
	}
}

// written is what an event was to older clients, which decides what their server said about it.
type written int

const (
	// other is anything else: its visible effects are told.
	other written = iota
	// ofProject is the change of a project.
	ofProject
	// ofTask is what older clients send as a PATCH of a task: its session is told only if its timeline has a new entry.
	ofTask
	// ofSession is what older clients send to a session: it is told even if nothing changed.
	ofSession
	// ofLink links a task and a session, or ends that.
	ofLink
	// quiet are the steps of queues. Only the status of a task or a session is told, which an older server did not
	// change then.
	quiet
)

// data returns what the event of the frame was to older clients. An event of another project is other.
func (t *told) data() written {
	if t.frame.Event == nil {
		return ofTask // it changed a task here, or a timeline
	}
	switch t.frame.Event.Data.(type) {
	case *events.ProjectUpdated:
		return ofProject
	case *events.TaskUpdated, *events.TaskStatusChanged, *events.SessionReported:
		return ofTask
	case *events.SessionUpdated, *events.SessionRegistered, *events.SessionCompleted, *events.SessionKilled,
		*events.SessionNoted, *events.SessionFileTracked:
		return ofSession
	case *events.SessionTaskLinked, *events.SessionTaskUnlinked:
		return ofLink
	case *events.QueueCreated, *events.QueueDeleted, *events.QueueItemPushed, *events.QueueItemStarted,
		*events.QueueItemCompleted, *events.QueueItemFailed, *events.QueueItemSkipped, *events.QueueItemRequeued,
		*events.QueueItemReturned, *events.QueueItemMoved, *events.QueueItemRemoved, *events.QueueItemQuarantined:
		return quiet
	}
	return other
}

func (t *told) session(ctx context.Context, before, after *projections.Session) {
	switch {
	case before == nil:
		t.created(ctx, after)
	case after.Deleted:
		t.add("session:deleted", gone{after.ID})
	case t.data() == ofLink && t.isSubject(after):
		t.linked(after.ID)
	case t.isUpdate(before, after):
		t.updated(after)
		t.given(before, after)
	}
}

// isSubject reports whether the event is about a session, and not caused by it only.
func (t *told) isSubject(x *projections.Session) bool {
	kind, id := t.frame.Event.Data.Aggregate()
	return kind == events.AggregateSession && id == x.ID
}

// isUpdate reports whether clients are told of the change of a session: not if it only was heard.
func (t *told) isUpdate(before, after *projections.Session) bool {
	switch {
	case t.data() == quiet:
		return before.Status != after.Status
	case t.data() == ofSession && t.isSubject(after):
		return true
	}
	if slices.ContainsFunc(t.frame.Changes, func(c projections.Change) bool {
		return c.Kind == projections.KindSessionTimeline && c.ID == after.ID
	}) {
		return true
	}
	was, is := before.View(), after.View()
	was.LastActivity = is.LastActivity
	return !reflect.DeepEqual(was, is)
}

// created tells of a new session. One that was spawned is told as its client has to start it.
func (t *told) created(ctx context.Context, x *projections.Session) {
	if x.Spawned {
		t.added(x)
		t.updated(x)
		t.spawned(ctx, x)
		return
	}
	t.later("session:created", t.shown(x))
	t.added(x)
}

// added tells each task of a new session.
func (t *told) added(x *projections.Session) {
	for _, task := range x.TaskIDs {
		t.add("task:session_added", taskOfSession{task, x.ID})
	}
}

// given tells each task that an update gave to a session. A task that it took away keeps the session's id.
func (t *told) given(before, after *projections.Session) {
	has := make(map[string]bool, len(before.TaskIDs))
	for _, id := range before.TaskIDs {
		has[id] = true
	}
	for _, task := range changedOf[projections.Task](t.frame.Changes) {
		was, is := 0, len(task.after.SessionIDs)
		if task.before != nil {
			was = len(task.before.SessionIDs)
		}
		if is > was && task.after.SessionIDs[is-1] == after.ID && !has[task.after.ID] { // the newest is the last
			t.add("task:session_added", taskOfSession{task.after.ID, after.ID})
		}
	}
}

// linked tells of a link, or of its end: first the session, then the task.
func (t *told) linked(session string) {
	kind, task := "added", ""
	switch d := t.frame.Event.Data.(type) {
	case *events.SessionTaskLinked:
		task = d.TaskID
	case *events.SessionTaskUnlinked:
		kind, task = "removed", d.TaskID
	}
	t.add("session:task_"+kind, sessionOfTask{session, task})
	t.add("task:session_"+kind, taskOfSession{task, session})
}

func (t *told) updated(x *projections.Session) { t.later("session:updated", t.shown(x)) }

// timelineBytes bounds the entries of a session in an event: each client gets the whole session with each of them.
const timelineBytes = 256 << 10

// shown returns a function that shows a session as it was after the event, with its newest entries.
func (t *told) shown(x *projections.Session) func() (any, error) {
	show := t.sessionShown(x)
	return func() (any, error) { return show() }
}

func (t *told) sessionShown(x *projections.Session) func() (socketSession, error) {
	shown := t.view.Shown(x)
	shown.Timeline = shown.Timeline[:sort.Search(len(shown.Timeline), func(i int) bool {
		return shown.Timeline[i].Sequence() > t.frame.Sequence
	})]
	return func() (body socketSession, err error) {
		err = service.RecoverPart(func() error {
			part := t.body(shown, t.caller, newestEntries)
			body = socketSession{
				SessionHead: part.SessionHead,
				Events:      newestBytes(part.Events, func(e SessionEvent) int { return len(e.Data) }),
				Timeline:    newestBytes(part.Timeline, func(e wire.Entry) int { return len(e.Message) + len(e.Data) }),
			}
			return nil
		})
		return body, err
	}
}

// newestBytes returns the newest items of a list, up to timelineBytes together.
func newestBytes[T any](list service.List[T], size func(T) int) []T {
	all := slices.AppendSeq([]T{}, list.Items)
	room := timelineBytes
	for i, item := range slices.Backward(all) {
		if room -= size(item); room < 0 {
			return all[i+1:]
		}
	}
	return all
}

// spawned tells the clients to start the agent of a session. The manifest is null for those that may not read it. None
// is sent the session's secret: all clients get the event.
func (t *told) spawned(ctx context.Context, x *projections.Session) {
	show := t.sessionShown(x)
	command := "maestro worker init"
	if x.Role == events.RoleOrchestrator {
		command = "maestro orchestrator init"
	}
	cwd := ""
	if p := t.view.Project(x.ProjectID); p != nil {
		cwd = p.WorkingDir
	}
	if x.Options != nil && x.Options.WorkingDirectory != "" {
		cwd = x.Options.WorkingDirectory
	}
	t.later("session:spawn", func() (any, error) {
		session, err := show()
		if err != nil {
			return nil, err
		}
		t.place(ctx, x.ID) // a client starts the agent at once
		manifest, _, err := t.SessionManifest(ctx, t.caller, x.ID)
		if err != nil {
			manifest = nil
			t.Logger.Debug("session:spawn has no manifest", "session", x.ID, "why", err)
		}
		spawn := spawnEvent{
			Session:        session,
			Command:        command,
			Cwd:            cwd,
			EnvVars:        session.Env,
			Manifest:       manifest,
			ProjectID:      x.ProjectID,
			TaskIDs:        session.TaskIDs,
			SpawnSource:    "ui",
			IsSpawnCreated: true,
		}
		if x.SpawnedBy != "" {
			spawn.SpawnSource, spawn.ParentSessionID = "session", &x.SpawnedBy
		}
		return spawn, nil
	})
}
