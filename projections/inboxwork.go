package projections

import (
	"cmp"
	"slices"

	"maestro/events"
)

// takenUp reports whether somebody else is to do a task on which a session said, at a time, that it cannot continue: an
// item of the task waits in a queue or another session holds it, or a session at work got the task after this one. A
// session at work that is blocked waits for an answer all the same.
func (b *inbox) takenUp(t *Task, says events.TaskSessionStatus, session string, since int64) bool {
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
	return !b.worksOn(session, t) && b.given(t, slices.Index(t.SessionIDs, session)+1, since)
}

// given reports whether one of a task's sessions, from the nth on, is at work and was given the task itself, and not an
// item of a queue. A session that nobody has started counts only if it was spawned since a time: that is an answer to
// what happened then.
func (b *inbox) given(t *Task, nth int, since int64) bool {
	return slices.ContainsFunc(t.SessionIDs[nth:], func(id string) bool {
		x := b.Session(id)
		if x == nil || !x.Active() || x.Queue != "" || x.Status == events.SessionSpawning && x.StartedAt < since {
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
			Message:   b.endedAs(skipped),
			Next:      b.spawn(t),
		}
		if b.ended(t) != nil {
			item.Next = append(b.unlessClaimed(skipped, requeue(skipped)), item.Next...)
		}
		return item
	})
	return true
}

// endedAs says that an item was skipped, has failed, or was completed before its task was reopened, and what its holder
// said before that.
func (b *inbox) endedAs(item *Item) string {
	what := "its item in queue " + item.Queue
	switch item.Status { //nolint:exhaustive // the others have not ended
	case events.ItemCompleted:
		return "it was reopened, and " + what + " is completed"
	case events.ItemFailed:
		return textOf(what+" has failed", item.FailReason)
	}
	return b.afterClaim(item, textOf(what+" was skipped", item.FailReason))
}

// ended returns the item of the task that ended last, of those that were skipped, have failed, or were completed before
// the task was reopened; nil if there is none.
// It omits the own queues of sessions that are gone: nobody would start the item there.
func (b *inbox) ended(t *Task) (last *Item) {
	for _, item := range b.QueuesOf(t.ID) {
		q := b.Queue(t.ProjectID, item.Queue)
		switch {
		case q == nil || q.SessionID != "" && !b.works(q.SessionID):
		case item.Status == events.ItemSkipped, item.Status == events.ItemFailed,
			item.Status == events.ItemCompleted && b.Requeueable(item):
			if last == nil || item.CompletedAt > last.CompletedAt {
				last = item
			}
		}
	}
	return last
}

// attends is Attends without the holders that an item had before, unless they go on.
func (b *inbox) attends(x *Session, t *Task) bool { return b.Attends(x, t) && !b.gaveUp(x, t) }

// worksOn reports whether a session is at work and may go on with a task.
func (b *inbox) worksOn(session string, t *Task) bool {
	return b.works(session) && !b.gaveUp(b.Session(session), t)
}

// wentOn reports whether an item of a task was started, and skipped or quarantined, after a session said that it cannot
// continue: what became of the item counts, and not what the session said.
func (b *inbox) wentOn(t *Task, said StatusReport) bool {
	return slices.ContainsFunc(b.QueuesOf(t.ID), func(item *Item) bool {
		b.work(1)
		return (item.Status == events.ItemSkipped || item.Status == events.ItemQuarantined) &&
			(item.Started > said.Sequence || item.CompletedAt > int64(said.At))
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
		if worked := b.lastWorked(t); worked.Role == last.Role {
			last = worked
		}
	}
	if last != nil {
		session = last.ID
	}
	ended := b.ended(t)
	if ended != nil && ended.Status != events.ItemCompleted { // it counts who gave it up, and when
		session, since = cmp.Or(ended.SessionID, session), max(since, ended.CompletedAt)
	}
	if last != nil && last.Active() {
		since = max(since, b.leftAt(t))
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
		case ended != nil:
			item.Message = b.endedAs(ended)
			item.Next = append(b.unlessClaimed(ended, requeue(ended)), item.Next...)
		case last == nil:
			item.Message = "it is in progress, and no session has it"
			item.Next = append(item.Next, "maestro task update "+t.ID+" --status todo")
		case last.Active():
			item.Message += ": session " + session + " had it, and " + b.doesNow(last, t)
		case last.Deleted:
			item.Message += ": session " + session + " was deleted"
		case last.Ended() && last.Status != events.SessionSaidDone:
			item.Message += ": session " + session + " is " + string(last.Status)
			if last.EndReason != "" {
				item.Message += " (" + last.EndReason + ")"
			}
			item.Message += b.farewell(last)
		case t.StatusSequence > 0 && t.StatusAt >= last.CompletedAt:
			item.Message += ": it was reopened after session " + session + " was completed"
		case t.Reopened:
			item.Message += ": session " + session + " is completed, and nobody says that it is done" + b.farewell(last)
			item.Next = append(item.Next, b.complete(t))
		default:
			item.Message += ": session " + session + " is completed, and nobody says that it is done" + b.farewell(last)
			item.Next = append([]string{b.complete(t)}, item.Next...)
		}
		if reason := b.removedFor(t); reason != "" && ended == nil {
			item.Message += "; its queue item was given up before it was removed: " + reason
		}
		if reason := t.ReopenReason(); reason != "" {
			item.Message += "; the reason it was reopened: " + reason
		}
		return item
	})
}

