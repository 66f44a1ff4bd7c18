package simulation

// lists are explicit allowedCommands, valid and invalid.
var lists = [][]string{
	{},
	{"whoami", "task:get", "report:progress"},
	{"report:progress", "report:complete", "task:create", "task:tree"},
	{"session:list", "task:get"},
	{"task:complete", "report:progress"},
	{"session:spawn", "session:kill", "report:progress"},
	{"queue:start", "report:progress"},
	{"audit:head"},
	{"no:such"},
	{"project:delete", "project:create"},
	{"session:lost"},
	{"task:update", "task:create", "session:spawn"},
	{"since", "inbox", "report:progress"},
	{"session:spawn", "task:complete"},
}

func (c composer) newSession(f *fields, by caller) {
	f.Role = pick(c, []string{"", "worker", "orchestrator", "orchestrator", "reviewer"})
	if f.Role == "reviewer" && c.chance(70) {
		f.Role = "orchestrator"
	}
	switch {
	case c.chance(5):
		f.Strategy = "whim"
	case f.Role == "orchestrator":
		f.Strategy = pick(c, []string{"", "simple", "default", "dag", "intelligent-batching"})
	default:
		f.Strategy = pick(c, []string{"", "simple", "queue", "tree"})
	}
	if c.chance(25) {
		list := pick(c, lists)
		f.Allowed = &list
	}
	if c.chance(85) {
		f.TaskIDs = &[]string{c.taskOf(by)}
		if c.chance(30) {
			*f.TaskIDs = append(*f.TaskIDs, c.taskOf(by))
		}
	}
	if c.manifests && c.chance(70) {
		f.Manifest = c.manifest()
	}
}

func (c composer) spawn(f *fields, by caller) {
	c.newSession(f, by)
	own := c.m.sessions[by.name].Commands
	if f.Role != "orchestrator" && own["session:spawn"] && !own["since"] && c.chance(40) {
		f.Allowed = &lists[12] // more than the spawner may use itself
	}
	f.Force = c.chance(50)
	if c.queues && f.Role != "orchestrator" && c.chance(50) {
		f.Strategy, f.Allowed = "queue", nil
	}
	if f.Strategy == "queue" && c.chance(50) || c.chance(3) {
		f.Queue = c.queueName()
	}
	if c.chance(15) {
		f.Timeout = pick(c, []int64{20_000, 100_000, 4 * 60 * 60 * 1000, -1})
	}
	if c.runs && c.chance(70) {
		f.Runner = pick(c, []string{"r1", "r1", "r1", "r2", "a b"})
	}
	if by.kind != "session" {
		f.Project = c.project()
		if f.TaskIDs != nil && c.chance(85) {
			if t, ok := c.m.tasks[(*f.TaskIDs)[0]]; ok {
				f.Project = t.Project
			}
		}
	}
	if c.chance(20) {
		f.SpawnedBy = c.session()
		if x, ok := c.m.sessions[f.SpawnedBy]; ok && by.kind != "session" && c.chance(60) && f.TaskIDs == nil {
			f.Project = x.Project
		}
	}
}

func (c composer) register(f *fields, by caller) {
	if by.kind == "session" && c.chance(75) {
		return
	}
	switch {
	case c.chance(40):
		f.SessionID = c.session()
	case c.chance(50):
		// An id that a client chose belongs to one project, so that a command on it always means the same.
		f.Project = c.project()
		f.SessionID = pick(c, []string{"own_" + f.Project, "own_" + f.Project, "own_" + f.Project, "parent", "system"})
	}
	if c.chance(50) {
		c.newSession(f, by)
		f.Create, f.Force = c.chance(30), c.chance(30)
		if f.Project == "" {
			f.Project = c.project()
		}
	}
}
