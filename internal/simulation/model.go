package simulation

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// model is what must be true at one place of the log, as far as decisions rest on it. It is folded from the clients' wishes; of an
// event it takes only the ids that the server made up. A model never changes: next gives the one behind it.
type model struct {
	projects map[string]project
	tasks    map[string]task
	sessions map[string]session
	queues   map[string]queue // by project and name
	inputs   map[string]question
	tokens   map[string]token
	// templates are those that were made, and Maestro's own that were changed.
	templates map[string]template

	projectIDs, taskIDs, sessionIDs, queueIDs, inputIDs, templateIDs []string // in order of creation, deleted ones too

	at int64 // the time of the last event, in milliseconds
}

// cause is an event in a chain of causes, and the first of that chain.
type cause struct{ event, first string }

type project struct {
	createdBy string
	deleted   bool
}

type task struct {
	project, parent, createdBy, status string
	dependencies                       []string
	says                               []said
	deleted                            bool
}

type said struct{ session, status string }

type session struct {
	project, role, strategy, spawnedBy, status string
	allowed                                    map[string]bool
	tasks                                      []string
	ended, deleted, lost                       bool
	startedAt, endedAt                         int64 // in milliseconds
	late, lateBytes                            int   // reports that it delivered since, and their bytes

	losses, generation int
	queue              string // that it pulls from
	manifest           string // the digest that it has to begin with
	hand               hand
	deadline           int64
	made, gone         cause // what made it; what ended it or marked it lost, whichever was last
}

// end ends a session; its first end counts.
func (x *session) end(at int64) {
	if !x.ended {
		x.ended, x.endedAt = true, at
	}
}

func newModel() *model {
	return &model{
		projects: map[string]project{}, tasks: map[string]task{}, sessions: map[string]session{},
		queues: map[string]queue{}, inputs: map[string]question{}, tokens: map[string]token{},
		templates: map[string]template{},
	}
}

func (m *model) clone() *model {
	return &model{
		projects: maps.Clone(m.projects), tasks: maps.Clone(m.tasks), sessions: maps.Clone(m.sessions),
		queues: maps.Clone(m.queues), inputs: maps.Clone(m.inputs), tokens: maps.Clone(m.tokens),
		projectIDs: slices.Clip(m.projectIDs), taskIDs: slices.Clip(m.taskIDs), sessionIDs: slices.Clip(m.sessionIDs),
		queueIDs: slices.Clip(m.queueIDs), inputIDs: slices.Clip(m.inputIDs), at: m.at,
		templates: maps.Clone(m.templates), templateIDs: slices.Clip(m.templateIDs),
	}
}

func (m *model) liveProject(id string) (project, bool) {
	p, ok := m.projects[id]
	return p, ok && !p.deleted
}

func (m *model) liveTask(id string) (task, bool) {
	t, ok := m.tasks[id]
	return t, ok && !t.deleted
}

func (m *model) liveSession(id string) (session, bool) {
	x, ok := m.sessions[id]
	return x, ok && !x.deleted
}

// within reports whether a task is one of these or below one of them.
func (m *model) within(id string, these []string) bool {
	for id != "" {
		if contains(these, id) {
			return true
		}
		id = m.tasks[id].parent
	}
	return false
}

// saidOf gives what is said of a task: the newest word of a session that has not ended, else the newest of all.
func (m *model) saidOf(t task) string {
	for _, s := range slices.Backward(t.says) {
		if x, ok := m.liveSession(s.session); ok && !x.ended {
			return s.status
		}
	}
	if len(t.says) == 0 {
		return ""
	}
	return t.says[len(t.says)-1].status
}

var saysOf = map[string]string{
	"report:progress": "working", "report:complete": "completed", "report:blocked": "blocked",
	"report:error": "failed", "report:needs-input": "needs_input",
}

// made are the ids that the server makes up, and what it must say of itself.
type made struct {
	ProjectID   string `json:"projectId"`
	TaskID      string `json:"taskId"`
	SessionID   string `json:"sessionId"`
	Permissions *struct {
		Commands []string `json:"commands"`
	} `json:"permissions"`
	Created *struct {
		Permissions struct {
			Commands []string `json:"commands"`
		} `json:"permissions"`
	} `json:"created"`
	Kind    string   `json:"kind"`
	TaskIDs []string `json:"taskIds"`
	Late    bool     `json:"late"`
	Started []string `json:"started"`
	To      string   `json:"to"`

	Queue      string   `json:"queue"`
	Queued     []string `json:"queued"`
	Timeout    int64    `json:"timeout"`
	Attempt    int      `json:"attempt"`
	PassedOver int      `json:"passedOver"`
	Held       bool     `json:"held"`
	Reason     string   `json:"reason"`
	InputID    string   `json:"inputId"`
	Answer     string   `json:"answer"`
	Other      bool     `json:"other"`
	Name       string   `json:"name"`
	Generation int      `json:"generation"`
	LastHeard  int64    `json:"lastheard"`
	ExpiresAt  int64    `json:"expiresAt"`
	Children   []string `json:"children"`
	Lease      int64    `json:"lease"`
	Deadline   int64    `json:"deadline"`
	Role       string   `json:"role"`
	Manifest   string   `json:"manifestDigest"`
	TemplateID string   `json:"templateId"`
	Content    string   `json:"content"`

	me cause // the event itself
}

