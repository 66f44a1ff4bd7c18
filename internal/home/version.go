package home

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
)

// versionFile says what last wrote the home.
const versionFile = "version"

// Format is the version of the home's layout. An older maestro that finds a later one does not write.
const Format = 1

// Version says what last wrote a home, and which versions of its parts that knows.
type Version struct {
	// Maestro is the binary's version.
	Maestro string `json:"maestro"`
	// Home is the layout's Format, Rules the version of the rules that decide, Snapshot the format of encoded states.
	Home     int `json:"home"`
	Rules    int `json:"rules"`
	Snapshot int `json:"snapshot"`
	// Key is the fingerprint of the server's key.
	Key string `json:"key,omitempty"`
}

// Version reads what last wrote the home; the zero Version if that did not say.
func (h *Home) Version() (Version, error) {
	content, err := h.read(versionFile, maxNote)
	if errors.Is(err, fs.ErrNotExist) {
		return Version{}, nil
	}
	if err != nil {
		return Version{}, err
	}
	var v Version // fields that came later are ignored
	if err := json.Unmarshal(content, &v); err != nil {
		return Version{}, fmt.Errorf("the file %s cannot be read: %w; if no newer maestro wrote this home, delete it",
			filepath.Join(h.dir, versionFile), err)
	}
	return v, nil
}

// Wrote notes what writes the home from now on. It writes nothing when that is noted already.
func (l *Lock) Wrote(v Version) error {
	if was, err := l.Version(); err == nil && was == v {
		return nil
	}
	content, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("note the version: %w", err)
	}
	return l.write(versionFile, append(content, '\n'))
}

// NewerError says that a home was written by a version of maestro that came later. Match it with errors.As.
type NewerError struct {
	Dir string
	// Wrote is what last wrote it, Known what this maestro knows.
	Wrote, Known Version
}

func (e *NewerError) Error() string {
	return fmt.Sprintf(
		"the home %s was written by a newer maestro, version %s "+
			"(home format %d, rules %d, snapshot format %d; this one knows up to %d, %d, %d)",
		e.Dir,
		e.Wrote.Maestro,
		e.Wrote.Home,
		e.Wrote.Rules,
		e.Wrote.Snapshot,
		e.Known.Home,
		e.Known.Rules,
		e.Known.Snapshot,
	)
}

// Check fails with *NewerError when what last wrote the home knew more than is known here. It writes nothing.
func (h *Home) Check(known Version) error {
	wrote, err := h.Version()
	if err != nil {
		return err
	}
	if wrote.Home > known.Home || wrote.Rules > known.Rules || wrote.Snapshot > known.Snapshot {
		return &NewerError{Dir: h.dir, Wrote: wrote, Known: known}
	}
	return nil
}
