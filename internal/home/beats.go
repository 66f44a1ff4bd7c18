package home

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"

	"maestro/internal/files"
)

// beatsFile names the sessions that have sent a heartbeat, one a line.
const beatsFile = "beats"

// Beats remembers across restarts which sessions have a supervisor that sends heartbeats. A lost file costs time, never truth:
// those sessions may then be silent for longer. Safe for concurrent use.
type Beats struct {
	home *Home
	mu   sync.Mutex
}

// Beats gives the home's.
func (l *Lock) Beats() *Beats { return &Beats{home: l.Home} }

// Load gives the sessions that were added.
func (b *Beats) Load() ([]string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	content, err := b.home.read(beatsFile, maxList)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return strings.Fields(string(content)), nil
}

// Add notes one more session.
func (b *Beats) Add(session string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	f, err := files.OpenOrCreate(b.home.root, beatsFile, os.O_WRONLY|os.O_APPEND)
	if err != nil {
		return fmt.Errorf("write the home's %s: %w", beatsFile, err)
	}
	_, err = f.WriteString(session + "\n")
	return errors.Join(err, f.Close())
}

// Keep forgets all but these.
func (b *Beats) Keep(sessions []string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(sessions) == 0 {
		return b.home.remove(beatsFile)
	}
	return b.home.write(beatsFile, []byte(strings.Join(sessions, "\n")+"\n"))
}
