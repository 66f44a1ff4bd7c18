package oracle

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// The statuses of a task (docs/spec/003-manifest-schema.md, "Status Types").
const (
	todo       = "todo"
	inProgress = "in_progress"
	completed  = "completed"
	cancelled  = "cancelled"
	blocked    = "blocked"
)

type task struct {
	id, project, parent string
	// creator is the session that created it; "" for a user.
	creator string
	// by is the source of the event that created it.
	by     string
	title  string
	planID string
	labels []string
	status string
	// reason is why its status was last moved, "" if not given.
	reason string
	// reopened says that it is in progress because a command opened it again.
	reopened     bool
	deleted      bool
	dependencies []string
	// children are the tasks that are or were directly below it.
	children []string
	// dependents are the tasks that depend on it, including deleted ones, by id.
	dependents map[string]*task
	// open counts its queued or held items, awaited such items of its dependents.
	open, awaited int
	// words are the statements of sessions about it, by session: the sessionStatus of each.
	words map[string]word
	// created is the sequence that created it, orderKey its assigned place among its siblings, "" if none.
	created  uint64
	orderKey string
}

// word is a session's newest statement about a task.
type word struct {
	says string
	at   uint64
}

func (t *task) say(session, says string, at uint64) {
	if t != nil {
		t.words[session] = word{says: says, at: at}
	}
}

func (t *task) retract(session string) {
	if t != nil {
		delete(t.words, session)
	}
}

// shown is the task's sessionStatus: the newest of the statements of sessions that have not ended and of the outcomes
// that any session reported; without those, the newest of all.
func (j *Judge) shown(t *task) string {
	var stands, all word
	for id, w := range t.words {
		if w.at > all.at {
			all = w
		}
		s := j.sessions[id]
		if (w.ends() || s != nil && s.ended == "") && w.at > stands.at {
			stands = w
		}
	}
	if stands.at > 0 {
		return stands.says
	}
	return all.says
}

// ends reports whether the statement is how the work ended.
func (w word) ends() bool { return w.says == completed || w.says == "failed" }

// satisfied reports whether a dependency is met: its task is completed, or, where reports are trusted, reported as
// completed. A deleted task keeps its status, and no statement counts for it.
func (j *Judge) satisfied(dependency string, trust bool) bool {
	t := j.tasks[dependency]
	if t == nil {
		return false
	}
	return t.status == completed || trust && !t.deleted && j.shown(t) == completed
}

// move sets a task's status, if the task is known.
func (t *task) move(to string) {
	if t != nil {
		t.status, t.reason, t.reopened = to, "", false
	}
}

// above reports whether the task, or one above it, fulfils a condition.
func (j *Judge) above(id string, is func(id string) bool) bool {
	// A faulty log may contain a cycle.
	for seen := map[string]bool{}; id != "" && !seen[id]; {
		if is(id) {
			return true
		}
		seen[id] = true
		t := j.tasks[id]
		if t == nil {
			return false
		}
		id = t.parent
	}
	return false
}

// waitsFor reports whether one task depends, directly or not, on another, as rules before version 3 see it: they take
// no account of parents. A dependency through a deleted task does not count: nobody does a deleted task.
func (j *Judge) waitsFor(id, other string, seen map[string]bool) bool {
	if id == other {
		return true
	}
	if t := j.tasks[id]; seen[id] || t == nil || t.deleted {
		return false
	}
	seen[id] = true
	return slices.ContainsFunc(j.tasks[id].dependencies, func(d string) bool { return j.waitsFor(d, other, seen) })
}

func (c *trial) title(title string) {
	if n := utf8.RuneCountInString(title); n < 1 || n > 200 || strings.TrimSpace(title) == "" {
		c.fault(ruleTask, "a title must have 1 to 200 characters, but this one has %d", n)
	}
}

type taskCreated struct {
	TaskID       string   `json:"taskId"`
	Title        string   `json:"title"`
	ParentID     string   `json:"parentId"`
	Dependencies []string `json:"dependencies"`
	PlanID       string   `json:"planId"`
	Labels       []string `json:"labels"`
	Forced       bool     `json:"forced"`
}

func (f *taskCreated) about() (kind, id string) { return "task", f.TaskID }
func (f *taskCreated) commands() []string       { return []string{"task:create"} }

func (f *taskCreated) judge(c *trial) {
	if c.tasks[f.TaskID] != nil || f.TaskID == "" {
		c.fault(ruleExists, "task %q already exists", f.TaskID)
	}
	c.title(f.Title)
	c.parent(f.ParentID, c.event.Project)
	c.planID("", f.PlanID, c.event.Project)
	for _, id := range f.Dependencies {
		if d := c.tasks[id]; d == nil || d.deleted {
			c.fault(ruleTask, "it depends on %q, which does not exist", id)
		}
	}
	c.circular(placed{f.TaskID, f.ParentID, f.Dependencies}, f.Dependencies, false)
	c.deep(f.ParentID)
	switch over := c.isCompleted(f.ParentID); {
	case !c.thirdOn():
	case over && !f.Forced:
		c.fault(ruleFinish, "it is created below the completed task %s without force", f.ParentID)
	case !over && f.Forced:
		c.fault(ruleFinish, "it is forced without need: its parent is not completed")
	}
	c.awaited(nil, f.Dependencies)
}

