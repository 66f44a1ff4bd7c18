package service

import (
	"slices"
	"time"

	"maestro/commands"
	"maestro/events"
	"maestro/projections"
	"maestro/service/wire"
)

const (
	// ownTasksListed is how many of its tasks a session is shown.
	ownTasksListed = 10
	// lostLooked is how many of its newest timeline entries are searched for the session's loss.
	lostLooked = 20
)

// whoamiSession fills in what a session learns about itself.
func (v View) whoamiSession(x *projections.Session, body *wire.Whoami) {
	body.Session, body.Name, body.SpawnedBy, body.Queue = x.ID, x.Name, x.SpawnedBy, x.Queue
	body.Role, body.Strategy, body.Project, body.Status = string(x.Role), string(x.Strategy), x.ProjectID, x.Status
	if p := v.Project(x.ProjectID); p != nil {
		body.ProjectName = p.Name
	}
	body.Tasks, body.TasksMore = v.ownTasks(x)
	if x.Ended() {
		body.Ended = commands.HowEnded(x)
	}
	body.Lost = v.wasLost(x)
	body.Next = v.nextOf(x, body.Tasks)
}

// ownTasks returns the tasks of a session, the item that it holds first; more counts those that are omitted.
func (v View) ownTasks(x *projections.Session) (tasks []wire.OwnTask, more int) {
	held := ""
	if item := v.Holds(x); item != nil {
		held = item.TaskID
	}
	ids := slices.DeleteFunc(slices.Clone(x.TaskIDs), func(id string) bool { return id == held })
	if held != "" {
		ids = slices.Insert(ids, 0, held)
	}
	v.Worked(len(ids) / namesPerStep)
	for _, id := range ids[:min(len(ids), ownTasksListed)] {
		t := v.Task(id)
		if t == nil { // deleted
			continue
		}
		v.Worked(t.Speakers())
		tasks = append(tasks, wire.OwnTask{
			ID:     t.ID,
			Title:  t.Title,
			Status: t.Status,
			Says:   t.SaidBy(x.ID).Status,
			Held:   id == held,
		})
	}
	return tasks, max(len(ids)-ownTasksListed, 0)
}

// wasLost returns when a session was last lost, if its newest entries show that.
func (v View) wasLost(x *projections.Session) string {
	loss := v.Loss(x)
	if loss == nil || len(v.SessionTimeline(x.ID))-loss.Entries >= lostLooked {
		return ""
	}
	at := time.UnixMilli(loss.At).UTC().Format(time.RFC3339)
	if loss.Recovered {
		return "you were lost, and heard again at " + at + "; an item that you held may be another session's now"
	}
	return "you are lost since " + at + "; an item that you held may be another session's now"
}

// nextOf returns a session's next step, as command lines that it may use.
func (v View) nextOf(x *projections.Session, tasks []wire.OwnTask) string {
	may := func(id string) bool { return v.Permit(id, x.ProjectID) == nil }
	open := slices.IndexFunc(tasks, func(t wire.OwnTask) bool {
		return t.Status != events.TaskCompleted && t.Status != events.TaskCancelled && t.Says != events.SaysCompleted
	})
	if open >= 0 && !tasks[open].Held && tasks[open].Status == events.TaskBlocked {
		for i, t := range tasks[open:] {
			if t.Status == events.TaskTodo || t.Status == events.TaskInProgress && t.Says != events.SaysCompleted {
				open += i
				break
			}
		}
	}
	asks := v.OpenQuestionsOf(x.ID) > 0
	switch {
	case x.Ended():
		return "stop: nothing that you do is accepted any more"
	case x.Status == events.SessionSaidDone:
		return "stop: you reported that you are done"
	case x.Status == events.SessionSpawning && x.ManifestDigest != "":
		return "`maestro " + string(x.Role) + " init` prints your prompts"
	case open >= 0 && tasks[open].Status == events.TaskBlocked && may("input:wait") &&
		(tasks[open].Held || x.Strategy != events.StrategyQueue && x.Role == events.RoleWorker):
		return "the task is blocked: `maestro input wait` waits until you hear that it is unblocked"
	case open >= 0 && tasks[open].Held && may("queue:complete"):
		return "work on " + tasks[open].ID + ", then `maestro queue complete`"
	case asks && may("input:wait"):
		return "your question is open: `maestro input wait` waits for the answer"
	case x.Strategy == events.StrategyQueue && may("queue:start"):
		return "`maestro queue start` takes the next item"
	case open >= 0 && x.Role == events.RoleOrchestrator:
		return "`maestro status` shows what your sessions report and what waits to be confirmed"
	case open >= 0 && may("report:complete"):
		id := tasks[open].ID
		return "work on " + id + ", then `maestro report complete \"<summary>\" --task " + id + "`"
	case open >= 0:
		return "work on " + tasks[open].ID + ", then `maestro session complete`"
	}
	return "everything is reported: end with `maestro session complete`"
}
