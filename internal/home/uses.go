package home

// usesFile says when each named token was used last.
const usesFile = "uses"

// Uses remembers across restarts when tokens were used. A lost file costs this memory, never truth.
type Uses struct{ list *noted }

// Uses returns the home's.
func (l *Lock) Uses() Uses { return Uses{l.uses} }

// Load returns what was saved last, nothing if nothing was.
func (u Uses) Load() ([]byte, error) { return u.list.load() }

// Save replaces what was saved.
func (u Uses) Save(content []byte) error { return u.list.save(content) }
