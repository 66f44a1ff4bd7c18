package commands

import (
	"strconv"

	"maestro/events"
	"maestro/projections"
)

// Warner is a command that may be permitted and still be a mistake. Warnings returns what its caller should know about
// its effects; data is its event's payload, and s the state after it. It does not influence the decision.
type Warner interface {
	Command
	Warnings(s *projections.State, data events.Data) []Warning
}

// warnsAhead is a Warner whose warnings are the same before its event and after it: they are about other sessions and
// queues that may do the same work, or are at work on it.
type warnsAhead interface {
	Warner
	warnsAhead()
}

// WarnsAhead reports whether a dry run of a command warns too.
func WarnsAhead(command Command) bool {
	_, ahead := command.(warnsAhead)
	return ahead
}

func (*SpawnSession) warnsAhead() {}
func (*PushItem) warnsAhead()     {}
func (*UpdateTask) warnsAhead()   {}
func (*KillSession) warnsAhead()  {}
func (*DeleteQueue) warnsAhead()  {}
func (*DeleteTask) warnsAhead()   {}

func (*DeleteSession) warnsAhead() {}
func (*BlockTask) warnsAhead()     {}

// The unread mail of a session decides whether somebody completes it.
func (*CompleteSession) warnsAhead() {}

// mayDrop is a Warner that may drop something without an event.
type mayDrop interface {
	Warner
	mayDrop() bool
}

// MayDrop reports whether a command that becomes no event still has something to warn of.
func MayDrop(command Command) bool {
	dropper, may := command.(mayDrop)
	return may && dropper.mayDrop()
}

// mayDrop: how and why a session that has ended already was to end.
func (x *KillSession) mayDrop() bool { return x.Reason != "" || x.Failed }

// Warning is what the caller of a command should know about its effects.
type Warning struct {
	Text string
	// Next are steps that the caller can take, such as "`maestro task reopen task_1` unblocks it". A caller receives
	// those whose command it may use.
	Next []string
	// Tasks and Sessions are those that the text mentions. Only a caller who may read them all receives it.
	Tasks, Sessions []string
	// Except is the session that does not need the warning, because the command may be its own; "" for none.
	Except string
}

// Warnings implements Warner. No inbox shows a worker's new task that is part of no other: it is for others to do.
func (*CreateTask) Warnings(s *projections.State, data events.Data) []Warning {
	created, ok := data.(*events.TaskCreated)
	if !ok {
		return nil
	}
	t := s.Task(created.TaskID)
	if t == nil {
		return nil
	}
	_, id, _ := projections.SessionOfSource(t.CreatedBy)
	by := s.Session(id)
	if by == nil || by.Role != events.RoleWorker || by.Strategy == events.StrategyTree || s.Task(t.ParentID) != nil {
		return nil
	}
	next := []string{"name it in your next report, such as `" + spelled["report:progress"] + "`"}
	if by.Strategy == events.StrategyQueue {
		next = append([]string{"`maestro queue push " + t.ID + "` puts it into your queue"}, next...)
	}
	return []Warning{{
		Text:  "nobody is told of task " + t.ID,
		Next:  next,
		Tasks: []string{t.ID},
	}}
}

// Warnings implements Warner.
func (x *CompleteTask) Warnings(s *projections.State, data events.Data) (warnings []Warning) {
	t := s.Task(x.TaskID)
	if t == nil {
		return nil
	}
	if changed, ok := data.(*events.TaskStatusChanged); ok {
		warnings = workStopped(s, changed.Notice, "task "+t.ID, true, t.ID)
	}
	unmet := s.UnmetDependencies(t)
	if len(unmet) == 0 {
		return warnings
	}
	named := unmet[:min(len(unmet), belowNamed)]
	return append(warnings, Warning{
		Text:  "task " + t.ID + " depends on tasks that are not completed: " + someOf(named, len(unmet)),
		Tasks: named,
	})
}

