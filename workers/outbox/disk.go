package outbox

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"time"

	"maestro/internal/disk"
	"maestro/internal/files"
)

// damagedDir is the directory of entries that are not delivered, and replacedDir that of those among them which are as
// they were kept: only the session's secret was replaced since.
const (
	damagedDir  = "damaged"
	replacedDir = "replaced"
)

// Disk is the directory of one outbox. Nothing that it does is durable before Sync, or File.Sync for content, and after
// a crash of the machine each change since then may or may not be there. A missing file gives fs.ErrNotExist.
type Disk interface {
	// Names lists the files, unordered; none if there is no directory.
	Names() ([]string, error)
	Size(name string) (int64, error)
	// Read returns a file's content; *NoEntryError if it is longer than most, or not a regular file.
	Read(name string, most int64) ([]byte, error)
	// Create creates an empty file, replacing any with the same name, and the directory if there is none.
	Create(name string) (File, error)
	// Rename replaces any file with the new name.
	Rename(from, to string) error
	Remove(name string) error
	// SetAside moves a file to a directory beside the entries, where its name is moved: its own, or one that begins
	// with it.
	SetAside(name, to string) (moved string, err error)
	// Sync makes the names of the files durable.
	Sync() error
	// Lock waits until nobody else has the lock of that name, or ctx ends. It takes a free lock even if ctx has ended.
	// The lock is released by unlock, or when the process ends.
	Lock(ctx context.Context, name string) (unlock func(), err error)
}

// NoEntryError says that Keep did not write a file. Match it with errors.As.
type NoEntryError struct{ Why string }

func (e *NoEntryError) Error() string { return e.Why }

// File is a file of a Disk that is being written.
type File interface {
	io.Writer
	// Sync makes the written content durable.
	Sync() error
	Close() error
}

// outboxes is the directory in the home with one directory per session.
const outboxes = "outbox"

// Home is the directory of a home.
type Home = disk.Root

// Open returns a session's outbox in a home, which must stay open as long as the outbox is used. It creates nothing:
// the first entry does. It refuses a directory that is a link or belongs to another user.
func Open(home *disk.Root, session string, secret Secret) (*Outbox, error) {
	if !validSession(session) {
		return nil, fmt.Errorf("'%s' is not a session's id: an id has 1 to 128 of A-Z, a-z, 0-9, '_' and '-'", session)
	}
	d := directory{home: home, dir: path.Join(outboxes, session)}
	if err := d.own(); err != nil {
		return nil, err
	}
	return On(d, secret), nil
}

// noSecret returns no secret, for callers that only count.
func noSecret() string { return "" }

func validSession(id string) bool {
	for _, c := range []byte(id) {
		if c != '_' && c != '-' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			return false
		}
	}
	return id != "" && len(id) <= 128
}

// directory is a Disk: a directory in a home, which no path leaves, even through symbolic links.
type directory struct {
	home *disk.Root
	dir  string
}

func (d directory) at(name string) string { return path.Join(d.dir, name) }

// own refuses directories that this user did not create: a link would lead to another session's entries.
func (d directory) own() error {
	for _, dir := range []string{outboxes, path.Dir(d.dir), d.dir} {
		info, err := d.home.Lstat(dir)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case !info.IsDir():
			return fmt.Errorf("%s of the home is not a directory; move it away", dir)
		}
		if err := files.Owned(info); err != nil {
			return fmt.Errorf("%s of the home %w; move it away", dir, err)
		}
	}
	return nil
}

// Names implements Disk.
func (d directory) Names() ([]string, error) { return namesIn(d.home, d.dir, maxNames) }

