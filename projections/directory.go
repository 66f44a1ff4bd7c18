package projections

import "maestro/events"

// DirectoryOf returns where an agent with these options works in a project; "" if only in its session's workspace.
func (s *State) DirectoryOf(project string, options *events.AgentOptions) string {
	if options != nil && options.WorkingDirectory != "" {
		return options.WorkingDirectory
	}
	if p := s.Project(project); p != nil {
		return p.WorkingDir
	}
	return ""
}

// DirectoryAbove returns the directory that a user gave the session at the top of the chain of those that spawned this
// one, which bounds where it works; "" if a user spawned it, or none is known.
func (s *State) DirectoryAbove(x *Session) string {
	if x.SpawnedBy == "" {
		return ""
	}
	top := x
	for top.SpawnedBy != "" {
		s.Worked(1)
		above := s.SessionEver(top.SpawnedBy)
		if above == nil {
			return ""
		}
		top = above
	}
	return s.DirectoryOf(top.ProjectID, top.Options)
}