// Warnings implements Warner.
func (x *BlockTask) Warnings(s *projections.State, data events.Data) []Warning {
	changed, ok := data.(*events.TaskStatusChanged)
	if !ok {
		return nil
	}
	warnings := unheardNotice(s, changed.Notice)
	if x.Reason == "" {
		warnings = append(warnings, Warning{
			Text:  "nobody is told why task " + x.TaskID + " is blocked",
			Next:  []string{"say it with `maestro task block " + x.TaskID + " \"<reason>\"`"},
			Tasks: []string{x.TaskID},
		})
	}
	if changed.From == events.TaskCompleted {
		warnings = append(warnings, buildOn(s, changed.TaskID)...)
	}
	return warnings
}

// Warnings implements Warner. The sessions that pull from a deleted queue have nothing more to do.
func (x *DeleteQueue) Warnings(s *projections.State, data events.Data) []Warning {
	if _, deleted := data.(*events.QueueDeleted); !deleted {
		return nil
	}
	var warnings []Warning
	workers := s.WorkersOf(x.Project, x.Queue, belowNamed+1)
	if len(workers) > belowNamed {
		warnings = append(warnings, Warning{
			Text: "more sessions pulled from the queue than are named here",
			Next: []string{"`maestro session list --active` shows them all"},
		})
		workers = workers[:belowNamed]
	}
	for _, id := range workers {
		warnings = append(warnings, Warning{
			Text:     sessionNamed(s.Session(id)) + " pulled from the queue, and has nothing more to do",
			Next:     []string{"`maestro session kill " + id + "` ends it"},
			Sessions: []string{id},
		})
	}
	return warnings
}

// Warnings implements Warner. A session that said it is done is done no more, and one that has ended keeps its reason.
func (x *KillSession) Warnings(s *projections.State, data events.Data) []Warning {
	session := s.Session(x.SessionID)
	if session == nil {
		return nil
	}
	text := ""
	killed, now := data.(*events.SessionKilled)
	var warnings []Warning
	if now {
		warnings = leftUnread(s, session)
	}
	switch {
	case now && session.DoneSequence > 0:
		text = sessionNamed(session) + " had reported that its work is done; this changes its status to " +
			string(killed.Status)
	case !now && x.Reason != "" && x.Reason != session.EndReason:
		text = "the reason is not stored, because " + sessionNamed(session) + " had ended before: " + HowEnded(session)
	case !now && x.Failed && session.Status == events.SessionStopped:
		text = sessionNamed(session) + " stays stopped, and is not marked as failed: it had already ended"
	default:
		return warnings
	}
	return append(warnings, Warning{Text: text, Sessions: []string{session.ID}})
}

// Warnings implements Warner. A session that was deleted while it was at work is in no list any more.
func (x *DeleteSession) Warnings(s *projections.State, data events.Data) []Warning {
	session := s.SessionEver(x.SessionID)
	if _, now := data.(*events.SessionDeleted); !now || session == nil {
		return nil
	}
	switch session.Status { // the deletion keeps it
	case events.SessionSpawning, events.SessionIdle, events.SessionRunning, events.SessionWorking:
		text := sessionNamed(session) + " had not ended: it can do nothing more, and its open questions are gone"
		if item := lastHeld(s, session); item != nil {
			text += "; the item that it held, task " + item.TaskID + ", returns to queue " + item.Queue
		}
		return []Warning{{Text: text}}
	case events.SessionSaidDone, events.SessionStopped, events.SessionEndFailed:
	}
	return nil
}

// Warnings implements Warner.
func (x *SpawnSession) Warnings(s *projections.State, data events.Data) (warnings []Warning) {
	spawned, ok := data.(*events.SessionSpawned)
	if !ok {
		return nil
	}
	if x.Like != nil {
		warnings = append(notCopied(s, *x.Like, spawned.SessionID), leftQueue(s, *x.Like, spawned)...)
	}
	if spawned.Queue != "" && spawned.Queue == spawned.SessionID && len(spawned.TaskIDs) == 0 {
		warnings = append(warnings, Warning{
			Text: "the session pulls from a queue of its own, which is empty",
			Next: []string{
				"`maestro queue push <taskId> --queue " + spawned.Queue + "` fills it",
				"`maestro queue create` makes one for several sessions, which `--queue` names at the spawn",
			},
			Sessions: []string{spawned.SessionID},
		})
	}
	for _, id := range spawned.TaskIDs[:min(len(spawned.TaskIDs), belowNamed)] {
		t := s.Task(id)
		switch {
		case t == nil:
			continue
		case t.Status == events.TaskCompleted:
			warnings = append(warnings, Warning{Text: "task " + id + " is completed already", Tasks: []string{id}})
			continue
		case t.Status == events.TaskBlocked:
			warnings = append(warnings, blocked(id))
		}
		warnings = append(warnings, alsoHad(s, t, spawned.SessionID, "")...)
		warnings = append(warnings, alsoQueued(s, id, spawned.Queue)...)
		if spawned.Strategy == events.StrategyTree {
			warnings = append(warnings, atWorkBelow(s, t, spawned.SessionID)...)
		}
	}
	return warnings
}