// removedFor returns why the newest item of a task that was removed from its queue had been skipped or had failed; ""
// if nobody said it.
func (b *inbox) removedFor(t *Task) string {
	var last *Item
	for _, key := range b.itemsOf.get(t.ID) {
		if item := b.items.get(key); item.Removed && (last == nil || item.CompletedAt > last.CompletedAt) {
			last = item
		}
	}
	if last == nil {
		return ""
	}
	return last.FailReason
}

// farewell returns the last words of a session that said as a whole that it is done: they may be about the task.
func (b *inbox) farewell(x *Session) string {
	if said := b.FarewellOf(x); said != "" {
		return "; its last words: " + said
	}
	return ""
}

// leftAt returns when an item of a task last ended, or was removed; 0 for never.
func (b *inbox) leftAt(t *Task) (at int64) {
	for _, key := range b.itemsOf.get(t.ID) {
		at = max(at, b.items.get(key).CompletedAt)
	}
	return at
}

// doesNow says what a session at work does that does not work on a task any more.
func (b *inbox) doesNow(x *Session, t *Task) string {
	b.lookedThrough(len(x.TaskIDs))
	switch item := b.Holds(x); {
	case x.Lost():
		return "is lost"
	case item != nil:
		return "holds task " + item.TaskID + " now"
	case slices.ContainsFunc(x.TaskIDs, func(id string) bool { return id != t.ID && !b.done(id) }):
		return "is at work on something else"
	}
	return "has no task now"
}

func (b *inbox) session(x *Session) {
	switch {
	case x.Silent() || b.crashed(x):
		b.silent(x)
	case x.Status == events.SessionEndFailed && len(x.TaskIDs) > 0:
		b.expensive.failed = append(b.expensive.failed, x.ID)
	}
	b.runs(x)
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
		if x.Runs != nil { // and was resumed
			since = x.LastActivity
		}
	}
	b.find(kind, x.ID, "", "", since, func() InboxItem {
		item := InboxItem{SessionID: x.ID, TaskID: b.workOf(x), What: x.Name}
		kill, exec := "maestro session kill "+x.ID, "maestro session exec "+x.ID+" -- <command>"
		switch kind {
		case InboxExited:
			item.Message = exit.Exited()
			item.Next = []string{"maestro session complete " + x.ID, b.killAndSucceed(x), exec}
			switch {
			case exit.ExitCode() == 0 && b.Holds(x) != nil: // its end gives the item back
				item.Next = []string{kill}
			case exit.ExitCode() != 0:
				item.Next = []string{b.killAndSucceed(x), exec}
			}
		case InboxUnstarted:
			item.Message = "it was spawned, and nobody has started an agent in it"
			if x.Runner != "" {
				item.Message = "it was spawned for runner " + x.Runner + ", which has not started its agent"
			}
			item.Next = []string{exec, kill}
		default:
			item.Message = "nothing has been heard from it; it goes on when it is heard again"
			if item.Next = []string{kill}; x.Runs != nil {
				item.Next = []string{resume(x), kill}
			}
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
