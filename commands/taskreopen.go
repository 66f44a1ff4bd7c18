package commands

import (
	"maestro/events"
	"maestro/projections"
)

// ReopenTask sends a task that is completed, blocked or said to be done back to in_progress.
type ReopenTask struct {
	noTexts
	In
	TaskID string `json:"taskId" doc:"the task"`
	Reason string `json:"reason,omitempty" flag:"\"<reason>\"" doc:"what is still missing; the task's timeline shows it"`
	Force  bool   `json:"force,omitempty" doc:"reopen it although its parent is completed"`
}

// ID implements Command.
func (*ReopenTask) ID() string { return "task:reopen" }

func (x *ReopenTask) project(s *projections.State, by Actor) string {
	return ofTask(s, by, x.In, x.TaskID)
}

// Decide implements Command.
func (x *ReopenTask) Decide(s *projections.State, c Call) (events.Data, error) {
	t, err := task(s, c, x.In, x.TaskID)
	if err != nil {
		return nil, err
	}
	says, _ := s.SessionStatus(t)
	if t.Status != events.TaskCompleted && t.Status != events.TaskBlocked && says != events.SaysCompleted {
		return nil, forbidden("nothing to do: it is open", "Task '%s' is %s, and nobody says that it is done", t.ID,
			t.Status)
	}
	forced, err := mayMove(s, c, t, t.ParentID, events.TaskInProgress, x.Force)
	if err != nil {
		return nil, err
	}
	if err := validReason(x.Reason); err != nil {
		return nil, err
	}
	return &events.TaskStatusChanged{
		TaskID: t.ID,
		From:   t.Status,
		To:     events.TaskInProgress,
		Reason: x.Reason,
		Forced: forced,
		Notice: noticeOf(s, c, t, events.TaskInProgress, true),
	}, nil
}

func (x *ReopenTask) from(e *events.Event, d *events.TaskStatusChanged) bool {
	*x = ReopenTask{
		In:     inProject(e),
		TaskID: d.TaskID,
		Reason: d.Reason,
		Force:  d.Forced,
	}
	return d.To == events.TaskInProgress
}
