package commands

import (
	"maestro/events"
	"maestro/internal/safetext"
	"maestro/projections"
)

// CompleteTask confirms that a task is done (docs/spec/003-manifest-schema.md, "Status Types").
type CompleteTask struct {
	noTexts
	In
	TaskID string `json:"taskId" doc:"the task"`
}

// BlockTask marks a task as blocked (docs/spec/003-manifest-schema.md, "Status Types").
type BlockTask struct {
	noTexts
	In
	TaskID string `json:"taskId" doc:"the task"`
	Reason string `json:"reason,omitempty" flag:"\"<reason>\"" doc:"why it is blocked"`
}

// ID implements Command.
func (*CompleteTask) ID() string { return "task:complete" }

// ID implements Command.
func (*BlockTask) ID() string { return "task:block" }

func (x *CompleteTask) project(s *projections.State, by Actor) string {
	return ofTask(s, by, x.In, x.TaskID)
}

func (x *BlockTask) project(s *projections.State, by Actor) string {
	return ofTask(s, by, x.In, x.TaskID)
}

// Decide implements Command.
func (x *CompleteTask) Decide(s *projections.State, c Call) (events.Data, error) {
	return moveTask(s, c, x.In, x.TaskID, events.TaskCompleted, "")
}

func (x *CompleteTask) from(e *events.Event, d *events.TaskStatusChanged) bool {
	*x = CompleteTask{In: inProject(e), TaskID: d.TaskID}
	return d.To == events.TaskCompleted
}

// Decide implements Command.
func (x *BlockTask) Decide(s *projections.State, c Call) (events.Data, error) {
	return moveTask(s, c, x.In, x.TaskID, events.TaskBlocked, x.Reason)
}

func (x *BlockTask) from(e *events.Event, d *events.TaskStatusChanged) bool {
	*x = BlockTask{In: inProject(e), TaskID: d.TaskID, Reason: d.Reason}
	return d.To == events.TaskBlocked
}

func moveTask(s *projections.State, c Call, in In, id string, to events.TaskStatus, reason string) (events.Data,
	error,
) {
	t, err := task(s, c, in, id)
	if err != nil {
		return nil, err
	}
	if err := validReason(reason); err != nil {
		return nil, err
	}
	if t.Status == to {
		return nil, nil
	}
	return &events.TaskStatusChanged{
		TaskID: t.ID,
		From:   t.Status,
		To:     to,
		Reason: reason,
	}, nil
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
