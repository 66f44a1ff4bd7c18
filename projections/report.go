package projections

import "maestro/events"

// sessionReported changes the sessionStatus of tasks, never a task's own status (docs/spec/003-manifest-schema.md,
// "Two-Status Model").
func (s *State) sessionReported(f fact, d *events.SessionReported) error {
	if s.Session(d.SessionID) == nil {
		return missing("session", d.SessionID)
	}
	for _, id := range d.TaskIDs {
		if s.tasks.get(id) == nil {
			return missing("task", id)
		}
	}
	if d.InputID != "" && s.Input(d.InputID) != nil {
		return exists("question", d.InputID)
	}
	says := d.Kind.SessionStatus()
	for i, id := range d.TaskIDs {
		if !d.Late && !d.AfterDone { // a session that is done works on nothing
			s.say(f, id, d.SessionID, says, i)
		}
		s.noteReport(f, d, i)
	}
	if len(d.TaskIDs) == 0 {
		s.noteReport(f, d, 0)
	}
	if d.Late {
		s.changeSession(d.SessionID, func(x *Session) {
			fields := x.ownFields()
			fields.LateReports++
			fields.LateBytes += LateBytes(d)
		})
	}
	if d.SessionCompleted {
		s.completeSession(f, d.SessionID)
	}
	if d.InputID != "" {
		s.inputOpened(f, &Input{
			ID:        d.InputID,
			SessionID: d.SessionID,
			TaskIDs:   d.TaskIDs,
			OnTask:    s.askedAt(d.SessionID, d.TaskIDs),
			Question:  d.Message,
			Blob:      d.Blobs["message"],
			Options:   d.Options,
		})
	}
	return nil
}

func (s *State) noteReport(f fact, d *events.SessionReported, index int) {
	if d.Message != "" {
		s.note(f, index)
	}
}

// LateBytes is the counted size of a late report, in bytes: its message, task ids and options. A message stored as a
// blob counts as much as an event can hold, whatever its length.
func LateBytes(d *events.SessionReported) int64 {
	n := len(d.Message)
	if d.Blobs["message"] != "" {
		n = events.MaxText
	}
	for _, texts := range [][]string{d.TaskIDs, d.Options} {
		for _, text := range texts {
			n += len(text)
		}
	}
	return int64(n)
}
