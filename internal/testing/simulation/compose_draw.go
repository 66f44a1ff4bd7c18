package simulation

import (
	"math/rand/v2"
	"strings"

	"maestro/events"
)

// composer draws commands that make sense in the current state.
type composer struct {
	*rand.Rand
	m *model
	// busyTasks and busySessions are named by commands that are still waiting. Drawing them again makes commands of one
	// batch affect each other.
	busyTasks, busySessions []string
	// queues makes commands about queues, questions and time more frequent.
	queues bool
	// manifests gives sessions manifests.
	manifests bool
	// tokens lets tokens expire, create others and be revoked.
	tokens bool
	// templates lets templates be created, changed and deleted.
	templates bool
	webhooks  bool
	// messages lets clients send messages to sessions.
	messages bool
	// runs lets runners claim sessions, and sessions be resumed.
	runs bool
	// plans lets a plan change again and again.
	plans bool
}

func (c composer) chance(percent int) bool { return c.IntN(100) < percent }

func pick[T any](c composer, list []T) T { return list[c.IntN(len(list))] }

func (c composer) caller() caller {
	switch n := c.IntN(100); {
	case n < 19:
		return admin
	case n < 23:
		return caller{kind: "admin", name: pick(c, []string{"ann", "ann", "bob"})}
	case n < 24:
		return caller{kind: "admin", name: pick(c, []string{"bob", "eve"})}
	case n < 28:
		return caller{kind: "auditor", name: "eve"}
	case n < 31:
		return caller{kind: "reader", name: "rob"}
	case n < 32:
		return caller{kind: "runner", name: "r1"}
	case n < 37:
		return caller{kind: "system"}
	case n < 40 || len(c.m.sessionIDs) == 0:
		return caller{kind: "session", name: "sess_unknown", project: c.project()}
	}
	id := pick(c, c.m.sessionIDs)
	if len(c.busySessions) > 0 && c.chance(25) {
		id = pick(c, c.busySessions)
	}
	by := caller{kind: "session", name: id, project: c.m.sessions[id].Project}
	if c.chance(3) {
		by.project = c.project()
	}
	return by
}

func (c composer) project() string {
	if len(c.m.projectIDs) == 0 || c.chance(4) {
		return "proj_unknown"
	}
	return pick(c, c.m.projectIDs)
}

func (c composer) task() string {
	if len(c.busyTasks) > 0 && c.chance(25) {
		return pick(c, c.busyTasks)
	}
	if len(c.m.taskIDs) == 0 || c.chance(4) {
		return "task_unknown"
	}
	return pick(c, c.m.taskIDs)
}

func (c composer) session() string {
	if len(c.busySessions) > 0 && c.chance(25) {
		return pick(c, c.busySessions)
	}
	if len(c.m.sessionIDs) == 0 || c.chance(4) {
		return "sess_unknown"
	}
	return pick(c, c.m.sessionIDs)
}

// relative returns a session below a caller, or above it.
func (c composer) relative(by caller) (string, bool) {
	var family []string
	for _, id := range c.m.sessionIDs {
		if by.kind == "session" && (c.m.below(c.m.sessions[id], by.name) || c.m.below(c.m.sessions[by.name], id)) {
			family = append(family, id)
		}
	}
	if len(family) == 0 {
		return "", false
	}
	return pick(c, family), true
}

// taskOf draws a task for a caller: mostly one of its project.
func (c composer) taskOf(by caller) string {
	id := c.task()
	for range 3 {
		if by.kind != "session" || c.m.tasks[id].Project == by.project && !c.m.tasks[id].Deleted {
			break
		}
		id = c.task()
	}
	if x, ok := c.m.sessions[by.name]; ok && len(x.Tasks) > 0 && c.chance(50) {
		return pick(c, x.Tasks)
	}
	return id
}

func (c composer) title() *string {
	return ptr(
		pick(c, []string{"Write it", "Test it", "Ship it", "", strings.Repeat("x", 201), "Wöchentlich <&> \"quoted\""}),
	)
}

func (c composer) message() string {
	if c.chance(3) {
		return longMessage()
	}
	return pick(c, []string{"Under way", "Half done", "Fertig — ✓", "", "line\nline"})
}

func longMessage() string { return strings.Repeat("long ", events.MaxText/4) }

// target draws the session that a caller acts as: its own, mostly without naming it, or, wrongly, another.
func (c composer) target(by caller) string {
	if by.kind == "session" && c.chance(80) {
		return ""
	}
	return c.session()
}
