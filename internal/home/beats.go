package home

import "strings"

// beatsFile names the sessions that have sent a heartbeat, one a line.
const beatsFile = "beats"

// Beats remembers across restarts which sessions have a supervisor that sends heartbeats. A lost file costs time, never
// truth: those sessions may then be silent for longer. Safe for concurrent use.
type Beats struct{ list *noted }

// Beats returns the home's.
func (l *Lock) Beats() Beats { return Beats{l.beats} }

// Load returns the sessions that were added.
func (b Beats) Load() ([]string, error) {
	content, err := b.list.load()
	return strings.Fields(string(content)), err
}

// Add notes one more session.
func (b Beats) Add(session string) error { return b.list.add(session + "\n") }

// Keep forgets all but these.
func (b Beats) Keep(sessions []string) error {
	if len(sessions) == 0 {
		return b.list.save(nil)
	}
	return b.list.save([]byte(strings.Join(sessions, "\n") + "\n"))
}
