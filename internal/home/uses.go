package home

import (
	"errors"
	"io/fs"
)

// usesFile says when each named token was used last.
const usesFile = "uses"

// Uses remembers across restarts when tokens were used. A lost file costs this memory, never truth.
type Uses struct{ home *Home }

// Uses gives the home's.
func (l *Lock) Uses() Uses { return Uses{l.Home} }

// Load gives what was saved last, nothing if nothing was.
func (u Uses) Load() ([]byte, error) {
	content, err := u.home.read(usesFile, maxList)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return content, err
}

// Save replaces what was saved.
func (u Uses) Save(content []byte) error { return u.home.write(usesFile, content) }
