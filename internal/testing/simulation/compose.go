package simulation

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	documents "maestro/internal/oracle"
)

// vocabulary are the commands that can become an event in this version, except those in beginnings.
var vocabulary = []string{
	"project:create",
	"project:update",
	"project:delete",
	"task:create",
	"task:update",
	"task:complete",
	"task:block",
	"task:reopen",
	"task:delete",
	"session:spawn",
	"session:register",
	"session:complete",
	"session:kill",
	"session:update",
	"session:delete",
	"session:note",
	"session:link",
	"session:unlink",
	"track-file",
	"report:progress",
	"report:complete",
	"report:blocked",
	"report:error",
	"report:needs-input",
	"queue:create",
	"queue:push",
	"queue:start",
	"queue:complete",
	"queue:fail",
	"queue:skip",
	"queue:requeue",
	"queue:move",
	"queue:remove",
	"queue:delete",
	"queue:return",
	"queue:quarantine",
	"input:answer",
	"input:received",
	"token:create",
	"token:revoke",
	"audit:redact",
	"template:create",
	"template:update",
	"template:reset",
	"template:delete",
	"session:lost",
	"session:recovered",
	"session:timed-out",
	"token:used",
}

// queueing are the commands about queues, questions, tokens and time; systemCommands are those of the system.
var (
	queueing = []string{
		"queue:push",
		"queue:push",
		"queue:start",
		"queue:start",
		"queue:start",
		"queue:start",
		"queue:complete",
		"queue:complete",
		"queue:fail",
		"queue:skip",
		"queue:requeue",
		"queue:move",
		"queue:move",
		"queue:remove",
		"queue:delete",
		"session:kill",
		"session:kill",
		"session:delete",
		"report:needs-input",
		"report:needs-input",
		"input:answer",
		"input:answer",
		"input:received",
		"token:create",
		"token:revoke",
		"report:complete",
		"task:complete",
		"session:spawn",
		"queue:create",
	}
	systemCommands = []string{
		"queue:return",
		"queue:return",
		"queue:quarantine",
		"session:lost",
		"session:recovered",
		"session:timed-out",
		"token:used",
	}
)

// compose draws a client's next request: a new wish, an earlier one again, or an earlier key with another body or from
// another caller.
func (w *world) compose(rng *rand.Rand) wish {
	c := composer{
		Rand:      rng,
		m:         w.oracle.model(),
		queues:    w.plan.Queues,
		manifests: w.plan.Manifests,
		tokens:    w.plan.Tokens,
		templates: w.plan.Templates,
		webhooks:  w.plan.Webhooks,
		messages:  w.plan.Messages,
		runs:      w.plan.Runs,
		plans:     w.plan.Plans,
	}
	for _, waiting := range w.waiting {
		f := waiting.wish.fields
		if f.TaskID != "" {
			c.busyTasks = append(c.busyTasks, f.TaskID)
		}
		if f.SessionID != "" {
			c.busySessions = append(c.busySessions, f.SessionID)
		}
		if waiting.wish.by.kind == "session" {
			c.busySessions = append(c.busySessions, waiting.wish.by.name)
		}
	}
	if n := rng.IntN(100); n < 25 && len(w.calls) > 0 {
		earlier := w.calls[len(w.calls)-1-rng.IntN(min(len(w.calls), 12))].wish
		switch {
		case n < 15:
			return earlier
		case n < 20:
			other := c.wish(earlier.by, earlier.id)
			other.key = earlier.key
			return other
		default:
			earlier.by = c.caller()
			return earlier
		}
	}
	w.keys++
	x := c.fresh()
	if by := c.m.showing(x.by); by.generation > 1 && c.chance(10) {
		x.by.generation = by.generation - 1
	}
	x.key = fmt.Sprintf("k%d", w.keys)
	x.occurred = c.occurred(x)
	if x.fields.Message != "" && !x.occurred.IsZero() && !w.oracle.now().Permits(x.asks(c.m.at)) && c.chance(40) {
		x.fields.Message = longMessage() // the record of its refusal has the text
	}
	return x
}

// occurred draws when a wish was created that waited in an outbox: at some time around the life of a session that has
// ended.
func (c composer) occurred(w wish) time.Time {
	if x := c.m.sessions[w.by.name]; w.by.kind == "session" && x.Ended && c.chance(75) {
		return time.UnixMilli(pick(c, []int64{
			x.StartedAt - 1, x.StartedAt, (x.StartedAt + x.EndedAt) / 2, x.EndedAt, x.EndedAt, x.EndedAt + 1,
			x.EndedAt + 60_000,
		})).UTC()
	}
	if c.chance(5) {
		return time.Date(1999, 12, 31, 23, 0, 0, 0, time.UTC)
	}
	return time.Time{}
}