// leftQueue warns that a session with tasks of its own does not pull from the queue of the session that it is like.
func leftQueue(s *projections.State, like string, spawned *events.SessionSpawned) []Warning {
	other := s.SessionEver(like)
	if other == nil || other.Strategy != events.StrategyQueue || spawned.Strategy == events.StrategyQueue {
		return nil
	}
	warning := Warning{
		Text: "session " + spawned.SessionID + " has tasks of its own, so it does not pull from a queue as session " +
			like + " does",
		Sessions: []string{spawned.SessionID},
	}
	if s.Queue(other.ProjectID, other.Queue) != nil && other.Queue != other.ID {
		warning.Next = []string{
			"`maestro session spawn --like " + like + "`, without --task-ids, spawns one that pulls from queue " +
				other.Queue,
		}
	}
	return []Warning{warning}
}

// belowLooked bounds the tasks below one that are searched for sessions at work.
const belowLooked = 1000

// atWorkBelow warns of other sessions at work on tasks below one whose whole tree a session gets.
func atWorkBelow(s *projections.State, t *projections.Task, session string) (warnings []Warning) {
	below := s.Descendants(t.ID, belowLooked)
	s.Worked(len(below))
	for _, id := range below {
		child := s.Task(id)
		if child == nil || child.Over() {
			continue
		}
		for _, other := range child.SessionIDs[max(0, len(child.SessionIDs)-belowNamed):] {
			if len(warnings) == belowNamed {
				return warnings
			}
			if other == session || !s.Attends(s.Session(other), child) {
				continue
			}
			warnings = append(warnings, Warning{
				Text:     "session " + other + " works on task " + id + " below it, so two workers may do it",
				Tasks:    []string{t.ID, id},
				Sessions: []string{other},
			})
		}
	}
	return warnings
}

// alsoHad warns of other sessions at work that have a task, spoke about it, or work on the tree above it. It omits
// those that pull from a queue, "" for none.
func alsoHad(s *projections.State, t *projections.Task, session, queue string) (warnings []Warning) {
	if above := s.TreeWorkerAbove(t); above != "" && above != session {
		warnings = append(warnings, Warning{
			Text:     "session " + above + " works on the tree above task " + t.ID + ", so two workers may do it",
			Tasks:    []string{t.ID},
			Sessions: []string{above},
		})
	}
	for _, other := range t.SessionIDs[max(0, len(t.SessionIDs)-belowNamed):] {
		x := s.Session(other)
		if other == session || x == nil || queue != "" && x.Queue == queue {
			continue
		}
		if s.Attends(x, t) {
			warnings = append(warnings, Warning{
				Text:     "session " + other + " also has task " + t.ID,
				Tasks:    []string{t.ID},
				Sessions: []string{other},
			})
		}
	}
	return warnings
}

// alsoQueued warns of other queues in which a worker may get a task.
func alsoQueued(s *projections.State, task, queue string) (warnings []Warning) {
	items := s.QueuesOf(task)
	for _, item := range items[:min(len(items), belowNamed)] {
		if item.Queue != queue && (item.Status == events.ItemQueued || item.Status == events.ItemProcessing) {
			warnings = append(warnings, inOtherQueue(item))
		}
	}
	return warnings
}

func inOtherQueue(item *projections.Item) Warning {
	task := item.TaskID
	if item.Status == events.ItemProcessing {
		return Warning{
			Text: "session " + item.SessionID + " is at work on task " + task + ", which it took from queue " +
				item.Queue,
			Tasks:    []string{task},
			Sessions: []string{item.SessionID},
		}
	}
	return Warning{
		Text:  "task " + task + " is also in queue " + item.Queue + ", so two workers may do it",
		Next:  []string{"`maestro queue remove " + task + " --queue " + item.Queue + "` takes it out there"},
		Tasks: []string{task},
	}
}

