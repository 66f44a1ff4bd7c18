package projections

import (
	"encoding/json"
	"iter"
	"sort"

	"maestro/events"
)

// Session is the state of a session. Times are milliseconds since 1970, 0 for never. Immutable. What changes with every
// event is separate from the fields that rarely change, which the versions of a session share.
type Session struct {
	*SessionFields
	Status       events.SessionStatus
	LastActivity int64
	CompletedAt  int64
	EndedAt      int64
	// LostAt is when it was marked lost, 0 otherwise; Losses counts how often it was.
	LostAt int64
	Losses int
	// LastItem is the queue item that it holds, or held last.
	LastItem *HeldItem `json:",omitempty"`
	// Runs are nil if no runner ever claimed it.
	Runs    *Runs `json:",omitempty"`
	Deleted bool
}

// SessionFields are the fields that a session's creation and its updates set. Immutable.
type SessionFields struct {
	ID        string
	ProjectID string
	Name      string
	Role      events.Role
	Strategy  events.Strategy
	TaskIDs   []string
	// Unlinked are the tasks that were taken from it and not given back: the newest [MaxUnlinked], oldest first.
	Unlinked []Unlinked `json:",omitempty"`
	// Permissions are nil if unknown: then the session may do nothing.
	Permissions *events.Permissions
	// SpawnedBy is the session that spawned it, "" if a user did.
	SpawnedBy string
	// CreatedBy is the source of the event that created it.
	CreatedBy string `json:",omitempty"`
	Spawned   bool
	Model     string
	Agent     string
	// Options are nil if its agent is run with the defaults.
	Options *events.AgentOptions `json:",omitempty"`
	AgentID string
	Skills  []string
	// An absent value stays absent in the encoding: null would be decoded as a value.
	Context  json.RawMessage `json:",omitempty"`
	Metadata json.RawMessage `json:",omitempty"`
	Env      map[string]string
	// UserEnv names the variables of Env that a user was the last to set, in order. Only these are set for commands.
	UserEnv        []string `json:",omitempty"`
	ManifestDigest string
	// OwnManifest says that somebody wrote its manifest: what is in it is not in the state.
	OwnManifest bool `json:",omitempty"`
	// Generation is part of the session's secret: raising it revokes the secret.
	Generation int
	// Cause is the event that created it, Gone the one that ended it, or that marked it lost.
	Cause, Gone Cause
	// GoneBy is the source of that event, "" for a deletion, which the timeline does not show.
	GoneBy string `json:",omitempty"`
	// DoneSequence is the event with which it last said that it is done; 0 if there is none.
	DoneSequence uint64
	// DoneBy is the source of that event if the session did not say it itself.
	DoneBy    string `json:",omitempty"`
	StartedAt int64
	// Deadline is when it ends as failed, 0 for never; TimeLimit is how long after its start, or after it was resumed.
	Deadline  int64
	TimeLimit int64 `json:",omitempty"`
	EndReason string
	// Runner is the runner that launches its agent, "" if whoever spawned it does.
	Runner string `json:",omitempty"`
	// Queue is the queue that it pulls from, "" if it has none.
	Queue string
	// LateReports counts the reports that came after its end.
	LateReports int `json:",omitempty"`
	// LateBytes sums up their [LateBytes].
	LateBytes int64 `json:",omitempty"`
	// Mail is its unread mail from others, oldest first.
	Mail []Message `json:",omitempty"`
	// LastMessages are oldest first, one for each task.
	LastMessages []LastMessage `json:",omitempty"`
}

// Timeout returns how long it may live, in milliseconds; 0 if that is not limited.
func (x *SessionFields) Timeout() int64 { return x.TimeLimit }

// Source returns the source of the events that the session causes.
func (x *Session) Source() string { return SessionSource(x.ProjectID, x.ID) }

// IsSource reports whether a source is the session's.
func (x *Session) IsSource(source string) bool {
	project, session, ok := SessionOfSource(source)
	return ok && project == x.ProjectID && session == x.ID
}

// SessionSource returns "/projects/<project>/sessions/<session>".
func SessionSource(project, session string) string {
	return "/projects/" + project + "/sessions/" + session
}

