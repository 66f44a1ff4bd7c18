package projections

// planKey is the key of a plan id: plan ids are unique within their project.
func planKey(project, planID string) string { return project + "\x00" + planID }

// Planned returns the task of a project with this plan id, or nil.
func (s *State) Planned(project, planID string) *Task {
	if planID == "" {
		return nil
	}
	return s.Task(s.plans.get(planKey(project, planID)))
}

// planned records the plan id of a task.
func (s *State) planned(t *Task) {
	if t.PlanID != "" && !t.Deleted {
		s.plans.put(planKey(t.ProjectID, t.PlanID), t.ID)
	}
}

// unplanned frees the plan id of a deleted task.
func (s *State) unplanned(t *Task) { s.freePlanID(t, t.PlanID) }

// plannedAnew updates the index when a task had another plan id before.
func (s *State) plannedAnew(t *Task, before string) {
	if t.PlanID != before {
		s.freePlanID(t, before)
		s.planned(t)
	}
}

func (s *State) freePlanID(t *Task, planID string) {
	if key := planKey(t.ProjectID, planID); planID != "" && s.plans.get(key) == t.ID {
		s.plans.put(key, "")
	}
}
