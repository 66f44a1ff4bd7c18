package projections

// LivingBelow gives the sessions below one that have not ended: those that it spawned, those that these spawned, and
// so on, also below one that has ended. Parents come before their children, older ones before younger ones.
func (s *State) LivingBelow(id string) []string {
	var living []string
	for next := []string{id}; len(next) > 0; next = next[1:] {
		children := s.spawned.get(next[0])
		for _, child := range children {
			if x := s.Session(child); x != nil && !x.Ended() {
				living = append(living, child)
			}
		}
		next = append(next, children...)
	}
	return living
}

// IsBelow reports whether a session was spawned by another, or by one below that.
func (s *State) IsBelow(id, above string) bool {
	for x := s.SessionEver(id); x != nil && x.SpawnedBy != ""; x = s.SessionEver(x.SpawnedBy) {
		if x.SpawnedBy == above {
			return true
		}
	}
	return false
}
