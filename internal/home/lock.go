package home

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"maestro/internal/disk"
	"maestro/internal/files"
)

// Lock is a home that this process holds as its only server.
type Lock struct {
	*Home
	file *os.File
	held *os.File // the directory, which is locked too
	// fresh says that the home held nothing but its lock file.
	fresh bool

	uses, beats, webhooks, server *noted
}

// HeldError says who holds the home. Match it with errors.As.
type HeldError struct {
	// Dir is the home.
	Dir string
	// PID is the holder's process id, 0 if unknown.
	PID int
	// Address is where it listens, "" if it does not listen yet.
	Address string
	// Read says that the holders only read.
	Read bool
}

func (e *HeldError) Error() string {
	if e.Read {
		return fmt.Sprintf("the home %s is being read by `maestro serve --read-only`", e.Dir)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "the home %s is held by another server", e.Dir)
	if e.PID != 0 {
		fmt.Fprintf(&b, ", process %d", e.PID)
	}
	if e.Address != "" {
		fmt.Fprintf(&b, ", listening on %s", e.Address)
	}
	return b.String()
}

// A client that checks whether a server runs holds the lock for an instant, and a server waits for that.
const (
	lockTries = 25
	lockPause = 20 * time.Millisecond
)

// Lock locks the home for this process until Release, or until the process ends. It fails with *HeldError when another
// process has locked it.
func (h *Home) Lock() (*Lock, error) {
	f, held, err := h.take(files.OpenOrCreate, os.O_RDWR, files.Lock)
	for try := 1; errors.Is(err, files.ErrHeld) && try < lockTries; try++ {
		_ = f.Close()
		pause(lockPause)
		f, held, err = h.take(files.OpenOrCreate, os.O_RDWR, files.Lock)
	}
	switch {
	case errors.Is(err, files.ErrHeld):
		return nil, errors.Join(h.holder(f), f.Close())
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("lock the home %s: another process has just removed it; try again: %w", h.dir, err)
	case err != nil:
		return nil, err
	}
	if err := writePID(f); err != nil {
		if h.onlyLocked() { // a new home on a full disk leaves nothing behind; the file is removed while it is locked
			_ = h.remove(lockFile)
		}
		return nil, errors.Join(fmt.Errorf("lock the home %s: %w", h.dir, reason(err)), f.Close(), held.Close())
	}
	return &Lock{
		Home:     h,
		file:     f,
		held:     held,
		fresh:    h.onlyLocked(),
		uses:     &noted{home: h, name: usesFile},
		beats:    &noted{home: h, name: beatsFile},
		webhooks: &noted{home: h, name: webhooksFile},
		server:   &noted{home: h, name: serverFile},
	}, nil
}

// pause waits between two attempts. Tests replace it.
var pause = time.Sleep

// take tries once to lock the lock file and the home's directory: the file can be deleted while it is locked, but the
// directory cannot. With files.ErrHeld, f is the file that another process has locked, and it is open.
func (h *Home) take(
	open func(root *disk.Root, name string, flag int) (*os.File, error), flag int, lock func(*os.File) error,
) (f, dir *os.File, err error) {
	f, err = h.lock(open, flag, lock)
	if err != nil {
		return f, nil, err
	}
	dir, err = h.takeDir(lock)
	switch {
	case errors.Is(err, files.ErrHeld):
		_ = f.Close()
		return dir, nil, err
	case err != nil:
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, dir, nil
}

// takeDir tries once to lock the directory. With files.ErrHeld the result is open. Where directories cannot be locked,
// as on some network file systems, the lock file is the only protection.
func (h *Home) takeDir(lock func(*os.File) error) (*os.File, error) {
	dir, err := h.root.Open(".")
	if err != nil {
		return nil, fmt.Errorf("lock the home %s: %w", h.dir, err)
	}
	if err := lock(dir); errors.Is(err, files.ErrHeld) {
		return dir, err
	}
	return dir, nil
}

// lock opens the lock file and tries once to lock it. With files.ErrHeld the file is open. Discard may have removed the
// file after it was opened, and a lock on a removed file protects nothing, so lock makes sure that the locked file
// still has the name.
func (h *Home) lock(
	open func(root *disk.Root, name string, flag int) (*os.File, error), flag int, lock func(*os.File) error,
) (*os.File, error) {
	for range lockTries {
		f, err := open(h.root, lockFile, flag)
		if err != nil {
			err = files.Explain(filepath.Join(h.dir, lockFile), files.ToWrite, h.explained(lockFile, err))
			return nil, fmt.Errorf("lock the home %s: %w", h.dir, reason(err))
		}
		if err = lock(f); errors.Is(err, files.ErrHeld) {
			return f, err
		}
		if errors.Is(err, errors.ErrUnsupported) {
			err = nil // the user has to make sure that a home has only one server here
		}
		if err == nil {
			var named bool
			if named, err = h.isLock(f); named {
				return f, nil
			}
		}
		if err = errors.Join(err, f.Close()); err != nil {
			return nil, fmt.Errorf("lock the home %s: %w", h.dir, err)
		}
	}
	return nil, fmt.Errorf("lock the home %s: another process keeps replacing its lock file", h.dir)
}

// isLock reports whether f is the current lock file.
func (h *Home) isLock(f *os.File) (bool, error) {
	mine, err := f.Stat()
	if err != nil {
		return false, err
	}
	now, err := h.root.Lstat(lockFile)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && os.SameFile(mine, now), err
}

// holder returns who has the lock.
func (h *Home) holder(f *os.File) *HeldError {
	held := &HeldError{Dir: h.dir}
	if files.LockShared(f) == nil { // so nobody has an exclusive lock; f is closed next
		held.Read = true
		return held
	}
	held.PID = pidIn(f)
	if server, err := h.Server(); err == nil && (held.PID == 0 || server.PID == held.PID) {
		held.PID, held.Address = server.PID, server.Address
	}
	return held
}

func writePID(f *os.File) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err := f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}

