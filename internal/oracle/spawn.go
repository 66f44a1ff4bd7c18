package oracle

import (
	"slices"
	"time"
)

type sessionSpawned struct {
	SessionID   string      `json:"sessionId"`
	Role        string      `json:"role"`
	Strategy    string      `json:"strategy"`
	TaskIDs     []string    `json:"taskIds"`
	Started     []string    `json:"started"`
	Unmet       []string    `json:"unmetDependencies"`
	Strict      bool        `json:"strict"`
	Forced      bool        `json:"forced"`
	Permissions permissions `json:"permissions"`
	SpawnedBy   string      `json:"spawnedBy"`
	Queue       string      `json:"queue"`
	Queued      []string    `json:"queued"`
	Timeout     int64       `json:"timeout"`
	Manifest    string      `json:"manifestDigest"`
	Runner      string      `json:"runner"`
	Options     *options    `json:"options"`
}

func (f *sessionSpawned) about() (kind, id string) { return "session", f.SessionID }
func (f *sessionSpawned) commands() []string       { return []string{"session:spawn"} }

func (f *sessionSpawned) judge(c *trial) {
	c.isNew(f.SessionID)
	c.may(f.Role, f.Strategy, f.Permissions)
	for _, id := range f.TaskIDs {
		c.aTask(id)
	}
	c.workable(f.TaskIDs...)
	f.spawner(c)
	f.starts(c)
	f.unmet(c)
	f.queues(c)
	c.aDigest(f.Manifest)
	if f.Runner != "" && !isID(f.Runner) {
		c.fault(ruleSpawn, "%q is not the name of a runner", f.Runner)
	}
	if f.Timeout < 0 {
		c.fault(ruleSpawn, "a timeout of %d ms is not valid", f.Timeout)
	}
}

// spawner judges the initiator: a session spawns only on its own behalf. A user may spawn on behalf of a session of the
// project, which older clients do (docs/http-api-compat.md, "5. Sessions"), and grants what a user may grant.
func (f *sessionSpawned) spawner(c *trial) {
	if c.by.kind == bySession {
		if f.SpawnedBy != c.by.id {
			c.fault(ruleSpawn, "spawnedBy is %q, but the event comes from %s", f.SpawnedBy, c.event.Source)
		}
		f.gives(c, c.sessions[c.by.id])
		c.bounded(c.event.Project, f.Options)
		return
	}
	if f.SpawnedBy == "" {
		return
	}
	s := c.sessions[f.SpawnedBy]
	if s == nil || s.ended == endDeleted || s.project != c.event.Project {
		c.fault(ruleSpawn, "spawnedBy is %q, which is not a session of project %q", f.SpawnedBy,
			c.event.Project)
	}
}

// gives judges that an orchestrator grants another no more than it has itself, and a worker no more than the default
// list of its role and what it has itself; the rules require the latter since version 3.
func (f *sessionSpawned) gives(c *trial, s *session) {
	own := c.defaultList(letterOf(f.Role, f.Strategy))
	switch {
	case s == nil || f.Role != "orchestrator" && !c.thirdOn():
		return
	case f.Role == "orchestrator":
		own = nil
	}
	for _, id := range f.Permissions.Commands {
		if !s.commands[id] && !slices.Contains(own, id) {
			c.fault(rulePermissions,
				"orchestrator %s may not give session %s the command %s, which it may not use itself", s.id,
				f.SessionID, id)
		}
	}
}

// starts judges which tasks it moved: those that were todo; with the queue strategy none, because starting an item does
// that.
func (f *sessionSpawned) starts(c *trial) {
	for i, id := range f.Started {
		t := c.tasks[id]
		switch {
		case f.Strategy == "queue":
			c.fault(ruleStatus, "it starts task %s, but a queued task starts with its item", id)
		case !slices.Contains(f.TaskIDs, id) || slices.Contains(f.Started[:i], id):
			c.fault(ruleSpawn, "it starts %q, which is not one of its tasks, or starts it twice", id)
		case t != nil && t.status != todo:
			c.fault(ruleStatus, "it starts task %s, whose status is %s", id, t.status)
		}
	}
	for _, id := range f.TaskIDs {
		if t := c.tasks[id]; f.Strategy != "queue" && t != nil && t.status == todo && !slices.Contains(f.Started, id) {
			c.fault(ruleStatus, "task %s is todo, but the spawn does not start it", id)
		}
	}
}