// fresh draws a new wish: first what the run needs to have something to work with, then anything.
func (c composer) fresh() wish {
	live := 0
	for _, t := range c.m.tasks {
		if !t.Deleted {
			live++
		}
	}
	working := 0
	for _, x := range c.m.sessions {
		if !x.Deleted && !x.Ended {
			working++
		}
	}
	switch {
	case len(c.m.projectIDs) == 0, len(c.m.projectIDs) == 1 && c.chance(10):
		return wish{by: admin, id: "project:create", fields: fields{Name: ptr("Alpha")}}
	case live < 3 && c.chance(60):
		return wish{
			by:     admin,
			id:     "task:create",
			fields: fields{Project: pick(c, c.m.projectIDs), Title: ptr("A task")},
		}
	case working < c.staff() && live > 0 && c.chance(60):
		return c.wish(admin, "session:spawn")
	}
	if c.plans && c.chance(70) {
		return c.drawPlanWish()
	}
	if c.tokens && c.chance(40) {
		return c.drawTokenMakerWish()
	}
	if c.queues && c.chance(45) {
		if x, ok := c.next(); ok {
			return x
		}
	}
	if c.manifests && c.chance(25) {
		return c.begin()
	}
	if c.templates && c.chance(30) {
		return c.drawTemplateWish()
	}
	if c.webhooks && c.chance(30) {
		return c.drawWebhookWish()
	}
	if c.messages && c.chance(30) {
		return c.drawMessageWish()
	}
	if c.runs && c.chance(60) {
		return c.drawRunWish()
	}
	if c.chance(4) {
		return c.wish(admin, pick(c, templateCommands))
	}
	by := c.caller()
	id := pick(c, vocabulary)
	if c.queues && c.chance(60) {
		id = pick(c, queueing)
		if x, ok := c.worker(); ok && by.kind == "session" && c.chance(60) {
			by = caller{kind: "session", name: x, project: c.m.sessions[x].Project}
		}
	}
	if by.kind == "system" && c.chance(85) {
		id = pick(c, systemCommands)
	}
	if by.kind == "admin" && c.chance(15) {
		id = pick(
			c,
			[]string{"session:kill", "session:delete", "task:update", "task:update"},
		) // what other decisions depend on
	}
	if x, ok := c.m.liveSession(by.name); ok && by.kind == "session" && c.chance(75) {
		for n := 0; !x.Commands[id]; n++ {
			id = pick(c, vocabulary)
			if c.queues && n < 5 {
				id = pick(c, queueing)
			}
		}
	}
	return c.wish(by, id)
}

