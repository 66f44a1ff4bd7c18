package projections

import (
	"encoding/json"

	"maestro/events"
)

func (s *State) sessionFileTracked(f fact, d *events.SessionFileTracked) error {
	if s.Session(d.SessionID) == nil {
		return missing("session", d.SessionID)
	}
	said := f.Time
	if !f.OccurredAt.IsZero() {
		said = f.OccurredAt
	}
	data, err := json.Marshal(struct {
		File      string `json:"file"`
		Timestamp string `json:"timestamp"`
	}{d.File, said.Format("2006-01-02T15:04:05.000Z")})
	if err != nil {
		return err
	}
	e := Entry{
		Type:      "file_modified",
		SessionID: d.SessionID,
		Data:      data,
		Bare:      true,
	}
	if s.Task(d.TaskID) != nil {
		e.TaskID = d.TaskID
	}
	s.note(f, e)
	return nil
}
