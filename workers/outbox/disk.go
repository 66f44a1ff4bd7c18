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

// damagedDir is where entries go that are not delivered.
const damagedDir = "damaged"

// Disk is the directory of one outbox. Nothing that it does is durable before Sync, or File.Sync for a content, and after a
// crash of the machine each change since may or may not be there. A file that is not there is fs.ErrNotExist.
type Disk interface {
	// Names lists the files, in no order; none while there is no directory.
	Names() ([]string, error)
	Size(name string) (int64, error)
	// Read gives a file's content; *NoEntryError if it is longer than most, or no ordinary file.
	Read(name string, most int64) ([]byte, error)
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

// NoEntryError says that a file is not one that Keep wrote. Match it with errors.As.
type NoEntryError struct{ Why string }

func (e *NoEntryError) Error() string { return e.Why }

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
// entry does. It refuses a directory that is a link or belongs to another user.
func Open(home *os.Root, session string, secret Secret) (*Outbox, error) {
	if !validSession(session) {
		return nil, fmt.Errorf("'%s' is not a session's id: an id has 1 to 128 of A-Z, a-z, 0-9, '_' and '-'", session)
	}
	d := directory{home: home, dir: path.Join(outboxes, session)}
	if err := d.own(); err != nil {
		return nil, err
	}
	return On(d, secret), nil
}

// noSecret proves nothing. It is for those who only count.
func noSecret() string { return "" }

// Sessions lists the sessions of a home for which something waits, by id. Next to an error it gives those that it
// found.
func Sessions(home *os.Root) ([]string, error) { return sessionsIn(home, maxNames) }

func sessionsIn(home *os.Root, most int) ([]string, error) {
	names, unlisted := namesIn(home, outboxes, most)
	if unlisted != nil {
		unlisted = fmt.Errorf("list the outboxes: %w", unlisted)
	}
	slices.Sort(names)
	var sessions []string
	for _, name := range names {
		if !validSession(name) {
			continue // not ours
		}
		o, err := Open(home, name, noSecret)
		if err != nil {
			sessions = append(sessions, name) // who opens it is told why it cannot be read
			continue
		}
		waiting, err := o.Waiting()
		if err != nil || waiting > 0 {
			sessions = append(sessions, name)
		}
	}
	return sessions, unlisted
}

// SetAside counts the entries of each session of a home that Deliver moved to damaged/; no session without any is in it.
// Of very many it counts the first. Next to an error it gives what it could count.
func SetAside(home *os.Root) (map[string]int, error) { return setAside(home, maxNames) }

func setAside(home *os.Root, most int) (map[string]int, error) {
	sessions, err := namesIn(home, outboxes, most)
	if err != nil {
		err = fmt.Errorf("list the outboxes: %w", err)
	}
	aside := map[string]int{}
	for _, session := range sessions {
		d := directory{home: home, dir: path.Join(outboxes, session, damagedDir)}
		if !validSession(session) {
			continue
		}
		if refused := d.own(); refused != nil {
			err = errors.Join(err, refused)
			continue
		}
		names, unread := namesIn(home, d.dir, most)
		if len(names) > 0 {
			aside[session] = len(names)
		} else if unread != nil {
			err = errors.Join(err, fmt.Errorf("list %s of the home: %w", d.dir, unread))
		}
	}
	return aside, err
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

// own refuses directories that this user did not make: a link would lead to another session's entries.
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
		if err := owned(info); err != nil {
			return fmt.Errorf("%s of the home %w; move it away", dir, err)
		}
	}
	return nil
}

// Names implements Disk.
func (d directory) Names() ([]string, error) { return namesIn(d.home, d.dir, maxNames) }

// namesIn lists the files of a directory. Where there are as many as most or more, it gives most of them and an error.
func namesIn(root *os.Root, dir string, most int) ([]string, error) {
	f, err := root.Open(dir)
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

// Read implements Disk. What it opens is what it looked at: no link is followed, and a pipe does not block.
func (d directory) Read(name string, most int64) ([]byte, error) {
	seen, err := d.home.Lstat(d.at(name))
	if err != nil {
		return nil, err
	}
	if !seen.Mode().IsRegular() {
		return nil, &NoEntryError{Why: "it is not a regular file"}
	}
	f, err := d.home.OpenFile(d.at(name), os.O_RDONLY|nonBlocking, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !os.SameFile(seen, info):
		return nil, &NoEntryError{Why: "it was replaced while it was read"}
	}
	content, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(content)) > most {
		return nil, &NoEntryError{Why: fmt.Sprintf("it has %d bytes, and an entry has 1 to %d", info.Size(), most)}
	}
	return content, err
}

// Create implements Disk. It never writes through a link that has the name.
func (d directory) Create(name string) (File, error) {
	if err := d.make(); err != nil {
		return nil, err
	}
	if err := ignoring(d.home.Remove(d.at(name)), fs.ErrNotExist); err != nil {
		return nil, err
	}
	return d.home.OpenFile(d.at(name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
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
	if info, err := d.home.Lstat(d.at(name)); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s of the home is not a regular file; remove it", d.at(name))
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