// Ended reports whether the session was killed, exited or timed out; one that only said that it is done has not ended.
func (x *Session) Ended() bool { return x.EndedAt != 0 }

// Active reports whether the session works or is about to.
func (x *Session) Active() bool { return !x.Ended() && x.Status != events.SessionSaidDone }

// Session returns the session, or nil when there is none or it was deleted.
func (s *State) Session(id string) *Session {
	if x := s.sessions.get(id); x != nil && !x.Deleted {
		return x
	}
	return nil
}

// SessionEver returns the session, including a deleted one, or nil if it never existed.
func (s *State) SessionEver(id string) *Session { return s.sessions.get(id) }

// SessionProject returns the project of a session, including a deleted one, and "" if it never existed.
func (s *State) SessionProject(id string) string {
	if x := s.sessions.get(id); x != nil {
		return x.ProjectID
	}
	return ""
}

// Sessions returns a project's sessions in order of creation.
func (s *State) Sessions(project string) iter.Seq[*Session] {
	return func(yield func(*Session) bool) {
		for _, id := range s.sessionIDs.get(project) {
			if x := s.Session(id); x != nil && !yield(x) {
				return
			}
		}
	}
}

// SessionIDsFrom returns the ids of a project's sessions that were created at a time or later, including deleted ones,
// in order of creation.
func (s *State) SessionIDsFrom(project string, at int64) []string {
	ids := s.sessionIDs.get(project)
	if at == 0 {
		return ids
	}
	return ids[sort.Search(len(ids), func(i int) bool { return s.sessions.get(ids[i]).StartedAt >= at }):]
}

// ownFields makes the fields of a session editable without changing its former versions.
func (x *Session) ownFields() *SessionFields {
	fields := *x.SessionFields
	x.SessionFields = &fields
	return &fields
}

func (s *State) changeSession(id string, edit func(*Session)) {
	before := s.sessions.get(id)
	after := *before
	edit(&after)
	s.changes = append(s.changes, Change{KindSession, id, before, &after})
	s.sessions.put(id, &after)
	s.tallySession(before, &after)
	s.employs(before, &after, s.sequenceOf(after.Cause))
	if before.mayNeedAttention() != after.mayNeedAttention() {
		s.attendSession(&after, s.sequenceOf(after.Cause))
	}
	switch {
	case !before.Ended() && after.Ended():
		s.ends(&after)
	case before.Ended() && !after.Ended():
		s.livesAgain(&after)
	}
	if len(s.trusting) > 0 && before.Ended() != after.Ended() {
		s.spokeOf.get(id).walk(func(task string) bool {
			if s.awaited.get(task).known[1] {
				s.unsettled.spoken = append(s.unsettled.spoken, task)
			}
			return true
		})
	}
}

// gone records what ended a session, or marked it lost.
func (s *State) gone(f fact, id string, edit func(*Session)) {
	s.changeSession(id, func(x *Session) {
		fields := x.ownFields()
		fields.Gone, fields.GoneBy = f.cause(), f.Source
		if edit(x); x.Ended() {
			x.LastMessages = nil
		}
	})
}

// heard updates the last activity of the session that the event comes from, and of the one that it is about.
func (s *State) heard(e *events.Event) {
	at := e.Time.UnixMilli()
	_, author, _ := SessionOfSource(e.Source)
	if x := s.Session(author); x != nil {
		s.changeSession(author, func(x *Session) {
			x.LastActivity = at
			if x.Status == events.SessionSpawning || x.Status == events.SessionIdle {
				if update, ok := e.Data.(*events.SessionUpdated); !ok || update.Status == nil {
					x.Status = events.SessionRunning
				}
			}
		})
	}
	if _, silent := e.Data.(events.Silent); silent {
		return
	}
	if kind, id := e.Data.Aggregate(); kind == events.AggregateSession && id != author {
		if x := s.Session(id); x != nil && x.LastActivity != at {
			s.changeSession(id, func(x *Session) { x.LastActivity = at })
		}
	}
}

