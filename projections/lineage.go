package projections

// DescendantSearch finds a session's descendants that have not ended. [State.FindDescendants] runs it, in as many steps
// as it needs.
type DescendantSearch struct {
	// Living are the found sessions: those that the session spawned, those that these spawned, and so on, including
	// those below one that has ended. Parents come before their children, older ones before younger ones.
	Living []string
	// lists are the children still to be examined, by session.
	lists [][]string
}

// DescentFrom starts to find the sessions below one.
func (s *State) DescentFrom(id string) *DescendantSearch {
	return &DescendantSearch{lists: [][]string{s.spawned.get(id).tasks()}}
}

// FindDescendants continues until the state has counted so many steps, and reports whether it is done.
func (s *State) FindDescendants(d *DescendantSearch, until uint64) (done bool) {
	for ; len(d.lists) > 0; d.lists = d.lists[1:] {
		for list := &d.lists[0]; len(*list) > 0; *list = (*list)[1:] {
			if s.Steps() >= until {
				return false
			}
			child := (*list)[0]
			if x := s.Session(child); x != nil && !x.Ended() {
				d.Living = append(d.Living, child)
			}
			if children := s.spawned.get(child).tasks(); len(children) > 0 {
				d.lists = append(d.lists, children)
				list = &d.lists[0]
			}
		}
	}
	return true
}

// IsBelow reports whether another session spawned this one, directly or not.
func (s *State) IsBelow(id, above string) bool {
	for x := s.SessionEver(id); x != nil && x.SpawnedBy != ""; x = s.SessionEver(x.SpawnedBy) {
		if x.SpawnedBy == above {
			return true
		}
	}
	return false
}
