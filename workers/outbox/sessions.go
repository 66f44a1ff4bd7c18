package outbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"

	"maestro/internal/disk"
	"maestro/internal/files"
)

// listed is how many names of a directory are read at a time.
const listed = 1000

// Sessions lists the sessions of a home for which something waits, or whose outbox holds a file that Deliver moves
// away, by id. With an error it also returns those that it found.
func Sessions(ctx context.Context, home *disk.Root) (sessions []string, err error) {
	err = eachOutbox(ctx, home, func(name string) error {
		o, err := Open(home, name, noSecret)
		if err != nil {
			sessions = append(sessions, name) // opening it reports why it cannot be read
			return nil
		}
		waiting, strays, err := o.list()
		if err != nil || len(waiting)+len(strays) > 0 {
			sessions = append(sessions, name)
		}
		return nil
	})
	slices.Sort(sessions)
	return sessions, err
}

// SetAside counts the entries of each session of a home that Deliver moved to damaged/; sessions without any are
// omitted. Of very many it counts only the first. With an error it also returns what it could count, and the error
// names each session whose entries it could not count.
func SetAside(ctx context.Context, home *disk.Root) (map[string]int, error) {
	return setAside(ctx, home, damagedDir, maxNames)
}

// Replaced counts the entries that Deliver moved to replaced/, as SetAside does.
func Replaced(ctx context.Context, home *disk.Root) (map[string]int, error) {
	return setAside(ctx, home, replacedDir, maxNames)
}

// AsideDirs returns the directories of a session whose entries SetAside and Replaced count, below the home.
func AsideDirs(session string) (damaged, replaced string) {
	return path.Join(outboxes, session, damagedDir), path.Join(outboxes, session, replacedDir)
}

func setAside(ctx context.Context, home *disk.Root, in string, most int) (map[string]int, error) {
	aside := map[string]int{}
	err := eachOutbox(ctx, home, func(session string) error {
		d := directory{home: home, dir: path.Join(outboxes, session, in)}
		if err := d.own(); err != nil {
			return err
		}
		names, err := namesIn(home, d.dir, most)
		if len(names) > 0 {
			aside[session] = len(names)
		} else if err != nil {
			return fmt.Errorf("list %s of the home: %w", d.dir, err)
		}
		return nil
	})
	return aside, err
}

// WithRefused returns, for each session of a home that has not seen that kept commands were refused, the file that says
// so, below the home. With an error it also returns what it found.
func WithRefused(ctx context.Context, home *disk.Root) (map[string]string, error) {
	refused := map[string]string{}
	err := eachOutbox(ctx, home, func(session string) error {
		o, err := Open(home, session, noSecret)
		if err != nil {
			return err
		}
		has, err := o.HasRefused()
		if has {
			refused[session] = path.Join(outboxes, session, refusedFile)
		}
		return err
	})
	return refused, err
}

// RemoveEmpty removes the outboxes of a home in which nothing waits and nothing was set aside, and counts them. It
// skips those that are in use.
func RemoveEmpty(ctx context.Context, home *disk.Root) (removed int, err error) {
	err = eachOutbox(ctx, home, func(session string) error {
		d := directory{home: home, dir: path.Join(outboxes, session)}
		if d.own() != nil || !d.empty() {
			return nil
		}
		gone, err := d.removeEmpty()
		if gone {
			removed++
		}
		return err
	})
	return removed, err
}

// empty reports whether the directory holds nothing but the outbox's files beside its entries.
func (d directory) empty() bool {
	names, err := namesIn(d.home, d.dir, len(besideEntries)+1)
	return err == nil &&
		!slices.ContainsFunc(names, func(name string) bool { return !slices.Contains(besideEntries, name) })
}

// besideEntries are the files of an outbox in which nothing waits.
var besideEntries = []string{writtenFile, keepingLock, deliverLock}

// removeEmpty removes the directory while it holds both locks, so that no entry is lost: a process that waits for one
// of them finds its file gone, and creates the directory again.
func (d directory) removeEmpty() (gone bool, err error) {
	now, cancel := context.WithCancel(context.Background())
	cancel() // skip a lock that somebody holds
	for _, name := range []string{deliverLock, keepingLock} {
		unlock, err := d.Lock(now, name)
		if errors.Is(err, context.Canceled) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		defer unlock()
	}
	if !d.empty() {
		return false, nil
	}
	for _, name := range besideEntries {
		if err := ignoring(d.Remove(name), fs.ErrNotExist); err != nil {
			return false, err
		}
	}
	err = d.home.Remove(d.dir)
	if errors.Is(err, fs.ErrExist) { // a process has begun to keep something: it made a lock anew
		return false, nil
	}
	return err == nil, err
}

// eachOutbox calls f with the name of each session's directory, unordered, until ctx ends. It joins the first few
// errors.
func eachOutbox(ctx context.Context, home *disk.Root, f func(session string) error) error {
	dir, err := files.OpenDir(home, outboxes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("list the outboxes: %w", err)
	}
	defer func() { _ = dir.Close() }()
	var failed []error
	for {
		names, err := dir.Readdirnames(listed)
		for _, name := range names {
			if err := ctx.Err(); err != nil {
				return errors.Join(append(failed, fmt.Errorf("list the outboxes: %w", err))...)
			}
			if !validSession(name) {
				continue // not ours
			}
			if err := f(name); err != nil && len(failed) < mostErrors {
				failed = append(failed, err)
			}
		}
		if errors.Is(err, io.EOF) {
			return errors.Join(failed...)
		}
		if err != nil {
			return errors.Join(append(failed, fmt.Errorf("list the outboxes: %w", err))...)
		}
	}
}

// mostErrors bounds the sessions that one error names.
const mostErrors = 20
