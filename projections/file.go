package projections

import "maestro/events"

func (s *State) sessionFileTracked(f fact, d *events.SessionFileTracked) error {
	if s.Session(d.SessionID) == nil {
		return missing("session", d.SessionID)
	}
	e := f.entry(0)
	taskless := s.Task(d.TaskID) == nil
	if taskless {
		e.TaskID = ""
	}
	s.add(e, taskless)
	return nil
}
