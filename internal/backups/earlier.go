package backups

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"

	"maestro/internal/syntax"
)

// Earlier are the backups that were there when a restore or a salvage made a home. The home's log may be shorter than
// they are, so they do not witness against it; every later one does. It is kept in the home, needs no clock, and is
// copied with it.
type Earlier struct {
	// Served says that a server had the home since: no further backup is from before it.
	Served bool `json:"served"`
	// Salvaged says that a salvage made the home, of all that it was told of. Backups in another place that know more
	// were not asked, and are witnesses.
	Salvaged bool `json:"salvaged,omitempty"`
	// Places are the directories that were listed; "" is the default one.
	Places  []string `json:"places"`
	Backups []Seen   `json:"backups"`
}

// Seen is what a backup's name says of its head.
type Seen struct {
	Sequence uint64 `json:"sequence"`
	// Hash is the beginning of the head's.
	Hash string `json:"hash"`
}

// NewHome lists the backups in directories, whoever signed them, for a home that is made now. The default directory is
// one of them.
func NewHome(home string, dirs ...string) (Earlier, error) {
	e := Earlier{Places: []string{}, Backups: []Seen{}}
	err := e.list(home, "")
	for _, dir := range dirs {
		err = errors.Join(err, e.list(home, dir))
	}
	return e, err
}

// ParseEarlier reads what Encode wrote.
func ParseEarlier(note []byte) (e Earlier, err error) {
	err = json.Unmarshal(note, &e)
	return e, syntax.Plain(err)
}

// Encode writes it for the home.
func (e *Earlier) Encode() ([]byte, error) {
	text, err := json.MarshalIndent(e, "", "  ")
	return append(text, '\n'), err
}

// Serve lists a directory that the home was not made with, before its first server. It reports whether there is
// anything new to keep.
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