// unmet judges the unmet dependencies that it lists.
func (f *sessionSpawned) unmet(c *trial) {
	if f.Strict && len(f.Unmet) > 0 {
		c.fault(ruleSpawn, "the spawn required satisfied dependencies, but some are open")
	}
	switch {
	case !c.thirdOn():
	case f.waits() && !f.Forced:
		c.fault(ruleSpawn, "its tasks have open dependencies, and it is not forced: %q", f.Unmet)
	case !f.waits() && f.Forced:
		c.fault(ruleSpawn, "it is forced without need: nothing that it starts has open dependencies")
	}
	var open []string
	for _, id := range f.TaskIDs {
		if t := c.tasks[id]; t != nil {
			open = append(open, t.dependencies...)
		}
	}
	for _, id := range f.Unmet {
		if !slices.Contains(open, id) || c.satisfied(id, false) {
			c.fault(ruleSpawn, "it lists dependency %q as open, but it is not", id)
		}
	}
	// A queue that trusts reports may count it as met. The session does not wait for its own tasks.
	q := c.queues[queueKey{c.event.Project, f.Queue}]
	for _, id := range open {
		if !slices.Contains(f.TaskIDs, id) && !c.satisfied(id, q != nil && q.trust) && !slices.Contains(f.Unmet, id) {
			c.fault(ruleSpawn, "it does not list dependency %s, which is open", id)
		}
	}
}

// waits reports whether its tasks wait for others, other than as items of a queue.
func (f *sessionSpawned) waits() bool { return len(f.Unmet) > 0 && f.Strategy != "queue" }

func (f *sessionSpawned) ownQueue() bool { return f.Queue == f.SessionID }

// queues judges its queue: its own or an existing one, with its tasks pushed there in order, except those already
// there.
func (f *sessionSpawned) queues(c *trial) {
	// Version 1 of the rules gave sessions no queues.
	if f.Strategy != "queue" || c.event.Rules == "1" {
		if f.Queue != "" || len(f.Queued) > 0 {
			c.fault(ruleSpawn, "it names a queue, but its strategy is not queue")
		}
		return
	}
	q := c.queues[queueKey{c.event.Project, f.Queue}]
	if q == nil && !f.ownQueue() {
		c.fault(ruleSpawn, "it pulls from %q, which is not a queue", f.Queue)
	}
	var want []string
	for _, id := range f.TaskIDs {
		if !slices.Contains(want, id) && (q == nil || q.itemOf(id) == nil) {
			want = append(want, id)
		}
	}
	if !slices.Equal(f.Queued, want) {
		c.fault(ruleSpawn, "it pushes %q, but its tasks that are not yet in the queue are %q", f.Queued, want)
	}
	c.enters(q, f.Queued)
}

func (f *sessionSpawned) fold(c *trial) {
	s := c.newSession(f.SessionID, f.Role, f.Strategy, f.Permissions, f.TaskIDs)
	s.spawnedBy, s.manifest, s.status = f.SpawnedBy, f.Manifest, spawning
	s.timeout, s.runner = time.Duration(f.Timeout)*time.Millisecond, f.Runner
	if f.Options != nil {
		s.options = *f.Options
	}
	for _, id := range f.Started {
		c.tasks[id].move(inProgress)
	}
	if f.Queue == "" {
		return
	}
	s.queue = queueKey{s.project, f.Queue}
	q := c.queues[s.queue]
	if q == nil {
		q = newQueue(defaultAttempts, false)
		q.session = f.SessionID
		c.addQueue(s.queue, q)
	}
	for _, id := range f.Queued {
		c.push(q, id, c.event.ID)
	}
}