// next gives the model behind the event that a wish became, or what is wrong with the event.
func (m *model) next(w wish, e envelope) (*model, error) {
	var d made
	if err := json.Unmarshal(e.Data, &d); err != nil {
		// A task's and a session's update have members of the same name and another type, which nothing here needs.
		var wrong *json.UnmarshalTypeError
		if !asType(err, &wrong) {
			return nil, err
		}
	}
	n := m.clone()
	n.at = e.at()
	d.me = e.cause()
	f := w.fields
	switch noun, _, _ := strings.Cut(w.id, ":"); noun {
	case "queue":
		if err := n.nextQueue(m, w, d); err != nil {
			return nil, err
		}
	case "input", "token":
		if err := n.nextInput(m, w, d); err != nil {
			return nil, err
		}
	case "template":
		return n, n.nextTemplate(w, d)
	}
	switch w.id {
	case "session:lost", "session:recovered", "session:timed-out":
		return n, n.nextDeadline(w, d)
	case "project:create":
		n.projects[d.ProjectID] = project{createdBy: w.by.source()}
		n.projectIDs = append(n.projectIDs, d.ProjectID)
	case "project:delete":
		p := n.projects[f.ProjectID]
		p.deleted = true
		n.projects[f.ProjectID] = p
	case "task:create":
		t := task{project: m.projectOf(w), parent: f.ParentID, createdBy: w.by.source(), status: "todo"}
		if f.Dependencies != nil {
			t.dependencies = *f.Dependencies
		}
		n.tasks[d.TaskID] = t
		n.taskIDs = append(n.taskIDs, d.TaskID)
	case "task:update":
		t := n.tasks[f.TaskID]
		if f.Status != nil {
			t.status = *f.Status
		}
		if f.Dependencies != nil {
			t.dependencies = *f.Dependencies
		}
		n.tasks[f.TaskID] = t
	case "task:complete", "task:block", "task:reopen":
		t := n.tasks[f.TaskID]
		t.status = movesTo[w.id]
		if d.To != t.status || d.TaskID != f.TaskID {
			return nil, fmt.Errorf("%s became a move of %q to %q", w.id, d.TaskID, d.To)
		}
		if w.id == "task:reopen" {
			t.says = slices.DeleteFunc(slices.Clone(t.says), func(s said) bool { return s.status == "completed" })
		}
		n.tasks[f.TaskID] = t
	case "task:delete":
		n.deleteTask(f.TaskID, f.Recursive, d.me)
	case "session:spawn", "session:register":
		return n.admit(m, w, d)
	case "worker:init", "orchestrator:init":
		if err := n.begin(m.target(w), w, d); err != nil {
			return nil, err
		}
	case "session:complete":
		n.moveSession(m.target(w), "completed")
	case "session:kill":
		x := n.sessions[f.SessionID]
		x.end(n.at)
		x.status, x.gone = "stopped", d.me
		if f.Failed {
			x.status = "failed"
		}
		n.sessions[f.SessionID] = x
	case "session:update":
		x := n.sessions[f.SessionID]
		if f.Status != nil {
			x.status = *f.Status
		}
		if f.TaskIDs != nil {
			x.tasks = *f.TaskIDs
		}
		if f.Manifest != nil {
			x.manifest = *f.Manifest
		}
		n.sessions[f.SessionID] = x
	case "session:delete":
		x := n.sessions[m.target(w)]
		x.end(n.at)
		x.deleted, x.gone = true, d.me
		n.sessions[m.target(w)] = x
	case "session:link":
		x := n.sessions[m.target(w)]
		x.tasks = append(slices.Clip(x.tasks), f.TaskID)
		n.sessions[m.target(w)] = x
	case "session:unlink":
		x := n.sessions[m.target(w)]
		x.tasks = slices.DeleteFunc(slices.Clone(x.tasks), func(id string) bool { return id == f.TaskID })
		n.sessions[m.target(w)] = x
	case "report:progress", "report:complete", "report:blocked", "report:error", "report:needs-input":
		if err := n.reported(m, w, d); err != nil {
			return nil, err
		}
	}
	n.heard(w)
	return n, nil
}

var movesTo = map[string]string{"task:complete": "completed", "task:block": "blocked", "task:reopen": "in_progress"}

// target gives the session that a wish is about: the one it names, or its own.
func (m *model) target(w wish) string {
	if w.fields.SessionID == "" && w.by.kind == "session" {
		return w.by.name
	}
	return w.fields.SessionID
}

func (m *model) moveSession(id, status string) {
	x := m.sessions[id]
	x.status = status
	m.sessions[id] = x
}