// MayWrite fails with *files.DeniedError when the files of the home may not be replaced. It leaves other disk errors to
// whoever writes.
func (l *Lock) MayWrite() error {
	probe := temporaryOf("probe")
	f, err := files.Create(l.root, probe)
	if err == nil {
		err = errors.Join(f.Close(), l.remove(probe))
	}
	var denied *files.DeniedError
	if errors.As(files.Explain(filepath.Join(l.dir, probe), files.ToChange, err), &denied) {
		return denied
	}
	return nil
}

// Release releases the home. A second Release does nothing.
func (l *Lock) Release() error {
	_, _ = files.Unlock(l.file), files.Unlock(l.held) // closing them does it too, if no child has copies
	if err := errors.Join(l.file.Close(), l.held.Close()); err != nil && !errors.Is(err, os.ErrClosed) {
		return fmt.Errorf("release the home %s: %w", filepath.Base(l.dir), err)
	}
	return nil
}

// begun are the names that a starting server creates in a home.
var begun = []string{
	versionFile, adminTokenFile, serverKeyFile, serverFile, listenedFile, usesFile, beatsFile, webhooksFile,
	toldFile, headFile, storeDir, snapshotsDir,
}

// Abandon releases the home after a failed start. If the home was empty before, it removes what the start created,
// because nobody knows of it yet, and also the directory, unless it existed before.
func (l *Lock) Abandon() error {
	if !l.fresh {
		return l.Release()
	}
	var failed error
	for _, name := range begun {
		failed = errors.Join(failed, l.root.RemoveAll(name))
	}
	if failed != nil || !l.onlyLocked() { // a session has stored something there meanwhile
		return errors.Join(failed, l.Release())
	}
	if l.created {
		return l.Discard()
	}
	return errors.Join(l.remove(lockFile), l.Release()) // nobody else can lock it while it is locked
}

// Running reports whether a server holds the home now.
func (h *Home) Running() bool {
	if f, err := files.Open(h.root, lockFile, os.O_RDONLY); err == nil {
		defer func() { _ = f.Close() }()
		if err := files.LockShared(f); errors.Is(err, files.ErrHeld) || errors.Is(err, errors.ErrUnsupported) {
			return true
		}
	}
	dir, err := h.takeDir(files.LockShared)
	if dir != nil {
		_ = dir.Close()
	}
	return errors.Is(err, files.ErrHeld)
}

// BeingRead reports whether `maestro serve --read-only`, or another command that excludes servers, reads the home now.
// It holds the lock for an instant.
func (h *Home) BeingRead() bool {
	for range lockTries {
		dir, err := h.takeDir(files.Lock)
		if dir == nil {
			return false
		}
		read := errors.Is(err, files.ErrHeld) && h.holder(dir).Read
		_ = dir.Close()
		if !read {
			return false
		}
		pause(lockPause) // a client that checks holds it for an instant
	}
	return true
}

// RemoveUnfinished removes half-written files that a killed server left in the home.
func (l *Lock) RemoveUnfinished() error { return files.RemoveUnfinished(l.dir) }
