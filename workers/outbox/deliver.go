package outbox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"maestro/internal/safetext"
)

// Damaged is an entry that was moved away instead of being delivered: it cannot be read, has no proof, or may not wait;
// or a file whose name is not that of an entry.
type Damaged struct {
	// File is its present path, below the session's outbox.
	File string
	// Why describes what is wrong with it.
	Why string
	// Replaced says that it is as it was kept with a former secret of the session, as Reject answered.
	Replaced bool
}

// Unproven is a readable entry that must not be delivered.
type Unproven struct {
	Entry Entry
	// Why describes what is wrong with it.
	Why string
	// SaysFormer says that it was kept with a former secret of the session, by its own account, which may be false.
	SaysFormer bool
}

// Delivery is the result of Deliver.
type Delivery struct {
	// Delivered counts the entries that the server answered.
	Delivered int
	// Damaged lists the entries that can never be delivered.
	Damaged []Damaged
}

// Send sends an entry to the server. It returns nil once the server has given a final answer, including a refusal, and
// an error if the entry has to wait.
type Send func(ctx context.Context, e Entry) error

// Reject is called with an entry that must not be delivered, before it is set aside. It returns whether the entry is as
// it was kept with a former secret of the session: the server checks that, and others have only the entry's word. If it
// returns an error, this entry and all after it continue to wait.
type Reject func(ctx context.Context, u Unproven) (former bool, err error)

// Deliver sends the waiting entries, oldest first, and removes the answered ones. It sends no entry without the proof
// of the session's secret, and none whose command may not wait: it sets these aside, after calling reject. It ends when
// nothing waits, when ctx ends, or with the first error of send or reject; then that entry and all after it continue to
// wait. It waits at most patience for another process that delivers, and then fails with a *BusyError.
func (o *Outbox) Deliver(ctx context.Context, patience time.Duration, send Send, reject Reject) (Delivery, error) {
	var d Delivery
	unlock, err := o.lock(ctx, patience, deliverLock)
	if err != nil {
		if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
			err = &BusyError{Err: err}
		}
		return d, fmt.Errorf("lock the outbox: %w", err)
	}
	defer unlock()
	left := false // whether any entry was removed
	missing := map[position]bool{}
	for {
		positions, strays, err := o.settled(ctx, patience)
		before := missing
		missing = map[position]bool{}
		for i := 0; err == nil && i < len(positions); i++ {
			at := positions[i]
			if err = ctx.Err(); err != nil {
				break
			}
			switch err = o.deliver(ctx, at, send, reject, &d); {
			case err == nil:
				left = true
			case !errors.Is(err, errMissing):
			case before[at]:
				err = fmt.Errorf("read the outbox: the directory lists %s, but there is no such file", at.file())
			default: // somebody removed it by hand
				missing[at], err = true, nil
			}
		}
		if err == nil && len(positions) > 0 {
			continue // others may have added more meanwhile
		}
		if err == nil && len(strays) > 0 {
			left, err = true, o.setAside(strays, &d)
		}
		if left {
			// One sync for all: an entry that reappears after a crash has the same key, and is executed once.
			err = errors.Join(err, o.disk.Sync())
		}
		return d, err
	}
}

// settled lists the entries, without those that a failing Keep is about to remove, and the strays.
func (o *Outbox) settled(ctx context.Context, patience time.Duration) ([]position, []string, error) {
	unlock, err := o.lock(ctx, patience, keepingLock)
	if err != nil {
		return nil, nil, fmt.Errorf("lock the outbox: %w", err)
	}
	defer unlock()
	return o.list()
}

// setAside moves files away whose names are not those of entries: a command in one of them would silently never be
// delivered.
func (o *Outbox) setAside(strays []string, d *Delivery) error {
	for _, name := range strays {
		moved, err := o.disk.SetAside(name, damagedDir)
		switch {
		case errors.Is(err, fs.ErrNotExist): // somebody removed it
		case err != nil:
			return fmt.Errorf("move away a file of the outbox that is no entry: %w", err)
		default:
			why := "its name is not that of an entry, so it was never delivered"
			damaged := Damaged{File: damagedDir + "/" + moved, Why: why}
			d.Damaged = append(d.Damaged, damaged)
		}
	}
	return nil
}

// errMissing: a listed entry has no file.
var errMissing = errors.New("the entry is missing")

// deliver sends the entry at a position and removes it. It fails with errMissing if there is no such file.
func (o *Outbox) deliver(ctx context.Context, at position, send Send, reject Reject, d *Delivery) error {
	entry, err := o.read(at)
	to := damagedDir
	if err == nil {
		secret := o.secret()
		if why := entry.refused(secret); why != "" {
			former, failed := reject(ctx, Unproven{Entry: entry, Why: why, SaysFormer: entry.saysFormer(secret)})
			if failed != nil {
				return failed
			}
			if former {
				to, why = replacedDir, whyFormer
			}
			command, key := safetext.Printable(entry.Command), safetext.Printable(entry.Key)
			err = damageError{fmt.Sprintf("'%s', key '%s': %s", command, key, why)}
		}
	}
	var damage damageError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return errMissing
	case errors.As(err, &damage):
		moved, err := o.disk.SetAside(at.file(), to)
		if err != nil {
			return fmt.Errorf("move a damaged entry of the outbox away: %w", err)
		}
		aside := Damaged{File: to + "/" + moved, Why: damage.why, Replaced: to == replacedDir}
		d.Damaged = append(d.Damaged, aside)
		return nil
	case err != nil:
		return fmt.Errorf("read the outbox: %w", err)
	}
	if err := send(ctx, entry); err != nil {
		return err
	}
	d.Delivered++
	if err := ignoring(o.disk.Remove(at.file()), fs.ErrNotExist); err != nil {
		return fmt.Errorf("remove a delivered entry from the outbox: %w", err)
	}
	return nil
}
