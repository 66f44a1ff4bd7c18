package simulation

import (
	"cmp"
	"slices"
	"strings"

	documents "maestro/internal/oracle"
)

// model is what clients know of the state, so that they can send sensible commands, and senseless ones. It decides
// nothing: the oracle says what the log means and what the result of a command must be.
type model struct {
	projects  map[string]project
	tasks     map[string]documents.Task
	sessions  map[string]documents.Session
	queues    map[string]documents.Queue // by project and name
	inputs    map[string]documents.Question
	tokens    map[string]documents.Token
	templates map[string]documents.Template
	webhooks  map[string]documents.Webhook

	// Their ids in order of creation, deleted ones too.
	projectIDs, taskIDs, sessionIDs, queueIDs, inputIDs, templateIDs, webhookIDs []string

	// siblings are all tasks of each project, in the order in which those below the same parent are shown.
	siblings map[string][]string

	at int64 // the time of the last event, in milliseconds
}

// project is a project with its creator, who is the source of its event.
type project = documents.Project

// viewed returns what clients may know of the oracle's state.
func viewed(s *documents.State) *model {
	m := &model{
		projects:  map[string]project{},
		tasks:     map[string]documents.Task{},
		sessions:  map[string]documents.Session{},
		queues:    map[string]documents.Queue{},
		inputs:    map[string]documents.Question{},
		tokens:    map[string]documents.Token{},
		templates: map[string]documents.Template{},
		webhooks:  map[string]documents.Webhook{},
		siblings:  s.Siblings,
		at:        s.At,
	}
	m.projectIDs = by(m.projects, s.Projects, func(p project) string { return p.ID })
	m.taskIDs = by(m.tasks, s.Tasks, func(t documents.Task) string { return t.ID })
	m.sessionIDs = by(m.sessions, s.Sessions, func(x documents.Session) string { return x.ID })
	m.queueIDs = by(m.queues, s.Queues, func(q documents.Queue) string { return queueID(q.Project, q.Name) })
	m.inputIDs = by(m.inputs, s.Questions, func(q documents.Question) string { return q.ID })
	m.templateIDs = by(m.templates, s.Templates, func(t documents.Template) string { return t.ID })
	m.webhookIDs = by(m.webhooks, s.Webhooks, func(w documents.Webhook) string { return w.ID })
	by(m.tokens, s.Tokens, func(t documents.Token) string { return t.Name })
	return m
}

// by fills a map from a list and returns the keys in the order of the list.
func by[T any](index map[string]T, list []T, key func(T) string) []string {
	var keys []string
	for _, one := range list {
		keys = append(keys, key(one))
		index[key(one)] = one
	}
	return keys
}

func (m *model) liveProject(id string) (project, bool) {
	p, ok := m.projects[id]
	return p, ok && !p.Deleted
}

func (m *model) liveTask(id string) (documents.Task, bool) {
	t, ok := m.tasks[id]
	return t, ok && !t.Deleted
}

func (m *model) liveSession(id string) (documents.Session, bool) {
	x, ok := m.sessions[id]
	return x, ok && !x.Deleted
}

// below reports whether another session spawned a session, directly or not.
func (m *model) below(x documents.Session, above string) bool {
	for x.SpawnedBy != "" && x.SpawnedBy != above {
		x = m.sessions[x.SpawnedBy]
	}
	return x.SpawnedBy != ""
}

// target returns the session that a wish is about: the one it names, or its own.
func (m *model) target(w wish) string {
	if w.fields.SessionID == "" && w.by.kind == "session" {
		return w.by.name
	}
	return w.fields.SessionID
}

func queueID(project, name string) string { return project + "/" + name }

func (m *model) itemOf(project, queue, task string) documents.Item {
	items := m.queues[queueID(project, queue)].Items
	if at := slices.IndexFunc(items, func(i documents.Item) bool { return i.Task == task }); at >= 0 {
		return items[at]
	}
	return documents.Item{}
}

// good reports whether a token of this name exists that is neither revoked nor expired.
func (m *model) good(name string) bool {
	t := m.tokens[name]
	return t.Live && (t.ExpiresAt == 0 || m.at < t.ExpiresAt)
}

// moments returns the times at which a call may have different results: the first and the last at which it may have
// been decided, and the times between them at which a token expires.
func (m *model) moments(c *call) []int64 {
	times := []int64{c.earliest, c.latest}
	between := func(at int64) {
		if c.earliest < at && at < c.latest {
			times = append(times, at)
		}
	}
	between(c.wish.fields.ExpiresAt)
	for _, t := range m.tokens {
		between(t.ExpiresAt)
	}
	return times
}

// rootOf returns the root project whose sessions share one part of the bound on refusals: it follows a session's
// project back through the sessions that created each project. It is "" for all actors that are not sessions.
func (m *model) rootOf(actor string) string {
	rest, ok := strings.CutPrefix(actor, "/projects/")
	project, _, _ := strings.Cut(rest, "/sessions/")
	if !ok {
		return ""
	}
	if p, known := m.projects[project]; known && strings.HasPrefix(p.CreatedBy, "/projects/") {
		return m.rootOf(p.CreatedBy)
	}
	return project
}

// neverMade is the generation of a secret that was never created.
const neverMade = -1

// showing returns a caller with the currently valid secret, unless the caller already names one.
func (m *model) showing(c caller) caller {
	if c.generation != 0 || c == admin {
		return c
	}
	switch {
	case c.user():
		c.generation = cmp.Or(m.tokens[c.name].Generation, neverMade)
	case c.kind == "runner" && c.speaks != "":
		c.generation = cmp.Or(m.sessions[c.speaks].Generation, neverMade)
	case c.kind == "session":
		c.generation = cmp.Or(m.sessions[c.name].Generation, neverMade)
	}
	return c
}
