package commands

import (
	"cmp"
	"errors"

	"maestro/events"
	"maestro/internal/safetext"
	"maestro/projections"
)

// CompleteItem completes the held item. docs/contract.md, "Queues".
type CompleteItem struct {
	noTexts
	QueueRef
	TaskID string `json:"taskId,omitempty" flag:"task <taskId>" doc:"the task of the held item; refused if you hold another"`
}

// SkipItem skips the held item or, if none is held, the next eligible one. docs/contract.md, "Queues".
type SkipItem struct {
	noTexts
	QueueRef
	TaskID string `json:"taskId,omitempty" flag:"task <taskId>" doc:"the task of the held or next item; refused if you hold another"`
	Reason string `json:"reason,omitempty" doc:"why you skip it"`
	// Held is the task of the item that the caller held when it asked, if it named none. It is not part of the request.
	Held string `json:"-"`
}

// ID implements Command.
func (*CompleteItem) ID() string { return "queue:complete" }

// ID implements Command.
func (*SkipItem) ID() string { return "queue:skip" }

// ErrHoldsNothing is in the refusal to finish an item of a session that holds none.
var ErrHoldsNothing = errors.New("the session holds no item")

// heldItem returns the item that a session holds, or a refusal that names the current holder of the item it held.
func heldItem(s *projections.State, session *projections.Session, task string) (*projections.Item, error) {
	item := s.Holds(session)
	switch {
	case item != nil && (task == "" || task == item.TaskID):
		return item, nil
	case item != nil:
		return nil, &Refusal{
			Code:    CodeConflict,
			Message: "Session '" + session.ID + "' holds task " + item.TaskID + ", not " + safetext.Printable(task),
			Why:     "a session finishes the item that it holds",
			Next:    "complete, fail or skip the item that it holds",
		}
	case session.LastItem == nil || task != "" && task != session.LastItem.TaskID:
		return nil, &Refusal{
			Code:    CodeConflict,
			Err:     ErrHoldsNothing,
			Message: "Session '" + session.ID + "' holds no item",
			Why:     "a session finishes the item that it holds",
			Next:    "claim an item with `maestro queue start`",
		}
	}
	last := s.Item(session.ProjectID, session.LastItem.Queue, session.LastItem.TaskID)
	if lost := lostItem(session, last); lost != nil {
		return nil, lost
	}
	return nil, &Refusal{
		Code:    CodeConflict,
		Err:     ErrHoldsNothing,
		Message: "Session '" + session.ID + "' holds no item",
		Why:     "its last one, task " + last.TaskID + ", is " + string(last.Status) + finishedBy(last),
		Next:    "claim an item with `maestro queue start`",
	}
}

// finishedBy says who finished an item in the place of its holder; "" if nobody did.
func finishedBy(item *projections.Item) string {
	switch {
	case item.FinishedBy == "" || item.Status == events.ItemQuarantined:
		return ""
	case item.FinishedBy == "/users/"+AdminName:
		return ": the user finished it"
	}
	return ": " + item.FinishedBy + " finished it"
}

// lostItem refuses what a session wants of the item that it held last, nil if that was removed, if the item went on
// without the session; it returns nil if the item ended as the session's.
func lostItem(session *projections.Session, last *projections.Item) *Refusal {
	lost := &Refusal{
		Code:    CodeConflict,
		Message: "Session '" + session.ID + "' no longer holds task " + session.LastItem.TaskID,
		Why:     "the item was removed from its queue",
		Next:    "claim the next one with `maestro queue start`",
	}
	switch {
	case last == nil:
		return lost
	case last.SessionID == session.ID && last.Status != events.ItemQueued:
		return nil
	}
	lost.Message += ": " + whoHas(last)
	lost.Next = "stop working on that task, and claim the next one with `maestro queue start`"
	lost.Why = "its item was returned when it was lost"
	if !last.Returned() {
		lost.Why = "it has been queued again since"
	}
	return lost
}

// lastHeld returns the item that a session holds, or that has been returned since the session was deleted; nil if there
// is none.
func lastHeld(s *projections.State, session *projections.Session) *projections.Item {
	if session.LastItem == nil {
		return nil
	}
	item := s.Item(session.ProjectID, session.LastItem.Queue, session.LastItem.TaskID)
	if item == nil || item.SessionID != session.ID ||
		item.Status != events.ItemProcessing && (item.Status != events.ItemQueued || !item.Returned()) {
		return nil
	}
	return item
}

func whoHas(item *projections.Item) string {
	switch item.Status {
	case events.ItemProcessing:
		return "session '" + item.SessionID + "' does"
	case events.ItemQueued:
		return "it is back in the queue"
	case events.ItemCompleted, events.ItemFailed, events.ItemSkipped, events.ItemQuarantined:
	}
	return "it is " + string(item.Status) + " by session '" + item.SessionID + "'"
}