// namesIn lists the files of a directory. If there are most or more, it returns most of them and an error.
func namesIn(root *disk.Root, dir string, most int) ([]string, error) {
	f, err := files.OpenDir(root, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	names, err := f.Readdirnames(most)
	if errors.Is(err, io.EOF) {
		err = nil // it is empty
	}
	if len(names) == most {
		err = fmt.Errorf("%s of the home holds %d files or more; move away what does not belong there", dir, most)
	}
	return names, errors.Join(err, f.Close())
}

// Size implements Disk.
func (d directory) Size(name string) (int64, error) {
	info, err := d.home.Lstat(d.at(name))
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// Read implements Disk.
func (d directory) Read(name string, most int64) ([]byte, error) {
	content, err := files.Read(d.home, d.at(name), most)
	var irregular *files.IrregularError
	if errors.As(err, &irregular) {
		return nil, &NoEntryError{Why: "it " + irregular.Why}
	}
	return content, err
}

// Create implements Disk.
func (d directory) Create(name string) (File, error) {
	if err := d.make(); err != nil {
		return nil, err
	}
	f, err := files.Create(d.home, d.at(name))
	if err == nil {
		return f, nil
	}
	if info, missing := d.home.Lstat(d.at(name)); missing != nil || !info.IsDir() {
		return nil, err
	}
	if _, err := d.SetAside(name, damagedDir); err != nil { // a directory that is not empty
		return nil, err
	}
	return files.Create(d.home, d.at(name))
}

// make creates the directory. It tries again if RemoveEmpty removes it meanwhile: it then exists at one moment, and at
// the next it does not.
func (d directory) make() (err error) {
	for range mostTries {
		if err = d.home.MkdirAll(d.dir, 0o700); !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	return err
}

// Rename implements Disk.
func (d directory) Rename(from, to string) error { return d.home.Rename(d.at(from), d.at(to)) }

// Remove implements Disk.
func (d directory) Remove(name string) error { return d.home.Remove(d.at(name)) }

// SetAside implements Disk. A session's process can put anything in the way of the entry's new place, so whatever is
// there is set aside too.
func (d directory) SetAside(name, to string) (moved string, err error) {
	aside := d.at(to)
	info, err := d.home.Lstat(aside)
	if err == nil && !info.IsDir() {
		obstacle := aside + "." + rand.Text()
		if err := d.home.Rename(aside, obstacle); err != nil {
			return "", err
		}
		if err := d.home.MkdirAll(aside, 0o700); err != nil {
			return "", err
		}
		if _, err := d.moveTo(aside, obstacle, "not-a-directory"); err != nil {
			return "", err
		}
	}
	if err := d.home.MkdirAll(aside, 0o700); err != nil {
		return "", err
	}
	return d.moveTo(aside, d.at(name), name)
}

// moveTo moves a file into a directory, under a longer name if its own is taken.
func (d directory) moveTo(dir, from, name string) (moved string, err error) {
	if _, err := d.home.Lstat(path.Join(dir, name)); !errors.Is(err, fs.ErrNotExist) {
		name += "." + rand.Text()
	}
	err = d.home.Rename(from, path.Join(dir, name))
	if errors.Is(err, fs.ErrPermission) {
		// A directory that is not writable cannot be moved, nor can anything be moved into it.
		err = errors.Join(d.unlockDir(dir), d.unlockDir(from))
		if err == nil {
			err = d.home.Rename(from, path.Join(dir, name))
		}
	}
	return name, err
}

// unlockDir gives this user all rights on a directory; it ignores anything else.
func (d directory) unlockDir(dir string) error {
	if info, err := d.home.Lstat(dir); err != nil || !info.IsDir() {
		return err
	}
	return d.home.Chmod(dir, 0o700)
}

// Sync implements Disk. It also syncs the parent directories, because their creator may not have got to it.
func (d directory) Sync() error {
	for _, dir := range []string{d.at(damagedDir), d.at(replacedDir), d.dir, outboxes, "."} {
		f, err := files.OpenDir(d.home, dir)
		var irregular *files.IrregularError
		if path.Dir(dir) == d.dir && (errors.Is(err, fs.ErrNotExist) || errors.As(err, &irregular)) {
			continue // nothing was set aside yet
		}
		if err != nil {
			return err
		}
		if err := errors.Join(files.SyncNames(f), f.Close()); err != nil {
			return err
		}
	}
	return nil
}

// lockPause is the time between two attempts to take a lock.
const lockPause = 5 * time.Millisecond

// Lock implements Disk.
func (d directory) Lock(ctx context.Context, name string) (unlock func(), err error) {
	for {
		f, err := d.lockFile(name)
		if err != nil {
			return nil, err
		}
		if err = d.lock(name, f); err == nil {
			return func() { _ = f.Close() }, nil // closing the file releases the lock
		}
		if err = errors.Join(ignoring(err, files.ErrHeld), f.Close()); err != nil {
			return nil, err
		}
		select {
		case <-time.After(lockPause):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// lock locks the open file of a name. It fails with files.ErrHeld also if the name no longer refers to the file:
// RemoveEmpty removed it in between, and the next process locks another.
func (d directory) lock(name string, f *os.File) error {
	if err := files.Lock(f); errors.Is(err, errors.ErrUnsupported) {
		return fmt.Errorf("an outbox needs locks that this system does not have: %w", err)
	} else if err != nil {
		return err
	}
	held, err := f.Stat()
	if err != nil {
		return err
	}
	if now, err := d.home.Lstat(d.at(name)); err != nil || !os.SameFile(held, now) {
		return files.ErrHeld
	}
	return nil
}

// lockFile opens the file of a lock. It sets aside anything but a regular file, which would block the session's
// deliveries permanently.
func (d directory) lockFile(name string) (*os.File, error) {
	for try := 0; ; try++ {
		if err := d.make(); err != nil {
			return nil, err
		}
		f, err := files.OpenOrCreate(d.home, d.at(name), os.O_RDWR)
		var irregular *files.IrregularError
		switch {
		case err == nil:
			return f, nil
		case try == mostTries:
			return nil, err
		case errors.As(err, &irregular):
			if info, err := d.home.Lstat(d.at(name)); err != nil || info.Mode().IsRegular() {
				break // others create and remove it
			}
			if _, err := d.SetAside(name, damagedDir); ignoring(err, fs.ErrNotExist) != nil {
				return nil, err
			}
		case !errors.Is(err, fs.ErrNotExist): // RemoveEmpty removed the directory
			return nil, err
		}
	}
}

// mostTries bounds the attempts to create the directory or a lock against somebody who keeps removing or replacing it.
const mostTries = 10
