package home

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"maestro/internal/safetext"
)

// versionFile records what last wrote the home.
const versionFile = "version"

// Format is the version of the home's layout. An older maestro does not write to a home with a later one.
const Format = 1

// Version identifies the program that last wrote a home, and the versions of the home's parts that it knows.
type Version struct {
	// Maestro is the binary's version.
	Maestro string `json:"maestro"`
	// Home is the layout's Format, Rules the version of the decision rules, Snapshot the format of encoded states.
	Home     int `json:"home"`
	Rules    int `json:"rules"`
	Snapshot int `json:"snapshot"`
	// Key is the fingerprint of the server's key.
	Key string `json:"key,omitempty"`
}

// Version reads what last wrote the home; the zero Version if unknown.
func (h *Home) Version() (Version, error) {
	content, err := h.read(versionFile, maxNote)
	if errors.Is(err, fs.ErrNotExist) {
		return Version{}, nil
	}
	if err != nil {
		return Version{}, err
	}
	var v Version // newer fields are ignored
	if err := json.Unmarshal(content, &v); err != nil {
		path := filepath.Join(h.dir, versionFile)
		return Version{}, &Problem{
			What: "The file " + path + " does not say what wrote the home",
			Why:  "it is damaged, or not Maestro's",
			Next: "if no newer maestro wrote this home, run: rm " + safetext.Quoted(path),
			err:  err,
		}
	}
	return v, nil
}

// Wrote records the program that writes the home from now on. It writes nothing if that is recorded already.
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

// NewerError says that a newer version of maestro wrote a home. Match it with errors.As.
type NewerError struct {
	Dir string
	// Wrote is what last wrote it, Known what this maestro knows.
	Wrote, Known Version
}

func (e *NewerError) Error() string {
	return fmt.Sprintf("the home %s was written by a newer maestro, version %s: it has %s",
		e.Dir, e.Wrote.Maestro, e.Needs())
}

// Needs lists the parts of the home that this maestro does not know.
func (e *NewerError) Needs() string {
	var parts []string
	for _, part := range []struct {
		name         string
		wrote, known int
	}{
		{"home format", e.Wrote.Home, e.Known.Home},
		{"rules", e.Wrote.Rules, e.Known.Rules},
		{"snapshot format", e.Wrote.Snapshot, e.Known.Snapshot},
	} {
		if part.wrote > part.known {
			parts = append(parts,
				fmt.Sprintf("%s %d, and this maestro knows up to %d", part.name, part.wrote, part.known))
		}
	}
	return strings.Join(parts, "; ")
}

// Install says what to install.
func (e *NewerError) Install() string {
	if e.Wrote.Maestro == e.Known.Maestro { // two builds without a version of their own
		return "install the build that wrote it, or a newer one"
	}
	return "install maestro " + e.Wrote.Maestro + " or newer"
}

// Check fails with *NewerError when the program that last wrote the home knew more than this one. It writes nothing.
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
