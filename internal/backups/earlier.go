package backups

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"

	"maestro/internal/syntax"
)

// Earlier lists the backups that existed when a restore or a salvage created a home. The home's log may be shorter than
// theirs, so they are not witnesses against it; every later one is. It is stored in the home, needs no clock, and is
// copied with the home.
type Earlier struct {
	// Served says that a server has used the home since: no further backup is from before it.
	Served bool `json:"served"`
	// Salvaged says that a salvage created the home, from everything that it was told of. Backups elsewhere that reach
	// further were not consulted, and are witnesses.
	Salvaged bool `json:"salvaged,omitempty"`
	// Places are the directories that were listed; "" is the default one.
	Places  []string `json:"places"`
	Backups []Seen   `json:"backups"`
}

// Seen is the head in a backup's name.
type Seen struct {
	Sequence uint64 `json:"sequence"`
	// Hash is the beginning of the head's hash.
	Hash string `json:"hash"`
}

// NewHome lists the backups in directories, by any signer, for a home that is being created. The default directory is
// one of them.
func NewHome(home string, dirs ...string) (Earlier, error) {
	e := Earlier{Places: []string{}, Backups: []Seen{}}
	err := e.list(home, "")
	for _, dir := range dirs {
		err = errors.Join(err, e.list(home, dir))
	}
	return e, err
}

// ParseEarlier parses what Encode wrote.
func ParseEarlier(note []byte) (e Earlier, err error) {
	err = json.Unmarshal(note, &e)
	return e, syntax.Plain(err)
}

// Encode encodes it for the home.
func (e *Earlier) Encode() ([]byte, error) {
	text, err := json.MarshalIndent(e, "", "  ")
	return append(text, '\n'), err
}

// Serve lists a directory that was not listed when the home was created, before its first server. It reports whether
// there is anything new to store.
func (e *Earlier) Serve(home, dir string) (changed bool, err error) {
	if e.Served {
		return false, nil
	}
	e.Served = true
	if e.Salvaged {
		return true, nil
	}
	return true, e.list(home, dir)
}

// Has reports whether a backup is from before the home.
func (e *Earlier) Has(made Made) bool {
	return slices.Contains(e.Backups, Seen{made.Sequence, made.Hash})
}

func (e *Earlier) list(home, dir string) error {
	if dir != "" {
		if path, err := filepath.Abs(dir); err == nil {
			dir = path
		}
	}
	if slices.Contains(e.Places, dir) {
		return nil
	}
	list, err := At(home, dir, "").list(func(Made) bool { return true })
	if err != nil {
		return err
	}
	for _, made := range list {
		if !e.Has(made) {
			e.Backups = append(e.Backups, Seen{made.Sequence, made.Hash})
		}
	}
	e.Places = append(e.Places, dir)
	return nil
}
