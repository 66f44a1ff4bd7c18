package projections

import "slices"

// Root returns the root of a project: the project of the session that created it, and so on up to one that a user or a
// token created. A deleted project keeps its root. A project that never existed is its own root.
func (s *State) Root(project string) string {
	if p := s.projects.get(project); p != nil {
		return p.Root
	}
	return project
}

// rootFor returns the root of a new project from the source of the event that creates it.
func (s *State) rootFor(source, project string) string {
	if of, _, ok := SessionOfSource(source); ok && s.projects.get(of) != nil {
		return s.Root(of)
	}
	return project
}

// RootUsage is the usage below a root: the projects with this root, except itself. Immutable.
type RootUsage struct {
	// Projects are the existing ones, in order of creation.
	Projects []string
	// Tasks counts the existing tasks in them.
	Tasks int
}

// RootUsage returns the usage below a root.
func (s *State) RootUsage(root string) RootUsage { return s.made.get(root) }

// countMade counts a change of a project below its root. before is nil for a new one.
func (s *State) countMade(before, after *Project) {
	root := after.Root
	if root == after.ID {
		return
	}
	m := s.made.get(root)
	switch {
	case before == nil && after.Deleted, before != nil && before.Deleted:
		return
	case before == nil:
		m.Projects = append(slices.Clip(m.Projects), after.ID)
		before = &Project{}
	case after.Deleted:
		m.Projects = s.omit(m.Projects, after.ID)
		after = &Project{}
	}
	m.Tasks += after.Tasks - before.Tasks
	s.made.put(root, m)
}
