package projections

import (
	"cmp"
	"slices"

	"maestro/events"
)

// takenUp reports whether somebody else is to do a task on which a session says that it cannot continue: an item of the
// task waits in a queue or another session holds it, or a session at work got the task after this one. A session at
// work that is blocked waits for an answer all the same.
func (b *inbox) takenUp(t *Task, says events.TaskSessionStatus, session string) bool {
	if says != events.SaysFailed && (says != events.SaysBlocked || b.works(session)) {
		return false
	}
	for _, item := range b.QueuesOf(t.ID) {
		b.work(1)
		if item.Status == events.ItemQueued || item.Status == events.ItemProcessing && item.SessionID != session {
			return true
		}
	}
	b.lookedThrough(len(t.SessionIDs))
	return !b.works(session) && b.given(t, slices.Index(t.SessionIDs, session)+1)
}

// given reports whether one of a task's sessions, from the nth on, is at work and was given the task itself, and not an
// item of a queue.
func (b *inbox) given(t *Task, nth int) bool {
	return slices.ContainsFunc(t.SessionIDs[nth:], func(id string) bool {
		x := b.Session(id)
		if x == nil || !x.Active() || x.Queue != "" {
			return false
		}
		b.lookedThrough(len(x.TaskIDs))
		return slices.Contains(x.TaskIDs, t.ID)
	})
}

// quarantined reports whether an item of the task is quarantined, which its own inbox item shows.
func (b *inbox) quarantined(t *Task) bool {
	return slices.ContainsFunc(b.QueuesOf(t.ID), func(item *Item) bool {
		return item.Status == events.ItemQuarantined
	})
}

// setAside adds a task that nobody has started and that a queue skipped, and reports whether it did.
func (b *inbox) setAside(t *Task) bool {
	skipped := b.skipped(t)
	if skipped == nil || b.Open(t.ID) > 0 {
		return false
	}
	b.find(InboxUnattended, skipped.SessionID, t.ID, "", skipped.CompletedAt, func() InboxItem {
		item := InboxItem{
			TaskID:    t.ID,
			SessionID: skipped.SessionID,
			What:      t.Title,
			Message:   b.skippedAs(skipped),
			Next:      b.spawn(t),
		}
		if b.ended(t) != nil {
			item.Next = append(b.unlessClaimed(skipped, requeue(skipped)), item.Next...)
		}
		return item
	})
	return true
}

// skippedAs says that an item was skipped, and what its holder said before that.
func (b *inbox) skippedAs(item *Item) string {
	return b.afterClaim(item, textOf("its item in queue "+item.Queue+" was skipped", item.FailReason))
}

// ended returns an item of the task that was skipped, or completed before the task was reopened; nil if there is none.
// It omits the own queues of sessions that are gone: nobody would start the item there.
func (b *inbox) ended(t *Task) *Item {
	for _, item := range b.QueuesOf(t.ID) {
		q := b.Queue(t.ProjectID, item.Queue)
		switch {
		case q == nil || q.SessionID != "" && !b.works(q.SessionID):
		case item.Status == events.ItemSkipped, item.Status == events.ItemCompleted && b.Requeueable(item):
			return item
		}
	}
	return nil
}

// attends is Attends without the holders that an item had before, unless they go on.
func (b *inbox) attends(x *Session, t *Task) bool { return b.Attends(x, t) && !b.letGo(x, t) }

// worksOn reports whether a session is at work and may go on with a task.
func (b *inbox) worksOn(session string, t *Task) bool {
	return b.works(session) && !b.letGo(b.Session(session), t)
}

// letGo reports whether a session does not hold its item of a task any more, and has not said since that it works on
// the task.
func (b *inbox) letGo(x *Session, t *Task) bool {
	if !b.HasLeft(x, t) {
		return false
	}
	b.lookedThrough(t.Speakers())
	said := t.SaidBy(x.ID)
	return said.Status != events.SaysWorking || int64(said.At) <= b.Item(x.ProjectID, x.Queue, t.ID).CompletedAt
}

// wentOn reports whether an item of a task was skipped after a session said that it failed: it is not about what the
// session said any more.
func (b *inbox) wentOn(t *Task, since int64) bool {
	return slices.ContainsFunc(b.QueuesOf(t.ID), func(item *Item) bool {
		b.work(1)
		return item.Status == events.ItemSkipped && item.CompletedAt > since
	})
}

func (b *inbox) works(session string) bool {
	x := b.Session(session)
	return x != nil && x.Active()
}

