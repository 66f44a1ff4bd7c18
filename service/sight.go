package service

import (
	"slices"

	"maestro/commands"
	"maestro/engine"
	"maestro/events"
	"maestro/projections"
)

// WatchFilter selects the content of a watch; everything that the caller may see if it is empty.
type WatchFilter struct {
	// Project selects what happens in this project.
	Project string
	// Session selects what this session did, and what changed it, its timeline, its questions or the items it holds.
	Session string
	// Task selects what concerns this task: its view, its items and questions, its timeline, and the sessions that have
	// it.
	Task string
	// Kinds selects changes of these kinds, and drops events without any.
	Kinds []projections.Kind
}

// sight determines what a caller sees of each commit, on one state.
type sight struct {
	View

	filter WatchFilter
	// seen remembers which projects the caller may watch, and listed which objects of a project it may list.
	seen   map[string]bool
	listed map[kindIn]bool
}

// kindIn is a kind of objects in a project.
type kindIn struct {
	kind    projections.Kind
	project string
}

func newSight(v View, filter WatchFilter) *sight {
	return &sight{
		View:   v,
		filter: filter,
		seen:   map[string]bool{},
		listed: map[kindIn]bool{},
	}
}

// sees reports whether the caller may watch a project. What belongs to none, such as a token, is only for callers that
// read everything.
func (s *sight) sees(project string) bool {
	if project == "" {
		return s.Caller.ReadsAll()
	}
	sees, known := s.seen[project]
	if !known {
		sees = s.Permit(watchRow, project) == nil
		s.seen[project] = sees
	}
	return sees
}

// listRows are the rows that permit to list objects. Questions have a rule of their own: maySeeQuestion.
var listRows = map[projections.Kind]string{
	projections.KindProject:         "project:list",
	projections.KindTask:            "task:list",
	projections.KindTaskTimeline:    "task:get",
	projections.KindSession:         "session:list",
	projections.KindSessionTimeline: "session:info",
	projections.KindQueue:           "queue:status",
	projections.KindQueueItem:       "queue:list",
	projections.KindTemplate:        "template:list",
}

// lists reports whether the caller may list the objects of a kind in a project, besides watching it.
func (s *sight) lists(kind projections.Kind, project string) bool {
	row := listRows[kind]
	if row == "" || s.Caller.By.Kind != commands.ActorSession {
		return true
	}
	key := kindIn{kind, project}
	may, known := s.listed[key]
	if !known {
		may = s.Permit(row, project) == nil
		s.listed[key] = may
	}
	return may
}

// frame returns what the caller sees of a commit, false if that is nothing.
func (s *sight) frame(c *engine.Commit) (Frame, bool) {
	frame := Frame{Position: positionOf(c.Sequence, c.Body)}
	if s.sees(c.Event.Project) {
		if frame.Event = s.eventAsSeen(c.Event); frame.Event == c.Event {
			frame.stored = c.Text
		}
	}
	if s.filter.Session != "" && !s.about(c) {
		return frame, false
	}
	for _, change := range c.Changes {
		project, every := s.projectOf(change)
		if !every && !s.sees(project) || !s.lists(change.Kind, project) ||
			s.filter.Project != "" && project != s.filter.Project ||
			len(s.filter.Kinds) > 0 && !slices.Contains(s.filter.Kinds, change.Kind) {
			continue
		}
		frame.Changes = append(frame.Changes, s.asSeen(change))
	}
	passes := frame.Event != nil && len(s.filter.Kinds) == 0 &&
		(s.filter.Project == "" || c.Event.Project == s.filter.Project)
	return frame, passes || len(frame.Changes) > 0
}

// projectOf returns the project of a change, "" for none; every says that everybody may see it.
func (s *sight) projectOf(change projections.Change) (project string, every bool) {
	switch x := change.After.(type) {
	case *projections.Project:
		return x.ID, false
	case *projections.Task:
		return x.ProjectID, false
	case *projections.Session:
		return x.ProjectID, false
	case *projections.Queue:
		return x.ProjectID, false
	case *projections.Item:
		return x.ProjectID, false
	case *projections.Input:
		return x.ProjectID, false
	case *projections.Entry:
		if change.Kind == projections.KindTaskTimeline {
			return s.TaskProject(x.TaskID), false
		}
		return s.SessionProject(x.SessionID), false
	case *projections.Template:
		return "", true
	}
	return "", false // a token, or a webhook
}

