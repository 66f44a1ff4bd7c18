package compat

import (
	"context"
	"strconv"

	"maestro/commands"
	"maestro/events"
	"maestro/internal/safetext"
	"maestro/projections"
	"maestro/service"
	"maestro/service/wire"
)

// sessionPatch is the body of PATCH.
type sessionPatch struct {
	Status   *events.SessionStatus `json:"status,omitempty"`
	TaskIDs  *[]string             `json:"taskIds,omitempty"`
	AgentID  *string               `json:"agentId,omitempty"`
	Env      map[string]string     `json:"env,omitempty"`
	Events   []newEvent            `json:"events,omitempty"`
	Timeline []newEntry            `json:"timeline,omitempty"`
}

// patchSession translates a PATCH: first the fields, then the new timeline entries, then the status, which may end the
// session.
func (s *compat) patchSession(ctx context.Context, c *call, in *wire.SessionID) (SessionBody, error) {
	var body sessionPatch
	if err := c.decode(ctx, &body); err != nil {
		return SessionBody{}, err
	}
	// Registering would create an unknown session; a PATCH does not.
	var project string
	done := false
	s.Handler.View(func(state *projections.State) {
		if x := state.Session(in.ID); x != nil {
			project, done = x.ProjectID, x.Status == events.SessionSaidDone
		}
	})
	steps, err := sessionSteps(c.By, in.ID, body, done)
	if err != nil {
		return SessionBody{}, err
	}
	if project == "" {
		return SessionBody{}, service.NotFound("Session", in.ID)
	}
	if err := s.doAll(ctx, c, c.By, project, steps); err != nil {
		return SessionBody{}, err
	}
	return s.showSession(c, in.ID)
}

// sessionSteps returns the commands of a PATCH. Their keys depend only on the body, and on whether the user brings back
// a session that said that it is done: it registers again only if it has another status.
func sessionSteps(by commands.Actor, id string, body sessionPatch, done bool) ([]step, error) {
	update := &commands.UpdateSession{
		SessionID: id,
		TaskIDs:   body.TaskIDs,
		Force:     body.TaskIDs != nil, // older clients start work in any order
		AgentID:   body.AgentID,
		Env:       body.Env,
	}
	var wanted []commands.Command
	status, err := statusCommand(id, body.Status)
	if err != nil {
		return nil, err
	}
	switch {
	case body.Status != nil && status == nil:
		update.Status = body.Status
	case done && by.Kind == commands.ActorUser && body.Status != nil && *body.Status == events.SessionRunning:
		update.Status = new(events.SessionIdle)
	}
	entries := len(body.Events)+len(body.Timeline) > 0
	if update.Status != nil || update.TaskIDs != nil || update.AgentID != nil || update.Env != nil || status == nil &&
		!entries {
		wanted = append(wanted, update)
	}
	for _, event := range body.Events {
		command, _, err := event.command(id)
		if err != nil {
			return nil, err
		}
		wanted = append(wanted, command)
	}
	for _, entry := range body.Timeline {
		command, err := entry.command(by, id)
		if err != nil {
			return nil, err
		}
		wanted = append(wanted, command)
	}
	if status != nil {
		wanted = append(wanted, status)
	}
	if len(wanted) == 1 {
		return []step{{wanted[0], ""}}, nil
	}
	steps := make([]step, 0, len(wanted))
	for i, command := range wanted {
		steps = append(steps, step{command, "/" + strconv.Itoa(i+1)})
	}
	return steps, nil
}

// statusCommand returns the command that sets a session's status; nil if an update of its fields does.
func statusCommand(id string, status *events.SessionStatus) (commands.Command, error) {
	if status == nil {
		return nil, nil
	}
	switch *status {
	case events.SessionRunning:
		return &commands.RegisterSession{SessionID: id}, nil
	case events.SessionSaidDone:
		return &commands.CompleteSession{SessionID: id}, nil
	case events.SessionStopped:
		return &commands.KillSession{SessionID: id}, nil
	case events.SessionEndFailed:
		return &commands.KillSession{SessionID: id, Failed: true}, nil
	case events.SessionIdle, events.SessionWorking:
		return nil, nil
	case events.SessionSpawning:
	}
	return nil, service.Invalid("/status",
		"'%s' is not a status that a session can be brought to; "+
			"it is idle, working, running, completed, failed or stopped",
		safetext.Printable(string(*status)))
}