// holding returns the item for a session's command.
func (x QueueRef) holding(s *projections.State, c Call, rule, task string) (*projections.Item, error) {
	_, session, err := x.find(s, c, rule)
	if err == nil && session == nil {
		err = invalid("/sessionId", "sessionId is required: only a session can hold an item")
	}
	if err != nil {
		return nil, x.nameHolder(s, c, err, task)
	}
	return heldItem(s, session, task)
}

// nameHolder adds to a user's refusal which session holds the item of a task: it finishes the item in its place.
func (x QueueRef) nameHolder(s *projections.State, c Call, err error, task string) error {
	var refusal *Refusal
	if c.By.Kind != ActorUser || x.SessionID != "" || !errors.As(err, &refusal) || refusal.Code != CodeInvalid {
		return err
	}
	for _, item := range s.QueuesOf(task) {
		s.Worked(1)
		if item.Status == events.ItemProcessing && (c.Project == "" || item.ProjectID == c.Project) {
			named := *refusal
			named.Why = "session " + item.SessionID + " holds task " + task + " in queue " + item.Queue
			named.Next = "finish it for that session: add `--session " + item.SessionID + "`"
			return &named
		}
	}
	return err
}

// saidAlready reports whether the caller's session itself set the named item's status.
func (x QueueRef) saidAlready(s *projections.State, c Call, task string, status events.QueueItemStatus) bool {
	_, session, err := x.find(s, c, "")
	if err != nil || session == nil || task == "" || s.Holds(session) != nil {
		return false
	}
	item := s.Item(session.ProjectID, session.Queue, task)
	return item != nil && item.Status == status && item.SessionID == session.ID
}

// Decide implements Command.
func (x *CompleteItem) Decide(s *projections.State, c Call) (events.Data, error) {
	if x.saidAlready(s, c, x.TaskID, events.ItemCompleted) {
		return nil, nil
	}
	item, err := x.holding(s, c, x.ID(), x.TaskID)
	if err != nil {
		return nil, err
	}
	if err := notBlocked(s, c, item); err != nil {
		return nil, err
	}
	return &events.QueueItemCompleted{Queue: item.Queue, TaskID: item.TaskID, SessionID: item.SessionID}, nil
}

// shownReason bounds the reason for a block that a refusal repeats; the session's mail has all of it.
const shownReason = 200

// notBlocked refuses to complete an item whose task was blocked while the session worked on it: whoever blocked it
// wants the work to stop, and may not have been heard yet.
func notBlocked(s *projections.State, c Call, item *projections.Item) error {
	t := s.Task(item.TaskID)
	if !thirdOn(c.Rules) || t == nil || t.Status != events.TaskBlocked {
		return nil
	}
	why := "no reason was given"
	if reason := t.StatusReasonText(); reason != "" {
		why = "the reason: " + safetext.Clip(reason, shownReason)
	}
	next := "wait with `maestro input wait` until it is unblocked, or give the item up with " +
		"`maestro queue fail \"<reason>\" --task " + t.ID + "` or `maestro queue skip --task " + t.ID + "`"
	if c.By.Kind != ActorSession {
		next = "unblock it with `maestro task reopen " + t.ID + "`, then complete the item"
	}
	return &Refusal{
		Code:    CodeConflict,
		Message: "Task '" + t.ID + "' is blocked, so its item cannot be completed",
		Why:     why,
		Next:    next,
	}
}

func (x *CompleteItem) from(e *events.Event, d *events.QueueItemCompleted) bool {
	*x = CompleteItem{QueueRef: queueOf(e, d.Queue, d.SessionID), TaskID: d.TaskID}
	return true
}

// Decide implements Command.
func (x *SkipItem) Decide(s *projections.State, c Call) (events.Data, error) {
	task := cmp.Or(x.TaskID, x.Held)
	q, session, err := x.find(s, c, x.ID())
	if err != nil {
		return nil, err
	}
	if err := validReason(x.Reason); err != nil {
		return nil, err
	}
	if session != nil {
		if held := s.Holds(
			session,
		); held != nil ||
			task != "" && session.LastItem != nil && session.LastItem.TaskID == task {
			item, err := heldItem(s, session, task)
			if err != nil {
				return nil, err
			}
			return &events.QueueItemSkipped{
				Queue:     item.Queue,
				TaskID:    item.TaskID,
				SessionID: session.ID,
				Held:      true,
				Reason:    x.Reason,
			}, nil
		}
		switch {
		case session.Ended():
			return nil, ended(s, x.ID(), session)
		case fifthOn(c.Rules) && session.Status == events.SessionSaidDone:
			return nil, isDone(s, session, c, "skips no more items",
				"no other session would get the item before the user queues it again")
		}
	}
	top, _ := s.Top(q)
	switch {
	case top == nil:
		return nil, &Refusal{
			Code:    CodeConflict,
			Message: "No items left in queue to skip",
			Why:     "only an item that can be started is skipped",
			Next:    "see `maestro queue list`",
		}
	case task != "" && task != top.TaskID:
		return nil, &Refusal{
			Code:    CodeConflict,
			Message: "The next item is task " + top.TaskID + ", not " + safetext.Printable(task),
			Why:     "only the next item can be skipped",
			Next:    "see `maestro queue list`",
		}
	}
	skipped := &events.QueueItemSkipped{Queue: q.Name, TaskID: top.TaskID, Reason: x.Reason}
	if session != nil {
		skipped.SessionID = session.ID
	}
	return skipped, nil
}

