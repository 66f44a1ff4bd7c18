package offline

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"maestro/api/export"
	"maestro/bus"
	"maestro/events"
	"maestro/internal/backups"
	"maestro/internal/home"
)

// result describes the result of the restore.
func (r *restoring) result() restored {
	return restored{
		Home:     r.options.home,
		From:     r.file,
		At:       time.Now().UTC(),
		Head:     r.store.Head(),
		Created:  r.contents.Created,
		Signer:   r.contents.Signer,
		Accepted: len(r.verdict.Faults) > 0,
		Faults:   r.verdict.Faults,
	}
}

// noteOrigin puts into the new store what its home must know about its origin: what it was restored from, and which
// backups exist now, beside the home and beside the file, because its log may be shorter than theirs.
func (r *restoring) noteOrigin(h *home.Home, result restored) error {
	note, err := json.MarshalIndent(result, "", "  ")
	if err != nil {
		return err
	}
	earlier, err := backups.NewHome(h.Dir(), filepath.Dir(r.file))
	if err != nil {
		r.Run.Say("The backups could not be listed; a newer one may make the home read-only: %s\n", err)
	}
	list, err := earlier.Encode()
	if err != nil {
		return err
	}
	return errors.Join(r.store.Note(home.RestoreNote, append(note, '\n')), r.store.Note(home.EarlierNote, list))
}

// settle moves the notes up into the home. It is the last step: until then, running the restore again completes it.
func (r *restoring) settle(lock *home.Lock) {
	if err := lock.SettleOrigin(); err != nil {
		r.Run.Say(
			"The home is restored; its first start moves restored.json and earlier-backups.json out of the store: %s\n",
			err)
	}
}

// finishKilled completes a restore that was killed after its log was in place, if this restore is of the same log and
// no server has had the home since. It reports whether it did.
func (r *restoring) finishKilled(lock *home.Lock, in *bufio.Reader) (bool, error) {
	note, err := lock.UnsettledRestore()
	if err != nil {
		return false, nil //nolint:nilerr // nothing was interrupted, or the home is not empty
	}
	for _, path := range []string{lock.Head(), lock.Snapshots()} {
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
	}
	var was restored
	if json.Unmarshal(note, &was) != nil {
		return false, nil
	}
	head, err := r.headOf(in)
	if err != nil {
		return false, notWhole(r.file, err)
	}
	if r.witness != nil && !r.passed {
		return false, headDiffers(r.file, fmt.Sprintf("its log does not pass through the head %s", r.witness))
	}
	expects := r.options.signer != "" && was.Signer != r.options.signer
	if head != was.Head || (was.Accepted || expects) && !r.options.acceptFaults {
		return false, nil
	}
	was.Home = r.options.home
	r.Run.Result(was, func() {
		r.Run.Print("An earlier run of this restore was killed after it had put the log in place: nothing is missing\n")
		r.sayRestored(was)
		r.sayStart(was)
	})
	r.settle(lock)
	return true, nil
}

// headOf reads the file for the head of its log, and whether the log contains the head that was stored elsewhere.
func (r *restoring) headOf(in *bufio.Reader) (head events.Head, err error) {
	next := func(m events.Message) error {
		head = events.Head{Sequence: m.Sequence, Hash: events.Next(head.Hash, events.BodyHash(m.Body))}
		r.passed = r.passed || r.witness != nil && head == *r.witness
		return nil
	}
	if r.isExport {
		return head, export.Read(in, next)
	}
	_, err = bus.ReadBackup(in, bus.BackupVisitor{Message: next})
	return head, err
}
