package projections

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"maestro/events"
)

// TypeExited is the type of the entry for the end of a session's command.
const TypeExited = "command_exited"

// Exited is the data of such an entry.
type Exited struct {
	Command  string `json:"command"`
	ExitCode int    `json:"exitCode"`
}

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
			Message:   textOf("its item in queue "+skipped.Queue+" was skipped", skipped.FailReason),
			Next:      b.spawn(t),
		}
		if b.ended(t) != nil {
			item.Next = append([]string{requeue(skipped)}, item.Next...)
		}
		return item
	})
	return true
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

func (b *inbox) works(session string) bool {
	x := b.Session(session)
	return x != nil && x.Active()
}

// addUnattended adds a task; last is the last session that had it, or nil.
func (b *inbox) addUnattended(t *Task, last *Session, since int64) {
	session := ""
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
			item.Message = textOf("its item in queue "+q.Queue+" was skipped", q.FailReason)
			if q.Status == events.ItemCompleted {
				item.Message = "it was reopened, and its item in queue " + q.Queue + " is completed"
			}
			item.Next = append([]string{requeue(q)}, item.Next...)
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
			case exit.exitCode() == 0 && b.Holds(x) != nil: // its end gives the item back
				item.Next = []string{kill}
			case exit.exitCode() != 0:
				item.Next = []string{kill + " && " + b.Successor(x), exec}
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

// ExitedAt returns when the session's command ended, in milliseconds since 1970; 0 if the session was heard since, or
// has run none.
func (s *State) ExitedAt(x *Session) int64 {
	if exit := s.Exit(x); exit != nil {
		return exit.At
	}
	return 0
}

// newestOf remembers the newest entries of a session that say what became of it.
func (s *State) newestOf(e *Entry) {
	switch x := s.sessions.get(e.SessionID); {
	case e.Type == TypeExited:
		s.exits.put(e.SessionID, e)
	case s.exits.get(e.SessionID) == nil:
	case e.Type == EntryRecovered, x != nil && e.Source == x.Source():
		s.exits.put(e.SessionID, nil)
	}
	if e.Type == EntryLost || e.Type == EntryRecovered {
		s.losses.put(e.SessionID, &Loss{e.At, e.Type == EntryRecovered, len(s.sessionTimelines.get(e.SessionID))})
	}
}

// Loss is the newest entry of a session that says that it was lost, or heard again. Immutable.
type Loss struct {
	At int64
	// Recovered says that it was heard again.
	Recovered bool
	// Entries is the length of the session's timeline up to it.
	Entries int
}

// Loss returns when a session was last lost or recovered, nil if it never was.
func (s *State) Loss(x *Session) *Loss { return s.losses.get(x.ID) }

// crashed reports whether the command of a session at work failed, and the session was not heard since. Nobody has to
// wait for its lease to learn that. A command that succeeds may be one of several.
func (b *inbox) crashed(x *Session) bool {
	exit := b.Exit(x)
	return exit != nil && x.Active() && exit.exitCode() != 0
}

// exitCode returns the exit code of the command that ended, 0 if it is unknown.
func (e *Entry) exitCode() int {
	var exited Exited
	if json.Unmarshal(e.Data, &exited) != nil {
		return 0
	}
	return exited.ExitCode
}

// Exited describes how the command ended.
func (e *Entry) Exited() string {
	var exited Exited
	if json.Unmarshal(e.Data, &exited) != nil {
		return "its command ended"
	}
	return fmt.Sprintf("its command ended with exit code %d", exited.ExitCode)
}

// mostSucceeded bounds the tasks that the command for a successor names.
const mostSucceeded = 10

// Successor returns the command that spawns a session for the work of this one that is left: a task that is completed,
// cancelled or blocked is none, and one with an open dependency is not given out.
func (s *State) Successor(x *Session) string {
	if x.Strategy == events.StrategyQueue && x.Queue != "" {
		return SpawnForQueue(x.ProjectID, x.Queue)
	}
	next := "maestro session spawn"
	if x.Role == events.RoleOrchestrator {
		next += " --role orchestrator"
	}
	named := x.TaskIDs[:min(len(x.TaskIDs), mostSucceeded)]
	together := make(map[string]bool, len(named))
	for _, id := range named {
		together[id] = true
	}
	left := make([]string, 0, len(named))
	for _, id := range named {
		if t := s.Task(id); t != nil && !t.Over() && t.Status != events.TaskBlocked && !s.waitsFor(t, together) {
			left = append(left, id)
		}
	}
	if len(left) == 0 {
		return next + " --task-ids <taskId>"
	}
	return next + " --task-ids " + strings.Join(left, ",")
}

// waitsFor reports whether a task waits for another that is not among those given out together. Of very many
// dependencies it examines only the first.
func (s *State) waitsFor(t *Task, together map[string]bool) bool {
	for _, id := range t.Dependencies[:min(len(t.Dependencies), mostSucceeded)] {
		if !together[id] && !s.satisfied(id, false) {
			return true
		}
	}
	return false
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

// SessionWord returns a working session's last report on itself as a whole, if it is that it is blocked or has failed;
// otherwise nil. Its next report, on anything, replaces it.
func (s *State) SessionWord(x *Session) *Entry {
	if !x.Active() {
		return nil
	}
	return s.halted.get(x.ID)
}

// LastWord is SessionWord for a session that may have ended.
func (s *State) LastWord(x *Session) *Entry { return s.halted.get(x.ID) }

// Exit returns the entry for the end of a session's command, nil if the session was heard since, or there is none.
func (s *State) Exit(x *Session) *Entry { return s.exits.get(x.ID) }

// halt records a session's report on itself as a whole, if it says that the session cannot continue.
func (s *State) halt(e *Entry) {
	if e.SessionID == "" || e.Late {
		return
	}
	if _, author, _ := SessionOfSource(e.Source); author != e.SessionID {
		return
	}
	switch e.Type {
	case reportType(events.ReportBlocked), reportType(events.ReportError):
		if e.TaskID == "" {
			s.halted.put(e.SessionID, e)
			return
		}
	case reportType(events.ReportProgress), reportType(events.ReportComplete), reportType(events.ReportNeedsInput):
	default:
		return
	}
	if s.halted.get(e.SessionID) != nil {
		s.halted.put(e.SessionID, nil)
	}
}

// MostNamed bounds the tasks that an answer names.
const MostNamed = 20

// LeftOpen names at most so many of a session's tasks that are open and that it did not report as done, and counts the
// others.
func (s *State) LeftOpen(x *Session, most int) (ids []string, more int) {
	if x == nil {
		return nil, 0
	}
	s.work(uint64(len(x.TaskIDs)))
	for _, id := range x.TaskIDs {
		t := s.Task(id)
		if t != nil {
			s.lookedThrough(t.Speakers())
		}
		switch {
		case t == nil || t.Status == events.TaskCompleted || t.Status == events.TaskCancelled:
		case t.SaidBy(x.ID).Status == events.SaysCompleted:
		case len(ids) < most:
			ids = append(ids, id)
		default:
			more++
		}
	}
	return ids, more
}