// NameHeld names the item that the caller holds, if the command names none: it means that one, whatever happens before
// it is decided. It refuses a session whose last item went on without it, which may not know yet that the command would
// skip another task.
func (x *SkipItem) NameHeld(s *projections.State, by Actor) error {
	session := s.Session(by.Name)
	if by.Kind != ActorSession || x.TaskID != "" || session == nil || session.Ended() || session.LastItem == nil {
		return nil
	}
	if item := s.Holds(session); item != nil {
		x.Held = item.TaskID
		return nil
	}
	last := s.Item(session.ProjectID, session.LastItem.Queue, session.LastItem.TaskID)
	if last != nil && last.SessionID == session.ID && last.Status != events.ItemQueued && last.FinishedBy == "" {
		return nil // the session finished it itself
	}
	_, err := heldItem(s, session, "")
	return err
}

func (x *SkipItem) from(e *events.Event, d *events.QueueItemSkipped) bool {
	*x = SkipItem{QueueRef: queueOf(e, d.Queue, d.SessionID), Reason: d.Reason}
	if d.Held {
		x.TaskID = d.TaskID
	}
	return true
}

// Warnings implements Warner. A cancelled task stays so: only its item is completed.
func (*CompleteItem) Warnings(s *projections.State, data events.Data) []Warning {
	completed, ok := data.(*events.QueueItemCompleted)
	if !ok {
		return nil
	}
	warnings := finishedFor(s, completed.SessionID, completed.TaskID, "completed")
	if t := s.Task(completed.TaskID); t != nil && t.Status == events.TaskCancelled {
		warnings = append(warnings, Warning{
			Text:  "task " + completed.TaskID + " is cancelled and stays so: only its item is completed",
			Tasks: []string{completed.TaskID},
		})
	}
	return append(warnings, doubted(s, completed)...)
}

// doubted warns that the last report of a session before it completed an item was an error.
func doubted(s *projections.State, completed *events.QueueItemCompleted) []Warning {
	t := s.Task(completed.TaskID)
	if t == nil {
		return nil
	}
	s.Worked(t.Speakers() / namesPerStep)
	if t.SaidBy(completed.SessionID).Doubt == nil {
		return nil
	}
	return []Warning{{
		Text: "the last report before this on task " + t.ID + " was an error, which the inbox shows too",
		Next: []string{
			"if it is not done, say so with `maestro report error \"<reason>\" --task " + t.ID + "`",
			"if it is, `maestro report complete \"<summary>\" --task " + t.ID + "` says what became of the error",
		},
		Tasks: []string{t.ID},
	}}
}

// Warnings implements Warner.
func (*FailItem) Warnings(s *projections.State, data events.Data) []Warning {
	failed, ok := data.(*events.QueueItemFailed)
	if !ok {
		return nil
	}
	warnings := finishedFor(s, failed.SessionID, failed.TaskID, "failed")
	item := s.Item(s.TaskProject(failed.TaskID), failed.Queue, failed.TaskID)
	if failed.Reason == "" && (item == nil || item.FailReason == "") { // nor did it report an error before
		warnings = append(warnings, Warning{
			Text:  "nobody learns why task " + failed.TaskID + " failed",
			Next:  []string{"report it with `maestro report error \"<reason>\" --task " + failed.TaskID + "`"},
			Tasks: []string{failed.TaskID},
		})
	}
	return warnings
}

// Warnings implements Warner.
func (*SkipItem) Warnings(s *projections.State, data events.Data) []Warning {
	skipped, ok := data.(*events.QueueItemSkipped)
	if !ok || !skipped.Held {
		return nil
	}
	return finishedFor(s, skipped.SessionID, skipped.TaskID, "skipped")
}

// finishedFor warns who finishes an item in the place of its holder that the holder goes on.
func finishedFor(s *projections.State, session, task, how string) []Warning {
	return doesNotLearn(s, session, task, "was at work on task "+task+", and does not learn that its item was "+how)
}

// doesNotLearn warns of a session at work that nothing tells what became of a task. text goes on after its name.
func doesNotLearn(s *projections.State, session, task, text string) []Warning {
	x := s.Session(session)
	if x == nil || !x.Active() || s.Exit(x) != nil {
		return nil
	}
	return []Warning{{
		Text:     sessionNamed(x) + " " + text,
		Next:     []string{"tell it with `maestro session message " + x.ID + " \"…\" --about " + task + "`"},
		Tasks:    []string{task},
		Sessions: []string{x.ID},
		Except:   x.ID,
	}}
}