// admit adds a new session, with its tasks linked to it and its first timeline entries.
func (s *State) admit(f fact, x *Session, started []string) error {
	if s.sessions.get(x.ID) != nil {
		return exists("session", x.ID)
	}
	if s.Project(f.Project) == nil {
		return missing("project", f.Project)
	}
	for _, id := range x.TaskIDs {
		if s.Task(id) == nil {
			return missing("task", id)
		}
	}
	x.LastActivity = f.at
	x.ProjectID, x.StartedAt, x.Generation = f.Project, f.at, 1
	x.Cause, x.CreatedBy = f.cause(), f.Source
	s.changes = append(s.changes, Change{KindSession, x.ID, (*Session)(nil), x})
	s.sessions.put(x.ID, x)
	s.tallySession(nil, x)
	s.sessionIDs.put(x.ProjectID, append(s.sessionIDs.get(x.ProjectID), x.ID))
	s.attendSession(x, f.sequence)
	s.lives(x, f.sequence)
	s.employs(nil, x, f.sequence)
	s.changeProject(x.ProjectID, func(p *Project) { p.Sessions++ })
	s.note(f, 0)
	starts := make(map[string]bool, len(started))
	for _, id := range started {
		starts[id] = true
	}
	for i, id := range x.TaskIDs {
		s.changeTask(id, func(t *Task) {
			s.addSession(t, x.ID)
			if starts[id] {
				t.moveTo(f, events.TaskInProgress)
			}
		})
		s.note(f, i+1)
	}
	return nil
}

func (s *State) sessionSpawned(f fact, d *events.SessionSpawned) error {
	var deadline, limit int64
	if d.Timeout > 0 {
		deadline, limit = f.at+d.Timeout, d.Timeout
	}
	own := d.Queue == d.SessionID
	switch {
	case d.Queue == "":
	case own && s.Queue(f.Project, d.Queue) != nil:
		return exists("queue", d.Queue)
	case !own && s.Queue(f.Project, d.Queue) == nil:
		return missing("queue", d.Queue)
	}
	if err := s.checkPush(f.Project, d.Queue, d.Queued); err != nil {
		return err
	}
	err := s.admit(f, &Session{Status: events.SessionSpawning, SessionFields: &SessionFields{
		ID:             d.SessionID,
		Name:           d.Name,
		Role:           d.Role,
		Strategy:       d.Strategy,
		TaskIDs:        d.TaskIDs,
		Permissions:    &d.Permissions,
		SpawnedBy:      d.SpawnedBy,
		Spawned:        true,
		Model:          d.Model,
		Agent:          d.Agent,
		Options:        d.Options,
		Skills:         d.Skills,
		Context:        d.Context,
		ManifestDigest: d.ManifestDigest,
		Queue:          d.Queue,
		Deadline:       deadline,
		TimeLimit:      limit,
		Runner:         d.Runner,
	}}, d.Started)
	if err != nil || d.Queue == "" {
		return err
	}
	if own {
		s.openQueue(&Queue{
			ProjectID:   f.Project,
			Name:        d.Queue,
			SessionID:   d.SessionID,
			MaxAttempts: events.DefaultMaxAttempts,
			CreatedAt:   f.at,
			UpdatedAt:   f.at,
			CreatedBy:   f.Source,
		})
	}
	for i, id := range d.Queued {
		s.push(f, queueKey(f.Project, d.Queue), id, 1+len(d.TaskIDs)+i)
	}
	return nil
}

func (s *State) sessionRegistered(f fact, d *events.SessionRegistered) error {
	if c := d.Created; c != nil {
		return s.admit(f, &Session{Status: c.Status, SessionFields: &SessionFields{
			ID:             d.SessionID,
			Name:           c.Name,
			Role:           c.Role,
			Strategy:       c.Strategy,
			TaskIDs:        c.TaskIDs,
			Permissions:    &c.Permissions,
			Env:            c.Env,
			UserEnv:        userEnv(f, nil, c.Env),
			Metadata:       c.Metadata,
			AgentID:        c.AgentID,
			Options:        c.Options,
			ManifestDigest: d.ManifestDigest,
			OwnManifest:    d.ManifestDigest != "",
		}}, nil)
	}
	if s.Session(d.SessionID) == nil {
		return missing("session", d.SessionID)
	}
	s.changeSession(d.SessionID, func(x *Session) { x.Status, x.LastActivity = events.SessionRunning, f.at })
	return nil
}

