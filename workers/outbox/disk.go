package outbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"time"
)

// damagedDir is where entries go that cannot be read.
const damagedDir = "damaged"

// Disk is the directory of one outbox. Nothing that it does is durable before Sync, or File.Sync for a content, and after a
// crash of the machine each change since may or may not be there. A file that is not there is fs.ErrNotExist.
type Disk interface {
	// Names lists the files, in no order; none while there is no directory.
	Names() ([]string, error)
	Size(name string) (int64, error)
	Read(name string) ([]byte, error)
	// Create makes an empty file, in the place of any that has the name, and the directory if there is none.
	Create(name string) (File, error)
	// Rename takes the place of a file that has the name.
	Rename(from, to string) error
	Remove(name string) error
	// SetAside moves a file to damaged/ under its own name.
	SetAside(name string) error
	// Sync makes durable under which names the files are.
	Sync() error
	// Lock waits until nobody else has the lock of that name. It is free again after unlock, or however the process ends.
	Lock(ctx context.Context, name string) (unlock func(), err error)
}

// File is a file of a Disk that is being written.
type File interface {
	io.Writer
	// Sync makes durable what was written.
	Sync() error
	Close() error
}

// outboxes is the directory of the home in which each session has its own.
const outboxes = "outbox"

// Open gives a session's outbox in a home, which stays open for as long as the outbox is used. It makes nothing: the first
// entry does.
func Open(home *os.Root, session string) (*Outbox, error) {
	if !validSession(session) {
		return nil, fmt.Errorf("'%s' is not a session's id: an id has 1 to 128 of A-Z, a-z, 0-9, '_' and '-'", session)
	}
	return On(directory{home: home, dir: path.Join(outboxes, session)}), nil
}

// Sessions lists the sessions of a home for which something waits, by id.
func Sessions(home *os.Root) ([]string, error) {
	names, err := namesIn(home, outboxes)
	if err != nil {
		return nil, fmt.Errorf("list the outboxes: %w", err)
	}
	slices.Sort(names)
	var sessions []string
	for _, name := range names {
		o, err := Open(home, name)
		if err != nil {
			continue // not ours
		}
		waiting, err := o.Waiting()
		if err != nil {
			return nil, err
		}
		if waiting > 0 {
			sessions = append(sessions, name)
		}
	}
	return sessions, nil
}

func validSession(id string) bool {
	for _, c := range []byte(id) {
		if c != '_' && c != '-' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			return false
		}
	}
	return id != "" && len(id) <= 128
}

// directory is a Disk: a directory of a home, which no path leaves, also not through symbolic links.
type directory struct {
	home *os.Root
	dir  string
}

func (d directory) at(name string) string { return path.Join(d.dir, name) }

// Names implements Disk.
func (d directory) Names() ([]string, error) { return namesIn(d.home, d.dir) }

func namesIn(root *os.Root, dir string) ([]string, error) {
	f, err := root.Open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	names, err := f.Readdirnames(-1)
	return names, errors.Join(err, f.Close())
}

// Size implements Disk.
func (d directory) Size(name string) (int64, error) {
	info, err := d.home.Lstat(d.at(name))
	if err != nil {
		return 0, err
	}
	if !info.Mode().IsRegular() {
		return 0, nil // as one without content: it is none of ours
	}
	return info.Size(), nil
}

// Read implements Disk.
func (d directory) Read(name string) ([]byte, error) { return d.home.ReadFile(d.at(name)) }

// Create implements Disk.
func (d directory) Create(name string) (File, error) {
	if err := d.make(); err != nil {
		return nil, err
	}
	return d.home.OpenFile(d.at(name), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
}

func (d directory) make() error { return d.home.MkdirAll(d.dir, 0o700) }

// Rename implements Disk.
func (d directory) Rename(from, to string) error { return d.home.Rename(d.at(from), d.at(to)) }

// Remove implements Disk.
func (d directory) Remove(name string) error { return d.home.Remove(d.at(name)) }

// SetAside implements Disk.
func (d directory) SetAside(name string) error {
	if err := d.home.MkdirAll(d.at(damagedDir), 0o700); err != nil {
		return err
	}
	return d.home.Rename(d.at(name), d.at(path.Join(damagedDir, name)))
}

// Sync implements Disk. It syncs the directories above too: whether whoever made them came to do it, nobody knows.
func (d directory) Sync() error {
	for _, dir := range []string{d.at(damagedDir), d.dir, outboxes, "."} {
		f, err := d.home.Open(dir)
		if errors.Is(err, fs.ErrNotExist) && dir == d.at(damagedDir) {
			continue
		}
		if err != nil {
			return err
		}
		if err := errors.Join(syncDir(f), f.Close()); err != nil {
			return err
		}
	}
	return nil
}

// lockPause is how long a process waits before it looks again whether a lock is free.
const lockPause = 5 * time.Millisecond

// errHeld: somebody else has the lock.
var errHeld = errors.New("held")

// Lock implements Disk.
func (d directory) Lock(ctx context.Context, name string) (unlock func(), err error) {
	if err := d.make(); err != nil {
		return nil, err
	}
	f, err := d.home.OpenFile(d.at(name), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err := lockExclusive(f)
		if err == nil {
			return func() { _ = f.Close() }, nil // the lock goes with the file
		}
		if errors.Is(err, errHeld) {
			select {
			case <-time.After(lockPause):
				continue
			case <-ctx.Done():
				err = ctx.Err()
			}
		}
		return nil, errors.Join(err, f.Close())
	}
}
