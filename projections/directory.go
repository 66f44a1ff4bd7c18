package projections

import (
	"path"
	"strings"

	"maestro/events"
)

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

// mostAbove bounds how far up the directories of sessions are looked for. The nearest are the narrowest.
const mostAbove = 64

// DirectoriesAbove returns the directories of the sessions above one, as far up as sessions ordered each other: no link
// may lead it out of any of them. There are none if a user chose where it works, or if it was spawned before the rules
// bound it.
func (s *State) DirectoriesAbove(x *Session) (above []string) {
	dir, one := s.DirectoryOf(x.ProjectID, x.Options), x
	for range mostAbove {
		if !strings.Contains(one.CreatedBy, "/sessions/") {
			break
		}
		s.Worked(1)
		parent := s.SessionEver(one.SpawnedBy)
		if parent == nil {
			return above
		}
		bound := s.DirectoryOf(parent.ProjectID, parent.Options)
		if bound == "" || !IsBelow(dir, bound) {
			return above
		}
		if one = parent; len(above) == 0 || above[len(above)-1] != bound {
			above = append(above, bound)
		}
	}
	return above
}

// IsBelow reports whether a path is a directory or below it, as both are written. What links lead to is for the machine
// to see on which the agent runs.
func IsBelow(dir, above string) bool {
	dir, above = path.Clean(dir), path.Clean(above)
	return dir == above || strings.HasPrefix(dir, strings.TrimSuffix(above, "/")+"/")
}