// Warnings implements Warner.
func (x *PushItem) Warnings(s *projections.State, data events.Data) (warnings []Warning) {
	pushed, ok := data.(*events.QueueItemPushed)
	if !ok {
		return nil
	}
	if below, all := s.SomeUnfinished(x.TaskID, belowNamed); all > 0 {
		warnings = append(warnings, Warning{
			Text: "task " + x.TaskID + " has open tasks below it, and a worker may get it before they are completed: " +
				someOf(below, all),
			Tasks: below,
		})
	}
	warnings = append(warnings, alsoQueued(s, x.TaskID, pushed.Queue)...)
	if t := s.Task(x.TaskID); t != nil {
		warnings = append(warnings, alsoHad(s, t, "", pushed.Queue)...)
	}
	return warnings
}

// blocked warns that work is given out which is not to go on.
func blocked(task string) Warning {
	return Warning{
		Text:  "task " + task + " is blocked",
		Next:  []string{"`maestro task reopen " + task + "` unblocks it"},
		Tasks: []string{task},
	}
}

// Warnings implements Warner.
func (x *UpdateTask) Warnings(s *projections.State, data events.Data) []Warning {
	d, ok := data.(*events.TaskUpdated)
	if ok && d.Status != nil && !isOpen(d.Status.To) {
		warnings := workStopped(s, d.Notice, "task "+x.TaskID, true, x.TaskID)
		if d.Status.From == events.TaskCompleted && d.Status.To != events.TaskCompleted {
			warnings = append(warnings, buildOn(s, x.TaskID)...)
		}
		return warnings
	}
	var warnings []Warning
	if t := s.Task(x.TaskID); ok && d.Status != nil && t != nil {
		warnings = endedInQueues(s, t)
		if d.Status.From == events.TaskCompleted {
			warnings = append(warnings, buildOn(s, x.TaskID)...)
		}
	}
	changes := ok && (d.Title != nil || d.Description != nil || d.AcceptanceCriteria != nil || d.Dependencies != nil ||
		d.InitialPrompt != nil)
	if !changes {
		return warnings
	}
	return append(warnings, notTold(s, x.TaskID)...)
}

// notTold names the session that works on a task and does not notice that it was changed.
func notTold(s *projections.State, task string) []Warning {
	t := s.Task(task)
	if t == nil {
		return nil
	}
	id := s.ActiveSession(t)
	items := s.QueuesOf(t.ID)
	for _, item := range items[:min(len(items), belowNamed)] {
		if item.Status == events.ItemProcessing {
			id = item.SessionID
		}
	}
	if id == "" {
		id = s.TreeWorkerAbove(t)
	}
	if s.Session(id) == nil {
		return nil
	}
	return []Warning{{
		Text:     "session " + id + " works on task " + t.ID + " and does not learn of this",
		Next:     []string{"tell it with `maestro session message " + id + " \"…\" --about " + t.ID + "`"},
		Tasks:    []string{t.ID},
		Sessions: []string{id},
		Except:   id,
	}}
}

// Warnings implements Warner. Tasks may wait for the removed item's, which no queue gives out any more.
func (*RemoveItem) Warnings(s *projections.State, data events.Data) []Warning {
	removed, ok := data.(*events.QueueItemRemoved)
	if !ok {
		return nil
	}
	t := s.Task(removed.TaskID)
	if t == nil || t.Over() || s.Awaited(t.ID) == 0 || !s.Startable(t) {
		return nil
	}
	waits := "1 item waits"
	if n := s.Awaited(t.ID); n > 1 {
		waits = strconv.Itoa(n) + " items wait"
	}
	return []Warning{{
		Text: waits + " in a queue for task " + t.ID + ", which nobody has now",
		Next: []string{
			"`maestro queue push " + t.ID + " --queue " + removed.Queue + "` puts it back",
			"`" + s.SpawnFor(t) + "` gives it to a session",
		},
		Tasks: []string{t.ID},
	}}
}