// about reports whether a commit concerns the session of the filter.
func (s *sight) about(c *engine.Commit) bool {
	if _, session, ok := projections.SessionOfSource(c.Event.Source); ok && session == s.filter.Session {
		return true
	}
	return slices.ContainsFunc(c.Changes, func(change projections.Change) bool {
		for _, value := range []any{change.Before, change.After} {
			switch x := value.(type) {
			case *projections.Session:
				if x != nil && x.ID == s.filter.Session {
					return true
				}
			case *projections.Item:
				if x != nil && x.SessionID == s.filter.Session {
					return true
				}
			case *projections.Input:
				if x != nil && x.SessionID == s.filter.Session {
					return true
				}
			case *projections.Entry:
				if x.SessionID == s.filter.Session {
					return true
				}
			}
		}
		return false
	})
}

// asSeen removes a session's environment and its context for callers that may not see them, and what was written to a
// session for callers that do not read its mail.
func (s *sight) asSeen(change projections.Change) projections.Change {
	hide := func(value any) any {
		switch x := value.(type) {
		case *projections.Session:
			if x != nil {
				return s.sessionShown(x)
			}
		case *projections.Input:
			if x != nil && x.Answer != "" && !s.readsMailOf(x.SessionID) {
				hidden := *x
				hidden.Answer = ""
				return &hidden
			}
		case *projections.Entry:
			if x != nil && x.IsMail() && !s.readsMailOf(x.SessionID) {
				hidden := *x
				hidden.Message, hidden.Blob = "", ""
				return &hidden
			}
		}
		return value
	}
	change.Before, change.After = hide(change.Before), hide(change.After)
	return change
}

// sessionShown is asSeen for a session.
func (s *sight) sessionShown(x *projections.Session) *projections.Session {
	env, given := len(x.Env) > 0 && !s.Caller.SeesEnv(x), len(x.Context) > 0 && !s.Caller.ReadsContext(x)
	mail := len(x.Mail) > 0 && !s.Caller.readsMail(x)
	if !env && !given && !mail {
		return x
	}
	hidden := *x
	fields := *x.SessionFields
	hidden.SessionFields = &fields
	if env {
		fields.Env, fields.UserEnv = nil, nil
	}
	if given {
		fields.Context = nil
	}
	if mail {
		hidden.Mail = slices.Clone(x.Mail)
		for i := range hidden.Mail {
			hidden.Mail[i].Text = ""
		}
	}
	return &hidden
}

func (s *sight) readsMailOf(session string) bool {
	x := s.SessionEver(session)
	return x != nil && s.Caller.readsMail(x)
}

// eventAsSeen does the same for an event.
func (s *sight) eventAsSeen(e *events.Event) *events.Event {
	hidden := *e
	switch d := e.Data.(type) {
	case *events.SessionSpawned:
		if x := s.SessionEver(d.SessionID); len(d.Context) == 0 || x != nil && s.Caller.ReadsContext(x) {
			return e
		}
		data := *d
		data.Context, hidden.Data = nil, &data
	case *events.SessionRegistered:
		if d.Created == nil || len(d.Created.Env) == 0 || s.Caller.seesEnvOf(d.SessionID) {
			return e
		}
		data, created := *d, *d.Created
		created.Env = nil
		data.Created, hidden.Data = &created, &data
	case *events.SessionUpdated:
		if len(d.Env)+len(d.RemovedEnv) == 0 || s.Caller.seesEnvOf(d.SessionID) {
			return e
		}
		data := *d
		data.Env, data.RemovedEnv, hidden.Data = nil, nil, &data
	case events.Mail:
		if s.readsMailOf(d.MailFor()) {
			return e
		}
		hidden.Data = d.WithoutText()
	default:
		return e
	}
	return &hidden
}