func (s *State) sessionUpdated(f fact, d *events.SessionUpdated) error {
	before := s.Session(d.SessionID)
	if before == nil {
		return missing("session", d.SessionID)
	}
	s.changeSession(d.SessionID, func(x *Session) {
		fields := x.ownFields()
		set(&fields.Name, d.Name)
		set(&x.Status, d.Status)
		set(&fields.AgentID, d.AgentID)
		if d.TaskIDs != nil {
			fields.TaskIDs = *d.TaskIDs
			fields.Unlinked = s.unlinkedWithout(fields.Unlinked, *d.TaskIDs...)
		}
		set(&fields.ManifestDigest, d.ManifestDigest)
		if d.Options != nil {
			fields.Options = d.Options
		}
		fields.OwnManifest = fields.OwnManifest || d.ManifestDigest != nil
		s.updateEnv(f, fields, d)
		x.LastActivity = f.at
	})
	if d.TaskIDs != nil {
		for _, id := range *d.TaskIDs {
			if s.Task(id) != nil {
				s.changeTask(id, func(t *Task) { s.addSession(t, d.SessionID) })
			}
		}
	}
	return nil
}

func (s *State) sessionCompleted(f fact, d *events.SessionCompleted) error {
	if s.Session(d.SessionID) == nil {
		return missing("session", d.SessionID)
	}
	s.completeSession(f, d.SessionID)
	s.note(f, 0)
	return nil
}

func (s *State) completeSession(f fact, id string) {
	s.changeSession(id, func(x *Session) {
		fields := x.ownFields()
		fields.DoneSequence, fields.DoneBy = f.sequence, ""
		if !x.IsSource(f.Source) {
			fields.DoneBy = f.Source
		}
		x.Status, x.CompletedAt, x.LastActivity = events.SessionSaidDone, f.at, f.at
	})
}

func (s *State) sessionKilled(f fact, d *events.SessionKilled) error {
	if s.Session(d.SessionID) == nil {
		return missing("session", d.SessionID)
	}
	s.gone(f, d.SessionID, func(x *Session) {
		x.EndReason = d.Reason
		x.Status, x.EndedAt, x.CompletedAt, x.LastActivity = d.Status, f.at, f.at, f.at
	})
	s.note(f, 0)
	return nil
}

func (s *State) sessionDeleted(f fact, d *events.SessionDeleted) error {
	x := s.Session(d.SessionID)
	if x == nil {
		return missing("session", d.SessionID)
	}
	s.gone(f, d.SessionID, func(x *Session) {
		x.Deleted, x.LastActivity, x.GoneBy = true, f.at, ""
		if x.EndedAt == 0 {
			x.EndedAt = f.at
		}
	})
	if s.voids.get(x.ID).len() > 0 {
		s.voids.put(x.ID, line{})
	}
	s.changeProject(x.ProjectID, func(p *Project) { p.Sessions-- })
	return nil
}

func (s *State) sessionNoted(f fact, d *events.SessionNoted) error {
	if s.Session(d.SessionID) == nil {
		return missing("session", d.SessionID)
	}
	e := f.entry(0)
	t := s.Task(d.TaskID)
	e.Apart = d.TaskID != "" && (t == nil || t.ProjectID != f.Project)
	s.add(e, false)
	if e.TaskID != "" && !e.Apart && d.Type == reportType(events.ReportComplete) && d.Message != "" {
		s.resultFromNote(f, d)
	}
	return nil
}

// resultFromNote takes the result from an older client's report: that client first changes the session's status,
// without a text, and then notes the text. A session that does not report the task as completed gives no result.
func (s *State) resultFromNote(f fact, d *events.SessionNoted) {
	said := s.Task(d.TaskID).SaidBy(d.SessionID)
	if said.Status == events.SaysCompleted {
		s.changeTask(d.TaskID, func(t *Task) { t.state(t.StatusReason(), f.statement(d.Message, d.Blobs["message"])) })
	}
}
