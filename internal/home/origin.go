package home

import (
	"errors"
	"io/fs"
	"path/filepath"
)

// A restore notes where a home's log comes from. It puts the notes into the store that it builds, so the log and they
// get their names at once; SettleOrigin then moves them up into the home. Until then they count where they are.
const (
	// RestoreNote is the name of what a restore came to.
	RestoreNote = restoredFile
	// EarlierNote is the name of the list of backups that were there when a restore or a salvage made the home.
	EarlierNote = earlierFile
)

func unsettled(name string) string { return filepath.Join(storeDir, name) }

// SettleOrigin moves the notes of a restore out of the store. It is done before anything else is written there.
func (l *Lock) SettleOrigin() error {
	for _, name := range []string{restoredFile, earlierFile} {
		note, err := l.read(unsettled(name), maxList)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if err := l.write(name, note); err != nil { // durable before the other one goes
			return err
		}
		if err := errors.Join(l.remove(unsettled(name)), l.sync(storeDir)); err != nil {
			return err
		}
	}
	return nil
}

// origin reads a note of a restore, wherever it is.
func (h *Home) origin(name string, most int64) ([]byte, error) {
	note, err := h.read(unsettled(name), most)
	if _, missing := h.root.Lstat(unsettled(name)); missing != nil {
		return h.read(name, most)
	}
	return note, err
}

// RestoreNote returns what a restore came to; fs.ErrNotExist if the home was not restored.
func (h *Home) RestoreNote() ([]byte, error) { return h.origin(restoredFile, maxList) }

// UnsettledRestore returns what a restore came to that was killed behind it; fs.ErrNotExist if none was.
func (h *Home) UnsettledRestore() ([]byte, error) { return h.read(unsettled(restoredFile), maxList) }

// NoteEarlierBackups keeps which backups were there when a restore or a salvage made the home. Only who makes the home
// or has its lock calls it.
func (h *Home) NoteEarlierBackups(note []byte) error { return h.write(earlierFile, note) }

// EarlierBackups returns what a restore or NoteEarlierBackups kept; fs.ErrNotExist if neither made the home.
func (h *Home) EarlierBackups() ([]byte, error) { return h.origin(earlierFile, maxList) }