func (f *taskCreated) fold(c *trial) {
	t := &task{
		id:           f.TaskID,
		project:      c.event.Project,
		parent:       f.ParentID,
		by:           c.event.Source,
		title:        f.Title,
		planID:       f.PlanID,
		labels:       f.Labels,
		status:       todo,
		dependencies: f.Dependencies,
		dependents:   map[string]*task{},
		words:        map[string]word{},
		created:      c.sequence,
	}
	if c.by.kind == bySession {
		t.creator = c.by.id
	}
	c.tasks[f.TaskID] = t
	c.nests(t)
	c.order.tasks = append(c.order.tasks, f.TaskID)
	c.order.siblings[t.project] = append(c.order.siblings[t.project], t.id)
	c.depend(t, true)
}

type move struct {
	From string `json:"from"`
	To   string `json:"to"`
}

type taskUpdated struct {
	TaskID       string    `json:"taskId"`
	Title        *string   `json:"title"`
	Dependencies *[]string `json:"dependencies"`
	ParentID     *string   `json:"parentId"`
	PlanID       *string   `json:"planId"`
	Labels       *[]string `json:"labels"`
	Status       *move     `json:"status"`
	Forced       bool      `json:"forced"`
	Notice       *notice   `json:"notice,omitempty"`

	Order *siblingOrder `json:"order,omitempty"`
}

func (f *taskUpdated) made() string { return f.Notice.made() }

func (f *taskUpdated) about() (kind, id string) { return "task", f.TaskID }
func (f *taskUpdated) commands() []string       { return []string{"task:update"} }

func (f *taskUpdated) judge(c *trial) {
	t := c.aTask(f.TaskID)
	if f.Title != nil {
		c.title(*f.Title)
	}
	if f.Dependencies != nil {
		f.newDependencies(c, t)
		c.awaited(t, *f.Dependencies)
	}
	f.place(c, t)
	f.circular(c, t)
	f.siblings(c, t)
	if f.PlanID != nil && t != nil {
		c.planID(t.id, *f.PlanID, t.project)
	}
	if f.Status != nil {
		c.moves(t, f.Status.From, f.Status.To)
		c.notified(f.Notice, t, f.Status.To, false)
		if f.Status.From == f.Status.To {
			c.fault(ruleStatus,
				"the update sets the status from %s to %s, which changes nothing", f.Status.From, f.Status.To)
		}
	}
	if t != nil {
		parent, to := f.leaves(t)
		c.ordered(t, parent, to, f.Forced)
	}
}

// newDependencies judges the new ones: an old one may have been deleted since.
func (f *taskUpdated) newDependencies(c *trial, t *task) {
	for _, id := range *f.Dependencies {
		if t != nil && slices.Contains(t.dependencies, id) {
			continue
		}
		if d := c.tasks[id]; d == nil || d.deleted {
			c.fault(ruleTask, "it depends on %q, which does not exist", id)
		}
		if !c.thirdOn() && c.waitsFor(id, f.TaskID, map[string]bool{}) {
			c.fault(ruleTask, "it depends on %s, which depends on it", id)
		}
	}
}

// circular judges what the update adds to what the task waits for, and to what waits for it.
func (f *taskUpdated) circular(c *trial, t *task) {
	if t == nil {
		return
	}
	as := placed{t.id, t.parent, t.dependencies}
	var fresh []string
	if f.Dependencies != nil {
		as.dependencies = *f.Dependencies
		for _, id := range as.dependencies {
			if !slices.Contains(t.dependencies, id) {
				fresh = append(fresh, id)
			}
		}
	}
	if f.ParentID != nil {
		as.parent = *f.ParentID
	}
	c.circular(as, fresh, as.parent != t.parent)
}

func (f *taskUpdated) fold(c *trial) {
	t := c.tasks[f.TaskID]
	if t == nil {
		return
	}
	if f.Dependencies != nil {
		c.depend(t, false)
		t.dependencies = *f.Dependencies
		c.depend(t, true)
	}
	if f.Title != nil {
		t.title = *f.Title
	}
	if f.ParentID != nil {
		t.parent = *f.ParentID
		c.nests(t)
	}
	if f.PlanID != nil {
		t.planID = *f.PlanID
	}
	if f.Labels != nil {
		t.labels = *f.Labels
	}
	if f.Order != nil {
		if f.Order.Respaced && len(f.Order.Key) > wholeKey {
			for id, key := range c.respaced(t, f.Order) {
				c.tasks[id].orderKey = key
			}
		}
		c.order.siblings[t.project] = c.placed(t, f.Order)
		t.orderKey = f.Order.Key
	}
	if f.Status != nil {
		t.move(f.Status.To)
		c.deliver(f.Notice)
	}
}

