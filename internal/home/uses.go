package home

// usesFile records when each named token was used last.
const usesFile = "uses"

// Uses remembers across restarts when tokens were used. Losing the file loses only that.
type Uses struct{ list *noted }

// Uses returns the home's Uses.
func (l *Lock) Uses() Uses { return Uses{l.uses} }

// Load returns what was saved last, nothing if there is none.
func (u Uses) Load() ([]byte, error) { return u.list.load() }

// Save replaces what was saved.
func (u Uses) Save(content []byte) error { return u.list.save(content) }
