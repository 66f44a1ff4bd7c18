package home

import "strings"

// beatsFile lists the sessions that have sent a heartbeat, one per line.
const beatsFile = "beats"

// Beats remembers across restarts which sessions have a supervisor that sends heartbeats. Losing the file never makes
// the state wrong: those sessions may only be silent for longer. It is safe for concurrent use.
type Beats struct{ list *noted }

// Beats returns the home's Beats.
func (l *Lock) Beats() Beats { return Beats{l.beats} }

// Load returns the sessions that were added.
func (b Beats) Load() ([]string, error) {
	content, err := b.list.load()
	return strings.Fields(string(content)), err
}

// Add notes one more session.
func (b Beats) Add(session string) error { return b.list.add(session + "\n") }

// Keep forgets all sessions but these.
func (b Beats) Keep(sessions []string) error {
	if len(sessions) == 0 {
		return b.list.save(nil)
	}
	return b.list.save([]byte(strings.Join(sessions, "\n") + "\n"))
}
