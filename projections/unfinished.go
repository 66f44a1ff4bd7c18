package projections

// Unfinished counts the tasks directly below one that are neither completed nor cancelled.
func (s *State) Unfinished(task string) int { return s.unfinished.get(task) }

// SomeUnfinished names at most so many of them, and counts all. Of very many tasks below it examines only the oldest.
func (s *State) SomeUnfinished(task string, most int) (ids []string, all int) {
	for i, id := range s.children.get(task) {
		if len(ids) == most || i == mostLooked {
			break
		}
		if t := s.tasks.get(id); t.unfinishedBelow() == task {
			ids = append(ids, id)
		}
	}
	return ids, s.Unfinished(task)
}

// mostLooked bounds how many tasks are examined to name a few.
const mostLooked = 1000

// unfinishedBelow returns the parent for which the task counts as open, "" if none.
func (t *Task) unfinishedBelow() string {
	if t == nil || t.Over() {
		return ""
	}
	return t.ParentID
}

// countUnfinished counts a task for its parent, before and after a change; before is nil for a new task.
func (s *State) countUnfinished(before, after *Task) {
	was, is := before.unfinishedBelow(), after.unfinishedBelow()
	if was == is {
		return
	}
	if was != "" {
		s.unfinished.put(was, s.unfinished.get(was)-1)
		s.attendTask(was)
	}
	if is != "" {
		s.unfinished.put(is, s.unfinished.get(is)+1)
		s.attendTask(is)
	}
}
