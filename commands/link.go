package commands

import (
	"slices"

	"maestro/events"
	"maestro/projections"
)

// LinkTask links a task to a session. Compat: POST /api/sessions/:id/tasks/:taskId.
type LinkTask struct {
	noTexts
	ProjectRef
	SessionID string `json:"sessionId" doc:"the session"`
	TaskID    string `json:"taskId" doc:"the task"`
	Force     bool   `json:"force,omitempty" doc:"add it even if its dependencies are not completed"`
}

// UnlinkTask unlinks a task from a session. Compat: DELETE /api/sessions/:id/tasks/:taskId.
type UnlinkTask struct {
	noTexts
	ProjectRef
	SessionID string `json:"sessionId" doc:"the session"`
	TaskID    string `json:"taskId" doc:"the task"`
}

// ID implements Command.
func (*LinkTask) ID() string { return "session:link" }

// ID implements Command.
func (*UnlinkTask) ID() string { return "session:unlink" }

func (x *LinkTask) project(s *projections.State, by Actor) string {
	return projectOfSession(s, by, x.ProjectRef, x.SessionID)
}

func (x *UnlinkTask) project(s *projections.State, by Actor) string {
	return projectOfSession(s, by, x.ProjectRef, x.SessionID)
}

// Decide implements Command.
func (x *LinkTask) Decide(s *projections.State, c Call) (events.Data, error) {
	session, err := session(s, c, x.ProjectRef, x.SessionID)
	if err != nil {
		return nil, err
	}
	if err := tasksIn(s, session.ProjectID, []string{x.TaskID}); err != nil {
		return nil, err
	}
	s.Worked(len(session.TaskIDs) / namesPerStep)
	if slices.Contains(session.TaskIDs, x.TaskID) {
		return nil, nil
	}
	g := graphOf(s, c)
	if n := len(session.TaskIDs); n >= g.most(LimitSessionTasks) {
		return nil, LimitSessionTasks.exceeded("/taskId", "session '"+session.ID+"'", int64(n)+1)
	}
	if err := g.joins(session.ID, []string{x.TaskID}); err != nil {
		return nil, err
	}
	forced, err := mayHave(s, c, x.ID(), session, append(slices.Clip(session.TaskIDs), x.TaskID), x.Force)
	if err != nil {
		return nil, err
	}
	return &events.SessionTaskLinked{SessionID: session.ID, TaskID: x.TaskID, Forced: forced}, nil
}

func (x *LinkTask) from(e *events.Event, d *events.SessionTaskLinked) bool {
	*x = LinkTask{
		ProjectRef: inProject(e),
		SessionID:  d.SessionID,
		TaskID:     d.TaskID,
		Force:      d.Forced,
	}
	return true
}

// Decide implements Command.
func (x *UnlinkTask) Decide(s *projections.State, c Call) (events.Data, error) {
	session, err := session(s, c, x.ProjectRef, x.SessionID)
	if err != nil {
		return nil, err
	}
	if err := ValidID("/taskId", x.TaskID); err != nil {
		return nil, err
	}
	if s.TaskProject(x.TaskID) == "" {
		return nil, notFound("Task", x.TaskID)
	}
	s.Worked(len(session.TaskIDs) / namesPerStep)
	if !slices.Contains(session.TaskIDs, x.TaskID) {
		return nil, nil
	}
	return &events.SessionTaskUnlinked{SessionID: session.ID, TaskID: x.TaskID}, nil
}

// Warnings implements Warner.
func (*LinkTask) Warnings(s *projections.State, data events.Data) []Warning {
	linked, ok := data.(*events.SessionTaskLinked)
	if !ok {
		return nil
	}
	if x := s.Session(linked.SessionID); x == nil || x.Status == events.SessionSpawning {
		return nil // one that has not begun learns it from its first command
	}
	return doesNotLearn(s, linked.SessionID, linked.TaskID, "does not learn that it has task "+linked.TaskID+" too")
}

// Warnings implements Warner.
func (*UnlinkTask) Warnings(s *projections.State, data events.Data) []Warning {
	unlinked, ok := data.(*events.SessionTaskUnlinked)
	if !ok {
		return nil
	}
	return doesNotLearn(s, unlinked.SessionID, unlinked.TaskID, "does not learn that task "+unlinked.TaskID+
		" was taken from it")
}

func (x *UnlinkTask) from(e *events.Event, d *events.SessionTaskUnlinked) bool {
	*x = UnlinkTask{ProjectRef: inProject(e), SessionID: d.SessionID, TaskID: d.TaskID}
	return true
}