// wish draws a command with this id for this caller.
func (c composer) wish(by caller, id string) wish {
	w := wish{by: by, id: id}
	f := &w.fields
	noun, _, _ := strings.Cut(id, ":")
	if named := by.kind != "session" || c.chance(10); named && noun != "project" {
		f.Project = c.project()
		// Most callers that name a target omit the project, or name the right one.
		if noun != "task" && c.chance(80) || id != "task:create" && noun == "task" && c.chance(80) {
			f.Project = ""
		}
	}
	switch id {
	case "project:create":
		f.Name = ptr(pick(c, []string{"Alpha", "Beta", "", strings.Repeat("n", 201)}))
	case "project:update":
		f.ProjectID, f.Name = c.project(), ptr(pick(c, []string{"Gamma", "Delta", ""}))
	case "project:delete":
		f.ProjectID = c.project()
	case "task:create":
		c.createTask(f, by)
	case "task:update":
		c.updateTask(f, by)
		f.Force = c.chance(20)
	case "task:complete":
		f.TaskID, f.Force = c.taskOf(by), c.chance(40)
	case "task:block", "task:reopen":
		f.TaskID, f.Reason = c.taskOf(by), pick(c, []string{"", "not yet", "no key"})
		f.Force = c.chance(20)
	case "task:delete":
		f.TaskID, f.Recursive = c.taskOf(by), c.chance(50)
	case "session:spawn":
		c.spawn(f, by)
	case "session:register":
		c.register(f, by)
	case "worker:init", "orchestrator:init":
		f.SessionID = c.target(by)
		f.Manifest = c.manifestOf(cmp.Or(f.SessionID, by.name))
	case "session:complete":
		f.SessionID = c.target(by)
	case "session:kill":
		f.SessionID, f.Failed = c.session(), c.chance(30)
		if id, ok := c.relative(by); ok && c.chance(50) {
			f.SessionID = id
		}
	case "session:update":
		f.SessionID = c.session()
		if c.chance(60) {
			f.Status = ptr(pick(c, []string{"idle", "working", "running"}))
		}
		if c.chance(30) {
			f.TaskIDs, f.Force = &[]string{c.task()}, c.chance(30)
		}
		if c.manifests && c.chance(40) {
			f.Manifest = c.manifest()
		}
	case "session:delete":
		f.SessionID = c.session()
	case "session:note":
		f.SessionID, f.Message = c.target(by), c.message()
		f.Type = pick(c, []string{
			"", "", "milestone", "task_blocked", "task_completed", "task_status_changed",
			"session_lost", "command_exited", "error", "needs_input",
		})
	case "session:message":
		c.fillMessage(f, by)
	case "session:link":
		f.SessionID, f.TaskID, f.Force = c.session(), c.task(), c.chance(30)
	case "session:unlink":
		f.SessionID, f.TaskID = c.session(), c.task()
	case "track-file":
		f.SessionID, f.File = c.target(by), pick(c, []string{"main.go", "a/b.txt", ""})
		if c.chance(40) {
			f.TaskID = c.taskOf(by)
		}
	case "queue:create":
		c.createQueue(f, by)
	case "queue:push", "queue:start", "queue:complete", "queue:fail", "queue:skip":
		c.fillQueue(f, by, id)
	case "queue:delete":
		if f.Project, f.Queue = c.project(), c.queueName(); len(c.m.queueIDs) > 0 && c.chance(80) {
			q := c.m.queues[pick(c, c.m.queueIDs)]
			f.Project, f.Queue = q.Project, q.Name
		}
	case "queue:requeue", "queue:move", "queue:remove", "queue:return", "queue:quarantine":
		c.fillItem(f, id)
		if id == "queue:requeue" {
			f.Reason = someReason(*f)
		}
	case "input:answer", "input:received":
		c.fillInput(f, by, id)
	case "token:create", "token:revoke":
		c.fillToken(f, id)
	case "token:used":
		c.fillTokenUse(f)
	case "audit:redact":
		c.fillRedaction(f)
	case "template:create", "template:update", "template:reset", "template:delete":
		c.fillTemplate(f, id)
	case "webhook:create", "webhook:update", "webhook:delete", "webhook:resume", "webhook:park":
		c.fillWebhook(f, id)
	case "session:claim", "session:exited", "session:usage", "sandbox:blocked", "preflight:failed", "session:stuck",
		"session:resume":
		c.fillRun(f, by, id)
	case "session:lost", "session:recovered", "session:timed-out":
		f.Project, f.SessionID = "", c.session()
		if id == "session:lost" {
			f.SilentFor, f.Lease = pick(
				c,
				[]int64{0, 59_999, 60_000, 61_234},
			), pick(
				c,
				[]int64{60_000, 60_000, 60_000, 0, -1},
			)
		}
	default:
		if f.Message = c.message(); id == "report:needs-input" && c.chance(50) || c.chance(2) {
			f.Options = pick(c, [][]string{{"red", "green"}, {"yes", "no"}, {"yes", "no", "yes"}, {"yes", " "}})
		}
		if c.chance(60) {
			f.TaskIDs = &[]string{c.taskOf(by)}
			if c.chance(20) {
				*f.TaskIDs = append(*f.TaskIDs, c.taskOf(by))
			}
		}
	}
	return w
}

func (c composer) createTask(f *fields, by caller) {
	f.Title = c.title()
	if c.chance(40) {
		f.ParentID, f.Force = ptr(c.taskOf(by)), c.chance(20)
	}
	if c.chance(30) {
		f.Dependencies = &[]string{c.taskOf(by)}
	}
	c.plan(f)
}

// plan draws a plan id and labels.
func (c composer) plan(f *fields) {
	if c.chance(20) {
		f.PlanID = ptr(pick(c, []string{"one", "one", "two", "", "a b"}))
	}
	if c.chance(15) {
		f.Labels = &[]string{pick(c, []string{"ui", " ui", "db", "", "a,b"})}
	}
}

func (c composer) updateTask(f *fields, by caller) {
	f.TaskID = c.taskOf(by)
	if c.chance(40) {
		f.Title = c.title()
	}
	if c.chance(60) {
		f.Status = ptr(pick(c, []string{"todo", "in_progress", "completed", "cancelled", "blocked", "done"}))
	}
	if c.chance(30) {
		f.Dependencies = &[]string{c.taskOf(caller{kind: "session", project: c.m.tasks[f.TaskID].Project})}
	}
	c.plan(f)
	c.place(f)
}

// order draws a place among siblings: mostly next to a sibling below the parent that the task has or gets.
func (c composer) order(f *fields, t documents.Task) {
	parent := t.Parent
	if f.ParentID != nil {
		parent = *f.ParentID
	}
	var siblings []string
	for _, id := range c.m.siblings[t.Project] {
		if it := c.m.tasks[id]; !it.Deleted && it.Parent == parent {
			siblings = append(siblings, id)
		}
	}
	if len(siblings) == 0 || c.chance(10) {
		siblings = []string{c.task()}
	}
	switch next := pick(c, siblings); {
	case c.chance(5):
		f.Before, f.After = next, next
	case c.chance(50):
		f.Before = next
	default:
		f.After = next
	}
}