var taskStatuses = []string{todo, inProgress, completed, cancelled, blocked}

// moves judges a change of a task's status, by any command.
func (c *trial) moves(t *task, from, to string) {
	if t != nil && from != t.status {
		c.fault(ruleStatus, "it changes the status of task %s from %s, but the status is %s", t.id, from, t.status)
	}
	if !slices.Contains(taskStatuses, to) {
		c.fault(ruleStatus, "%q is not a status of a task", to)
	}
	if c.by.kind == byUser {
		return
	}
	if s := c.sessions[c.by.id]; c.by.kind != bySession || s == nil || s.letter != "O" {
		c.fault(ruleStatusOwner, "%s may not change a task's status: only users and orchestrators may", c.event.Source)
	} else if to == cancelled {
		c.fault(ruleStatusOwner, "an orchestrator may not cancel a task: only a user may")
	} else if t != nil && t.status == cancelled && from != to && c.thirdOn() {
		c.fault(ruleStatusOwner, "an orchestrator may not reverse the cancellation of task %s: only a user may",
			t.id)
	}
}

// nests adds a task to those below its parent.
func (j *Judge) nests(t *task) {
	if parent := j.tasks[t.parent]; parent != nil {
		parent.children = append(parent.children, t.id)
	}
}

// openBelow reports whether a task directly below one is neither completed nor cancelled.
func (j *Judge) openBelow(id string) bool {
	for _, child := range j.tasks[id].children {
		t := j.tasks[child]
		if t.parent == id && !t.deleted && t.status != completed && t.status != cancelled {
			return true
		}
	}
	return false
}

type taskStatusChanged struct {
	TaskID string  `json:"taskId"`
	From   string  `json:"from"`
	To     string  `json:"to"`
	Reason string  `json:"reason"`
	Forced bool    `json:"forced"`
	Notice *notice `json:"notice,omitempty"`
}

func (f *taskStatusChanged) made() string { return f.Notice.made() }

func (f *taskStatusChanged) about() (kind, id string) { return "task", f.TaskID }

func (f *taskStatusChanged) commands() []string {
	switch f.To {
	case completed:
		return []string{"task:complete"}
	case blocked:
		return []string{"task:block"}
	}
	return []string{"task:reopen"}
}

func (f *taskStatusChanged) judge(c *trial) {
	t := c.aTask(f.TaskID)
	c.moves(t, f.From, f.To)
	if t != nil {
		c.ordered(t, t.parent, f.To, f.Forced)
	}
	explains := t != nil && f.To == inProgress && c.explains(t, f.Reason)
	c.notified(f.Notice, t, f.To, t != nil && f.To == inProgress && t.reopenable() || explains)
	switch {
	case t != nil && f.To == blocked && f.From == blocked && (!c.thirdOn() || f.Reason == "" || f.Reason == t.reason):
		c.fault(ruleStatus, "task %s is already blocked, and the reason cannot change", f.TaskID)
	case f.To == completed, f.To == blocked:
	case explains:
	case f.To != inProgress:
		c.fault(ruleStatus, "no command changes a status to %q in this way", f.To)
	case t != nil && !t.reopenable():
		c.fault(ruleStatus, "task %s cannot be reopened: it was not completed, blocked or reported as done", f.TaskID)
	}
}

// reopenable reports whether the task is completed, blocked, or reported as completed by any session.
func (t *task) reopenable() bool { return t.saidDone() || t.status == completed || t.status == blocked }

// explains reports whether a reason, or another one, is given for a task that was reopened before.
func (c *trial) explains(t *task, reason string) bool {
	return c.thirdOn() && t.reopened && reason != "" && reason != t.reason
}

// saidDone reports whether any session reports the task as completed.
func (t *task) saidDone() bool {
	for _, w := range t.words {
		if w.says == completed {
			return true
		}
	}
	return false
}

func (f *taskStatusChanged) fold(c *trial) {
	c.deliver(f.Notice)
	t := c.tasks[f.TaskID]
	if t == nil {
		return
	}
	t.move(f.To)
	t.reason = f.Reason
	if f.To != inProgress {
		return
	}
	t.reopened = true
	// What was said before the task was said to be done is over too, unless its session is at work.
	done := uint64(0)
	for _, w := range t.words {
		if w.says == completed {
			done = max(done, w.at)
		}
	}
	for id, w := range t.words {
		s := c.sessions[id]
		atWork := s != nil && s.ended == "" && s.status != completed
		if w.says == completed || w.at < done && !atWork {
			t.retract(id)
		}
	}
}
