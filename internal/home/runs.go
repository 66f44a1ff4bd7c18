package home

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"maestro/internal/files"
)

// The files of a session's runs, in sessions/<id>/: the lock that its supervisor holds, what is known of the run, the
// mark that it was given a place, the decisions about the agent's tool calls, and what the supervisor itself printed.
const (
	runLock        = "run.lock"
	runFile        = "run.json"
	placeFile      = "run.place"
	decisionsFile  = "decisions.jsonl"
	supervisorFile = "supervisor.log"
	// unreadable ends the name of a state of a run that was set aside.
	unreadable = ".unreadable"
)

// ErrSupervised says that a supervisor of the session runs on this machine.
var ErrSupervised = errors.New("a supervisor of the session runs already")

// RunFiles are the files of a session's run, for its supervisor alone. The operating system releases the lock when the
// supervisor dies.
type RunFiles struct {
	home *Home
	dir  string
	lock *os.File
}

// TakeRun locks the files of a session's run. It fails with ErrSupervised if another supervisor has them. The caller
// checks the session's id, and calls Close.
func (h *Home) TakeRun(session string) (*RunFiles, error) {
	dir, err := h.makeSessionDir(session)
	if err != nil {
		return nil, err
	}
	lock, err := files.OpenOrCreate(h.root, path.Join(dir, runLock), os.O_RDWR)
	if err != nil {
		return nil, fmt.Errorf("open the lock of a run: %w", err)
	}
	if err := files.Lock(lock); err != nil {
		if errors.Is(err, files.ErrHeld) {
			err = ErrSupervised
		}
		return nil, errors.Join(err, lock.Close())
	}
	return &RunFiles{h, dir, lock}, nil
}

// Supervised reports whether a supervisor of the session runs on this machine.
func (h *Home) Supervised(session string) bool {
	lock, err := files.Open(h.root, path.Join(sessionsDir, session, runLock), os.O_RDWR)
	if err != nil {
		return false
	}
	defer func() { _ = lock.Close() }() // which unlocks it
	return errors.Is(files.LockShared(lock), files.ErrHeld)
}

// ReadRun returns what the session's last supervisor saved; it fails with fs.ErrNotExist if there was none.
func (h *Home) ReadRun(session string) ([]byte, error) {
	return files.Read(h.root, path.Join(sessionsDir, session, runFile), MaxRun)
}

// RunPath returns the path of what the session's last supervisor saved.
func (h *Home) RunPath(session string) string {
	return filepath.Join(h.dir, sessionsDir, session, runFile)
}

// MaxRun is the maximum size of what is saved of a run, in bytes.
const MaxRun = maxNote

// RunTooLargeError says that what is to be saved of a run could not be read again. Match it with errors.As.
type RunTooLargeError struct{ Size int }

func (e *RunTooLargeError) Error() string {
	return fmt.Sprintf("the state of a run has %d bytes, more than %d", e.Size, MaxRun)
}

// SetAside is Save for a run whose state cannot be read: that is kept beside it.
func (r *RunFiles) SetAside(content []byte) error {
	name := path.Join(r.dir, runFile)
	aside := name + unreadable
	if err := r.home.root.RemoveAll(aside); err != nil { // of an earlier run
		return fmt.Errorf("set the state of a run aside: %w", err)
	}
	if err := files.Replace(r.home.root, name+".new", name, aside, content); err != nil {
		return fmt.Errorf("set the state of a run aside: %w", err)
	}
	return nil
}

// Save replaces what is known of the run, durably. It fails with a *RunTooLargeError for what ReadRun would refuse.
func (r *RunFiles) Save(content []byte) error {
	if len(content) > MaxRun {
		return &RunTooLargeError{len(content)}
	}
	name := path.Join(r.dir, runFile)
	if err := files.Write(r.home.root, name+".new", name, content); err != nil {
		return fmt.Errorf("save the state of a run: %w", err)
	}
	dir, err := r.home.root.Open(r.dir)
	if err != nil {
		return fmt.Errorf("save the state of a run: %w", err)
	}
	return errors.Join(files.SyncNames(dir), dir.Close())
}

// GivePlace marks that a run which waited has a place again.
func (h *Home) GivePlace(session string) error {
	f, err := files.OpenOrCreate(h.root, path.Join(sessionsDir, session, placeFile), os.O_WRONLY)
	if err != nil {
		return fmt.Errorf("give a run a place: %w", err)
	}
	return f.Close()
}

// HasPlace reports whether a run that waited was given a place.
func (h *Home) HasPlace(session string) bool {
	_, err := h.root.Stat(path.Join(sessionsDir, session, placeFile))
	return err == nil
}

// HasPlace reports whether the run was given a place.
func (r *RunFiles) HasPlace() bool {
	_, err := r.home.root.Stat(path.Join(r.dir, placeFile))
	return err == nil
}

// DropPlace removes the mark of a place.
func (r *RunFiles) DropPlace() error {
	if err := r.home.root.Remove(path.Join(r.dir, placeFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("leave the place of a run: %w", err)
	}
	return nil
}

// Decisions opens the log of the decisions about the agent's tool calls, to append to it. It is outside of what an
// agent can read.
func (r *RunFiles) Decisions() (*os.File, error) {
	return files.OpenOrCreate(r.home.root, path.Join(r.dir, decisionsFile), os.O_WRONLY|os.O_APPEND)
}

// DecisionsPath returns the path of that log.
func (h *Home) DecisionsPath(session string) string {
	return filepath.Join(h.dir, sessionsDir, session, decisionsFile)
}

// Close releases the lock.
func (r *RunFiles) Close() error { return r.lock.Close() }

// SupervisorLog opens the log of a session's supervisor, to append to it.
func (h *Home) SupervisorLog(session string) (*os.File, error) {
	dir, err := h.makeSessionDir(session)
	if err != nil {
		return nil, err
	}
	return files.OpenOrCreate(h.root, path.Join(dir, supervisorFile), os.O_WRONLY|os.O_APPEND)
}

// SupervisorLogPath returns the path of that log.
func (h *Home) SupervisorLogPath(session string) string {
	return filepath.Join(h.dir, sessionsDir, session, supervisorFile)
}
