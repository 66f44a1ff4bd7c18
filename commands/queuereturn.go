package commands

import (
	"maestro/events"
	"maestro/projections"
)

// ReturnItem returns an item whose holder ended or was lost to its queue. Only the system may do it.
type ReturnItem struct {
	noTexts
	ProjectRef
	Queue  string `json:"queue" doc:"the queue"`
	TaskID string `json:"taskId" doc:"the task"`
}

// QuarantineItem quarantines an item that was started too often without being finished. Only the system may do it.
type QuarantineItem struct {
	noTexts
	ProjectRef
	Queue  string `json:"queue" doc:"the queue"`
	TaskID string `json:"taskId" doc:"the task"`
}

// ID implements Command.
func (*ReturnItem) ID() string { return "queue:return" }

// ID implements Command.
func (*QuarantineItem) ID() string { return "queue:quarantine" }

func (x *ReturnItem) project(_ *projections.State, by Actor) string { return x.projectOr(by) }

func (x *QuarantineItem) project(_ *projections.State, by Actor) string { return x.projectOr(by) }

// abandoned returns an item whose holder can no longer hold anything, and what became of that session; no item if it
// has no such holder.
func abandoned(s *projections.State, project, queue, task string) (item *projections.Item, reason string, err error) {
	if item, err = itemOf(s, project, queue, task); err != nil {
		return nil, "", err
	}
	if item.Status != events.ItemProcessing {
		return nil, "", nil
	}
	if reason = s.Gone(item.SessionID); reason == "" {
		return nil, "", forbidden(
			"an item returns only when its session is gone", "wait until its session ends or is lost",
			"Task %s is held by session '%s', which still responds", task, item.SessionID,
		)
	}
	return item, reason, nil
}

// abandonedAfter is abandoned for an item whose attempts are, or are not, used up.
func abandonedAfter(s *projections.State, project, queue, task string, spent bool) (item *projections.Item,
	reason string, err error,
) {
	item, reason, err = abandoned(s, project, queue, task)
	if err != nil || item == nil {
		return nil, "", err
	}
	q := s.Queue(project, queue)
	switch over := item.Attempts >= q.MaxAttempts; {
	case over == spent:
		return item, reason, nil
	case over:
		return nil, "", forbidden("its attempts are used up", "quarantine it",
			"Task %s was started %d times, and no more than %d are allowed", task, item.Attempts, q.MaxAttempts)
	}
	return nil, "", forbidden("it has attempts left", "give it back",
		"Task %s was started %d times, and %d are allowed", task, item.Attempts, q.MaxAttempts)
}

// Decide implements Command.
func (x *ReturnItem) Decide(s *projections.State, c Call) (events.Data, error) {
	item, reason, err := abandonedAfter(s, c.Project, x.Queue, x.TaskID, false)
	if err != nil || item == nil {
		return nil, err
	}
	return &events.QueueItemReturned{
		Queue:     item.Queue,
		TaskID:    item.TaskID,
		SessionID: item.SessionID,
		Attempt:   item.Attempts,
		Reason:    reason,
	}, nil
}

func (x *ReturnItem) from(e *events.Event, d *events.QueueItemReturned) bool {
	*x = ReturnItem{ProjectRef: inProject(e), Queue: d.Queue, TaskID: d.TaskID}
	return true
}

// Decide implements Command.
func (x *QuarantineItem) Decide(s *projections.State, c Call) (events.Data, error) {
	item, reason, err := abandonedAfter(s, c.Project, x.Queue, x.TaskID, true)
	if err != nil || item == nil {
		return nil, err
	}
	return &events.QueueItemQuarantined{
		Queue:     item.Queue,
		TaskID:    item.TaskID,
		SessionID: item.SessionID,
		Attempt:   item.Attempts,
		Reason:    reason,
	}, nil
}

func (x *QuarantineItem) from(e *events.Event, d *events.QueueItemQuarantined) bool {
	*x = QuarantineItem{ProjectRef: inProject(e), Queue: d.Queue, TaskID: d.TaskID}
	return true
}
