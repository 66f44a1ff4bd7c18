package service

import "sync"

// storedKept is for how many manifests a server remembers who stored them.
const storedKept = 10_000

// storedManifests remembers which session stored which manifest, for the newest manifests and until the server ends.
// After that a session stores its manifest again.
type storedManifests struct {
	mu     sync.Mutex
	known  map[storedManifest]bool
	oldest []storedManifest
}

type storedManifest struct{ source, digest string }

func (m *storedManifests) add(c *Caller, digest string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	stored := storedManifest{c.By.Source(), digest}
	if m.known[stored] {
		return
	}
	if m.known == nil {
		m.known = map[storedManifest]bool{}
	}
	if len(m.oldest) == storedKept {
		delete(m.known, m.oldest[0])
		m.oldest = m.oldest[1:]
	}
	m.known[stored] = true
	m.oldest = append(m.oldest, stored)
}

func (m *storedManifests) by(c *Caller, digest string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.known[storedManifest{c.By.Source(), digest}]
}