func (m *model) deleteTask(id string, recursive bool, by cause) {
	t := m.tasks[id]
	t.deleted = true
	m.tasks[id] = t
	m.dropItems(id, by)
	if !recursive {
		return
	}
	for _, child := range m.taskIDs {
		if c, live := m.liveTask(child); live && c.parent == id {
			m.deleteTask(child, true, by)
		}
	}
}

// admit puts a new session in place, or registers a known one.
func (m *model) admit(before *model, w wish, d made) (*model, error) {
	if w.id == "session:register" && d.Created == nil {
		m.moveSession(before.target(w), "running")
		return m, nil
	}
	x := session{project: before.projectOf(w), role: w.fields.Role, strategy: w.fields.Strategy, tasks: w.fields.tasks(), status: "running"}
	if x.role == "" {
		x.role = "worker"
	}
	switch {
	case x.role == "orchestrator" && (x.strategy == "" || x.strategy == "simple"):
		x.strategy = "default"
	case x.strategy == "":
		x.strategy = "simple"
	}
	x.allowed = allowedTo(column(x.role, x.strategy), w.fields.Allowed)
	x.generation, x.made, x.manifest, x.startedAt = 1, d.me, w.fields.manifest(), m.at
	stored := d.Created != nil
	var says []string
	if stored {
		says = d.Created.Permissions.Commands
	} else if d.Permissions != nil {
		x.status, says = "spawning", d.Permissions.Commands
	}
	if w.id == "session:spawn" {
		x.spawnedBy = w.fields.SpawnedBy
		if w.by.kind == "session" {
			x.spawnedBy = w.by.name
		}
		if spawner, ok := before.liveSession(w.by.name); ok && w.by.kind == "session" && x.role == "orchestrator" {
			maps.DeleteFunc(x.allowed, func(id string, _ bool) bool { return !spawner.allowed[id] })
		}
		if err := m.startTasks(x, d); err != nil {
			return nil, err
		}
		if err := m.joinQueue(&x, w, d); err != nil {
			return nil, err
		}
		if w.fields.Timeout > 0 {
			x.deadline = m.at + w.fields.Timeout
		}
	}
	if x.spawnedBy == "" && w.id == "session:register" && d.SessionID == "" {
		return nil, fmt.Errorf("a session came to be without an id")
	}
	slices.Sort(says)
	if expected := slices.Sorted(maps.Keys(x.allowed)); !slices.Equal(says, expected) {
		return nil, fmt.Errorf("a new %s (%s strategy) was given %v, expected %v", x.role, x.strategy, says, expected)
	}
	m.sessions[d.SessionID] = x
	m.sessionIDs = append(m.sessionIDs, d.SessionID)
	m.heard(w)
	return m, nil
}

// startTasks moves the tasks of a spawned session from todo to in_progress; with the queue strategy none.
func (m *model) startTasks(x session, d made) error {
	var started []string
	for _, id := range x.tasks {
		if t := m.tasks[id]; t.status == "todo" && x.strategy != "queue" {
			t.status = "in_progress"
			m.tasks[id] = t
			started = append(started, id)
		}
	}
	if !slices.Equal(started, d.Started) {
		return fmt.Errorf("the spawn started %v, expected %v", d.Started, started)
	}
	return nil
}

// say puts a session's word on a task last, in place of its former one; "" takes that back.
func (m *model) say(id, session, status string) {
	t := m.tasks[id]
	t.says = slices.DeleteFunc(slices.Clone(t.says), func(s said) bool { return s.session == session })
	if status != "" {
		t.says = append(t.says, said{session, status})
	}
	m.tasks[id] = t
}

func (m *model) reported(before *model, w wish, d made) error {
	late := before.sessions[w.by.name].ended
	tasks := w.fields.tasks()
	if asks := w.id == "report:needs-input" && !late && w.fields.Message != ""; asks != (d.InputID != "") {
		return fmt.Errorf("%s %q (late: %t) opened the question %q", w.id, w.fields.Message, late, d.InputID)
	} else if asks {
		m.ask(w, d)
	}
	if "report:"+d.Kind != w.id || !slices.Equal(d.TaskIDs, tasks) || d.Late != late || d.SessionID != w.by.name {
		return fmt.Errorf("%s of tasks %v (late: %t) became kind %q of %v (late: %t)", w.id, tasks, late, d.Kind, d.TaskIDs, d.Late)
	}
	if late {
		x := m.sessions[w.by.name]
		x.late++
		x.lateBytes += w.lateBytes()
		m.sessions[w.by.name] = x
		return nil
	}
	for _, id := range tasks {
		m.say(id, w.by.name, saysOf[w.id])
	}
	if w.id == "report:complete" && len(tasks) == 0 {
		m.moveSession(w.by.name, "completed")
	}
	return nil
}

// heard makes a session that speaks a running one.
func (m *model) heard(w wish) {
	x, ok := m.liveSession(w.by.name)
	if !ok || w.by.kind != "session" || w.id == "session:update" && w.fields.Status != nil {
		return
	}
	if x.status == "spawning" || x.status == "idle" {
		m.moveSession(w.by.name, "running")
	}
}
