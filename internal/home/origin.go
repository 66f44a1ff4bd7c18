package home

import (
	"errors"
	"io/fs"
	"path/filepath"
)

// A restore notes where a home's log comes from. It puts the notes into the store that it builds, so that the log and
// the notes are renamed into place together; SettleOrigin then moves them up into the home. Until then they apply where
// they are.
const (
	// RestoreNote is the name of the note about a restore's result.
	RestoreNote = restoredFile
	// EarlierNote is the name of the list of backups that existed when a restore or a salvage created the home.
	EarlierNote = earlierFile
)

func unsettled(name string) string { return filepath.Join(storeDir, name) }

// SettleOrigin moves the notes of a restore out of the store. It runs before anything else is written there.
func (l *Lock) SettleOrigin() error {
	for _, name := range []string{restoredFile, earlierFile} {
		note, err := l.read(unsettled(name), maxList)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if err := l.write(name, note); err != nil { // durable before the other one is removed
			return err
		}
		if err := errors.Join(l.remove(unsettled(name)), l.sync(storeDir)); err != nil {
			return err
		}
	}
	return nil
}

// origin reads a note of a restore from either place.
func (h *Home) origin(name string, most int64) ([]byte, error) {
	note, err := h.read(unsettled(name), most)
	if _, missing := h.root.Lstat(unsettled(name)); missing != nil {
		return h.read(name, most)
	}
	return note, err
}

// RestoreNote returns the result of a restore; fs.ErrNotExist if the home was not restored.
func (h *Home) RestoreNote() ([]byte, error) { return h.origin(restoredFile, maxList) }

// UnsettledRestore returns the result of a restore that was killed before its end; fs.ErrNotExist if there is none.
func (h *Home) UnsettledRestore() ([]byte, error) { return h.read(unsettled(restoredFile), maxList) }

// NoteEarlierBackups records which backups existed when a restore or a salvage created the home. Only the creator of
// the home, or the holder of its lock, calls it.
func (h *Home) NoteEarlierBackups(note []byte) error { return h.write(earlierFile, note) }

// EarlierBackups returns what a restore or NoteEarlierBackups recorded; fs.ErrNotExist if neither created the home.
func (h *Home) EarlierBackups() ([]byte, error) { return h.origin(earlierFile, maxList) }
