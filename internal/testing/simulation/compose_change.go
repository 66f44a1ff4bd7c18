package simulation

// place draws the fields that move a task, and those that add to its lists or remove from them.
func (c composer) place(f *fields) {
	t := c.m.tasks[f.TaskID]
	near := func() string { return c.taskOf(caller{kind: "session", project: t.Project}) }
	if c.chance(25) {
		f.ParentID = ptr(pick(c, []string{near(), near(), near(), t.Parent, "", "null"}))
	}
	if c.chance(25) {
		c.order(f, t)
	}
	if c.chance(15) {
		f.AddDependencies = []string{near()}
	}
	if c.chance(15) {
		f.RemoveDependencies = append([]string{near()}, t.Dependencies...)
	}
	if c.chance(10) {
		f.AddLabels, f.RemoveLabels = []string{pick(c, []string{"ui", "db", ""})}, []string{"db"}
	}
}
