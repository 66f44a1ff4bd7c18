package projections

import "maestro/events"

// sessionReported moves what the session says, never a task's own status (document 003, two-status model).
func (s *State) sessionReported(f fact, d *events.SessionReported) error {
	if s.Session(d.SessionID) == nil {
		return missing("session", d.SessionID)
	}
	for _, id := range d.TaskIDs {
		if s.tasks.get(id) == nil {
			return missing("task", id)
		}
	}
	says := d.Kind.SessionStatus()
	for _, id := range d.TaskIDs {
		if !d.Late {
			s.changeTask(id, func(t *Task) {
				t.say(d.SessionID, says, f.at)
				t.UpdatedAt = f.at
			})
		}
		s.noteReport(f, d, id)
	}
	if len(d.TaskIDs) == 0 {
		s.noteReport(f, d, "")
	}
	if d.SessionCompleted {
		s.completeSession(f, d.SessionID)
	}
	return nil
}

func (s *State) noteReport(f fact, d *events.SessionReported, task string) {
	if d.Message == "" {
		return
	}
	s.note(f, Entry{
		Type: reportType(d.Kind), SessionID: d.SessionID, TaskID: task, Message: d.Message, Blob: d.Blobs["message"], Late: d.Late,
	})
}
