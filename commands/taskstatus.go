package commands

import (
	"strconv"
	"strings"

	"maestro/events"
	"maestro/internal/safetext"
	"maestro/projections"
)

// CompleteTask confirms that a task is done (docs/spec/003-manifest-schema.md, "Status Types").
type CompleteTask struct {
	noTexts
	ProjectRef
	TaskID string `json:"taskId" doc:"the task"`
	Force  bool   `json:"force,omitempty" doc:"complete it even if tasks below it are open"`
}

// BlockTask marks a task as blocked (docs/spec/003-manifest-schema.md, "Status Types").
type BlockTask struct {
	noTexts
	ProjectRef
	TaskID string `json:"taskId" doc:"the task"`
	Reason string `json:"reason,omitempty" flag:"\"<reason>\"" doc:"why it is blocked"`
	Force  bool   `json:"force,omitempty" doc:"block it even if it and its parent are completed"`
}

// ID implements Command.
func (*CompleteTask) ID() string { return "task:complete" }

// ID implements Command.
func (*BlockTask) ID() string { return "task:block" }

func (x *CompleteTask) project(s *projections.State, by Actor) string {
	return projectOfTask(s, by, x.ProjectRef, x.TaskID)
}

func (x *BlockTask) project(s *projections.State, by Actor) string {
	return projectOfTask(s, by, x.ProjectRef, x.TaskID)
}

// Decide implements Command.
func (x *CompleteTask) Decide(s *projections.State, c Call) (events.Data, error) {
	return moveTask(s, c, x.ProjectRef, x.TaskID, events.TaskCompleted, "", x.Force)
}

func (x *CompleteTask) from(e *events.Event, d *events.TaskStatusChanged) bool {
	*x = CompleteTask{ProjectRef: inProject(e), TaskID: d.TaskID, Force: d.Forced}
	return d.To == events.TaskCompleted
}

// Decide implements Command.
func (x *BlockTask) Decide(s *projections.State, c Call) (events.Data, error) {
	return moveTask(s, c, x.ProjectRef, x.TaskID, events.TaskBlocked, x.Reason, x.Force)
}

func (x *BlockTask) from(e *events.Event, d *events.TaskStatusChanged) bool {
	*x = BlockTask{
		ProjectRef: inProject(e),
		TaskID:     d.TaskID,
		Reason:     d.Reason,
		Force:      d.Forced,
	}
	return d.To == events.TaskBlocked
}

func moveTask(s *projections.State, c Call, in ProjectRef, id string, to events.TaskStatus, reason string, force bool) (
	events.Data, error,
) {
	t, err := task(s, c, in, id)
	if err != nil {
		return nil, err
	}
	if err := validReason(reason); err != nil {
		return nil, err
	}
	if t.Status == to && !blocksAnew(s, c, t, to, reason) {
		return nil, nil
	}
	forced, err := mayMove(s, c, t, t.ParentID, to, force)
	if err != nil {
		return nil, err
	}
	return &events.TaskStatusChanged{
		TaskID: t.ID,
		From:   t.Status,
		To:     to,
		Reason: reason,
		Forced: forced,
		Notice: noticeOf(s, c, t, to, false),
	}, nil
}

// blocksAnew reports whether a blocked task is blocked for another reason.
func blocksAnew(s *projections.State, c Call, t *projections.Task, to events.TaskStatus, reason string) bool {
	return thirdOn(c.Rules) && to == events.TaskBlocked && reason != "" && reason != t.StatusReasonText()
}

// mayMove checks a task's new status and parent ("" for none): only the user revokes a cancellation, and a task is
// completed before those below it, or open below a completed one, only if the caller forces it.
func mayMove(s *projections.State, c Call, t *projections.Task, above string, to events.TaskStatus, force bool) (
	forced bool, err error,
) {
	if !thirdOn(c.Rules) {
		return false, nil
	}
	if to != t.Status && t.Status == events.TaskCancelled && c.By.Kind != ActorUser {
		return false, notAllowed("task:update", "the user cancelled it, and only the user takes that back",
			"ask the user", "Task '%s' is cancelled", t.ID)
	}
	if isOpen(to) && (!isOpen(t.Status) || above != t.ParentID) {
		return mayBeOpen(s, c, above, force)
	}
	if to != events.TaskCompleted || to == t.Status || s.Unfinished(t.ID) == 0 {
		return false, nil
	}
	if force {
		return true, nil
	}
	return false, openBelow(s, t.ID)
}

// isOpen reports whether a task with this status prevents the completion of its parent.
func isOpen(status events.TaskStatus) bool {
	return status != events.TaskCompleted && status != events.TaskCancelled
}

// mayBeOpen refuses an open task below a completed parent, unless the caller forces it; "" is no parent.
func mayBeOpen(s *projections.State, c Call, parent string, force bool) (forced bool, err error) {
	above := s.Task(parent)
	if !thirdOn(c.Rules) || above == nil || above.Status != events.TaskCompleted {
		return false, nil
	}
	if force {
		return true, nil
	}
	return false, forbidden("a parent is done when what is below it is completed or cancelled",
		"reopen it first with `maestro task reopen "+parent+"`, or repeat it with --force",
		"The parent task '%s' is completed", parent)
}

// openBelow returns the refusal to complete a task before those below it.
func openBelow(s *projections.State, id string) *Refusal {
	return &Refusal{
		Code:    CodeRule,
		Message: "Task '" + id + "' has open tasks below it: " + someOf(s.SomeUnfinished(id, belowNamed)),
		Why:     "a parent is done when what is below it is completed or cancelled",
		Next:    "complete them first with `maestro task complete`, or repeat it with --force",
	}
}

func mayMoveTo(by Actor, to events.TaskStatus) error {
	switch to {
	case events.TaskTodo, events.TaskInProgress, events.TaskCompleted, events.TaskBlocked:
		return nil
	case events.TaskCancelled:
		if by.Kind == ActorUser {
			return nil
		}
		return notAllowed("task:update", "only the user cancels a task",
			"ask the user, or block it with `maestro task block`",
			"Status 'cancelled' is not allowed for %s", by)
	}
	return invalid(
		"/status", "'%s' is not a task status; it is todo, in_progress, completed, cancelled or blocked",
		safetext.Printable(string(to)),
	)
}

func validReason(reason string) error {
	if len(reason) > events.MaxText {
		return invalid("/reason", "a reason has at most %d bytes, this has %d", events.MaxText, len(reason))
	}
	return ValidText("/reason", reason)
}

// someOf formats ids that stand for a total number.
func someOf(ids []string, all int) string {
	names := strings.Join(ids, ", ")
	if all > len(ids) {
		names += " and " + strconv.Itoa(all-len(ids)) + " more"
	}
	return names
}