// addUnattended adds a task; last is the last session that had it, or nil.
func (b *inbox) addUnattended(t *Task, last *Session, since int64) {
	session := ""
	if last != nil && b.leftNothing(last) {
		last = b.lastWorked(t)
	}
	if last != nil {
		session = last.ID
	}
	b.find(InboxUnattended, session, t.ID, "", cmp.Or(since, t.UpdatedAt), func() InboxItem {
		item := InboxItem{
			TaskID:    t.ID,
			SessionID: session,
			What:      t.Title,
			Message:   "no session works on it",
			Next:      b.spawn(t),
		}
		switch {
		case last == nil:
			item.Message = "it is in progress, and no session has it"
			item.Next = append(item.Next, "maestro task update "+t.ID+" --status todo")
		case b.ended(t) != nil:
			q := b.ended(t)
			item.Message = b.skippedAs(q)
			if q.Status == events.ItemCompleted {
				item.Message = "it was reopened, and its item in queue " + q.Queue + " is completed"
			}
			item.Next = append(b.unlessClaimed(q, requeue(q)), item.Next...)
		case last.Active():
			item.Message += ": session " + session + " had it, and is at work on something else"
		case last.Deleted:
			item.Message += ": session " + session + " was deleted"
		case last.Ended():
			item.Message += ": session " + session + " is " + string(last.Status)
			if last.EndReason != "" {
				item.Message += " (" + last.EndReason + ")"
			}
		case t.StatusSequence > 0 && t.StatusAt >= last.CompletedAt:
			item.Message += ": it was reopened after session " + session + " was completed"
		case t.Reopened:
			item.Message += ": session " + session + " is completed, and nobody says that it is done"
			item.Next = append(item.Next, b.complete(t))
		default:
			item.Message += ": session " + session + " is completed, and nobody says that it is done"
			item.Next = append([]string{b.complete(t)}, item.Next...)
		}
		if reason := t.ReopenReason(); reason != "" {
			item.Message += "; the reason it was reopened: " + reason
		}
		return item
	})
}

func (b *inbox) session(x *Session) {
	switch {
	case x.Active() && (x.Lost() || b.crashed(x)):
		b.silent(x)
	case x.Status == events.SessionEndFailed && len(x.TaskIDs) > 0:
		b.expensive.failed = append(b.expensive.failed, x.ID)
	}
	if word := b.UnansweredWord(x); word != nil {
		b.word(x, word)
	}
}

// killAndSucceed returns the command that ends a session and spawns another for its work, if that can start now.
func (b *inbox) killAndSucceed(x *Session) string {
	kill := "maestro session kill " + x.ID
	successor, works := b.SuccessorFor(x)
	if !works { // nothing is left, or what it left waits for other tasks
		return kill
	}
	return kill + " && " + successor
}

// silent adds a silent session.
func (b *inbox) silent(x *Session) {
	exit := b.Exit(x)
	kind, since := InboxLost, x.LostAt
	switch {
	case exit != nil:
		kind, since = InboxExited, exit.At
	case x.Spawned && x.Status == events.SessionSpawning:
		kind, since = InboxUnstarted, x.StartedAt
	}
	b.find(kind, x.ID, "", "", since, func() InboxItem {
		item := InboxItem{SessionID: x.ID, TaskID: b.workOf(x), What: x.Name}
		kill, exec := "maestro session kill "+x.ID, "maestro session exec "+x.ID+" -- <command>"
		switch kind {
		case InboxExited:
			item.Message = exit.Exited()
			item.Next = []string{"maestro session complete " + x.ID, kill}
			switch {
			case exit.ExitCode() == 0 && b.Holds(x) != nil: // its end gives the item back
				item.Next = []string{kill}
			case exit.ExitCode() != 0:
				item.Next = []string{b.killAndSucceed(x), exec}
			}
		case InboxUnstarted:
			item.Message = "it was spawned, and has not begun any work"
			item.Next = []string{exec, kill}
		default:
			item.Message = "nothing has been heard from it; it goes on when it is heard again"
			item.Next = []string{kill}
		}
		return item
	})
}

// crashed reports whether the command of a session at work failed, and the session was not heard since. Nobody has to
// wait for its lease to learn that. A command that succeeds may be one of several.
func (b *inbox) crashed(x *Session) bool {
	exit := b.Exit(x)
	return exit != nil && x.Active() && exit.ExitCode() != 0
}

// word adds a working session that says that it cannot continue, and names no task.
func (b *inbox) word(x *Session, word *Entry) {
	kind, next := InboxBlocked, []string{"maestro session message " + x.ID + ` "…"`}
	if word.Type == reportType(events.ReportError) {
		kind, next = InboxFailed, append([]string{"maestro why " + x.ID}, next...)
	}
	b.find(kind, x.ID, "", "", word.At, func() InboxItem {
		return InboxItem{
			SessionID: x.ID,
			TaskID:    b.workOf(x),
			What:      x.Name,
			Message:   word.Text(),
			Next:      next,
		}
	})
}
