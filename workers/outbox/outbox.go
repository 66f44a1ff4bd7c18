package outbox

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"maestro/commands"
	"maestro/internal/safetext"
)

const (
	// MaxBody is the longest body of a command that is kept; the server takes no longer one.
	MaxBody = 1 << 20
	// maxFile is how long an entry can be with all that goes with its body.
	maxFile = 2 << 20

	// maxEntries and maxBytes are what one session's outbox holds.
	maxEntries = 10_000
	maxBytes   = 64 << 20
)

// The files beside the entries. The one that an entry is written to is always the same, so that a process that is
// killed leaves no litter: the next overwrites it.
const (
	writtenFile  = "new"
	keepingLock  = "keep.lock"
	deliverLock  = "deliver.lock"
	entryEnding  = ".json"
	numberDigits = 12
	// maxNames bounds how many files of its directory an outbox reads.
	maxNames = 10 * maxEntries
)

// Entry is one command that waits.
type Entry struct {
	// Command is its id in the permission table, Body the JSON object of its fields.
	Command string          `json:"command"`
	Body    json.RawMessage `json:"body"`
	// Key makes it the same command at every try, the first one included.
	Key string `json:"key"`
	// OccurredAt is when it was said.
	OccurredAt time.Time `json:"occurredAt"`
	// Proof shows that the session said it; Keep makes it: see [Entry.prove].
	Proof string `json:"proof,omitempty"`
}

// prove computes the proof of an entry: HMAC-SHA-256 of what it says, keyed with the session's secret, in hexadecimal.
// The secret itself is in no file.
func (e Entry) prove(secret string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	for _, part := range []string{e.Command, string(e.Body), e.Key, e.OccurredAt.UTC().Format(time.RFC3339Nano)} {
		_, _ = fmt.Fprintf(mac, "%d:%s", len(part), part) // a hash never fails to write
	}
	return hex.EncodeToString(mac.Sum(nil))
}

// proven reports whether the entry has the proof of this secret. Nothing is proven where there is no secret.
func (e Entry) proven(secret string) bool {
	return secret != "" && hmac.Equal([]byte(e.Proof), []byte(e.prove(secret)))
}

// ProvenBy reports whether the entry was kept with this secret. What an entry says must not be believed for that when
// the secret was revoked.
func (e Entry) ProvenBy(secret string) bool { return e.proven(secret) }

// FullError says that the outbox takes no more, and that nothing was kept. Match it with errors.As.
type FullError struct {
	// Waiting and Bytes are what it holds.
	Waiting int
	Bytes   int64
	// Err is what the disk said, nil if it is the outbox's own limit.
	Err error
}

func (e *FullError) Error() string {
	if e.Err != nil {
		return "there is no room on the disk: " + e.Err.Error()
	}
	return fmt.Sprintf("the outbox is full: %d commands wait, of at most %d, with %d bytes, of at most %d", e.Waiting,
		maxEntries, e.Bytes, maxBytes)
}

func (e *FullError) Unwrap() error { return e.Err }

// BusyError says that another process went on delivering for as long as one waited for it. Match it with errors.As.
type BusyError struct {
	// Err is ctx's.
	Err error
}

func (e *BusyError) Error() string { return "another process of the session is delivering" }

func (e *BusyError) Unwrap() error { return e.Err }

// Damaged is an entry that is not delivered and was moved away: it cannot be read, has no proof, or may not wait; or a
// file with another name than an entry has.
type Damaged struct {
	// File is where it is now, below the session's outbox.
	File string
	// Why says what is wrong with it.
	Why string
}

// Unproven is an entry that can be read and must not be delivered.
type Unproven struct {
	Entry Entry
	// Why says what is wrong with it.
	Why string
}

// Delivery is what Deliver came to.
type Delivery struct {
	// Delivered counts the entries that the server answered.
	Delivered int
	// Damaged lists the entries that can never be delivered.
	Damaged []Damaged
}

// Outbox is one session's. Safe for concurrent use, also by several processes.
type Outbox struct {
	disk   Disk
	secret Secret
	// entries and bytes are its limits.
	entries int
	bytes   int64
}

// Secret gives the session's secret as it is now; "" if it has none. It makes and checks the proof of every entry.
type Secret func() string

// On gives the outbox that a disk holds. Open is what most want.
func On(disk Disk, secret Secret) *Outbox {
	return &Outbox{
		disk:    disk,
		secret:  secret,
		entries: maxEntries,
		bytes:   maxBytes,
	}
}

// position is an entry's place in the order: its number, then the digest of its content.
type position struct {
	number uint64
	digest string
}

func (p position) file() string {
	return fmt.Sprintf("%0*d-%s%s", numberDigits, p.number, p.digest, entryEnding)
}

// parsePosition reads the name of an entry. It accepts only names that [position.file] returns: an entry is read, set
// aside and removed under that name, so any other spelling of a position would never leave the directory.
func parsePosition(file string) (position, bool) {
	number, rest, _ := strings.Cut(file, "-")
	digest, _ := strings.CutSuffix(rest, entryEnding)
	if sum, err := hex.DecodeString(digest); err != nil || len(sum) != sha256.Size {
		return position{}, false
	}
	n, err := strconv.ParseUint(number, 10, 64)
	p := position{n, digest}
	return p, err == nil && p.file() == file
}

// waiting lists the entries in their order.
func (o *Outbox) waiting() ([]position, error) {
	positions, _, err := o.list()
	return positions, err
}

// list gives the entries in their order, and the names of files that no outbox makes.
func (o *Outbox) list() (positions []position, strays []string, err error) {
	names, err := o.disk.Names()
	if err != nil {
		return nil, nil, fmt.Errorf("list the outbox: %w", err)
	}
	positions = make([]position, 0, len(names))
	for _, name := range names {
		if p, ok := parsePosition(name); ok {
			positions = append(positions, p)
		} else if name != damagedDir && !slices.Contains(besideEntries, name) {
			strays = append(strays, name)
		}
	}
	slices.SortFunc(positions, func(a, b position) int {
		return cmp.Or(cmp.Compare(a.number, b.number), strings.Compare(a.digest, b.digest))
	})
	return positions, strays, nil
}

// Waiting counts the entries. It reads one directory, makes nothing and waits for nobody.
func (o *Outbox) Waiting() (int, error) {
	positions, err := o.waiting()
	return len(positions), err
}

// Keep proves an entry and puts it behind those that wait. It returns how many wait then. Once it returns, the entry
// survives a crash of the machine. If it fails the entry is not kept; with *FullError when there is no room for it.
func (o *Outbox) Keep(ctx context.Context, e Entry) (waiting int, err error) {
	secret := o.secret()
	e.Proof = e.prove(secret)
	if why := e.refused(secret); why != "" {
		return 0, fmt.Errorf("'%s' cannot wait in the outbox: %s", safetext.Printable(e.Command), why)
	}
	content, err := encode(e)
	if err != nil {
		return 0, err
	}
	unlock, err := o.disk.Lock(ctx, keepingLock)
	if err != nil {
		return 0, fmt.Errorf("lock the outbox: %w", roomless(err))
	}
	defer unlock()
	positions, err := o.waiting()
	if err != nil {
		return 0, err
	}
	if err := o.room(positions, len(content)); err != nil {
		return 0, err
	}
	next := position{1, digestOf(content)}
	if len(positions) > 0 {
		next.number = positions[len(positions)-1].number + 1
	}
	if next.number == 0 {
		return 0, errors.New(
			"the outbox holds an entry with the highest number there is, which no session wrote; deliver first",
		)
	}
	if err := o.put(next.file(), content); err != nil {
		return 0, fmt.Errorf("write to the outbox: %w", roomless(err))
	}
	return len(positions) + 1, nil
}

// put makes the file, whole and durable or not at all.
func (o *Outbox) put(file string, content []byte) error {
	err := o.write(content)
	if err == nil {
		err = o.disk.Rename(writtenFile, file)
	}
	if err != nil {
		return errors.Join(err, ignoring(o.disk.Remove(writtenFile), fs.ErrNotExist))
	}
	if err := o.disk.Sync(); err != nil {
		return errors.Join(err, o.disk.Remove(file))
	}
	return nil
}

func ignoring(err, what error) error {
	if errors.Is(err, what) {
		return nil
	}
	return err
}

func (o *Outbox) write(content []byte) error {
	f, err := o.disk.Create(writtenFile)
	if err != nil {
		return err
	}
	if _, err := f.Write(content); err != nil {
		return errors.Join(err, f.Close())
	}
	return errors.Join(f.Sync(), f.Close())
}

// room refuses an entry that the limits leave no room for.
func (o *Outbox) room(positions []position, length int) error {
	full := &FullError{Waiting: len(positions)}
	if full.Waiting >= o.entries {
		positions = positions[:o.entries] // a directory may hold any number of files
	}
	for _, p := range positions {
		size, err := o.disk.Size(p.file())
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // one that is not there was delivered meanwhile
			return fmt.Errorf("look at the outbox: %w", err)
		}
		full.Bytes += size
	}
	if full.Waiting >= o.entries || full.Bytes+int64(length) > o.bytes {
		return full
	}
	return nil
}

// roomless gives an error about a full disk its type.
func roomless(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return &FullError{Err: err}
	}
	return err
}

// Send gives an entry to the server. It returns nil once the server has answered it, also with a refusal that is for
// good, and an error if the entry has to wait on.
type Send func(ctx context.Context, e Entry) error

// Reject is told of an entry that must not be delivered, before it is set aside. If it returns an error, the entry and
// all behind it wait on.
type Reject func(ctx context.Context, u Unproven) error

// Deliver sends what waits, oldest first, and removes what was answered. It sends no entry without the proof of the
// session's secret, and none whose command may not wait: these it sets aside, after reject was told. It ends when
// nothing waits, when ctx ends, or with the error of the first send or reject that failed; then that entry and all
// behind it wait on. It waits at most patience for another process that delivers, and then fails with a *BusyError.
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
	left := false // whether any entry has left
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
			default: // somebody took it away by hand
				missing[at], err = true, nil
			}
		}
		if err == nil && len(positions) > 0 {
			continue // others may have kept more meanwhile
		}
		if err == nil && len(strays) > 0 {
			left, err = true, o.setAside(strays, &d)
		}
		if left {
			// One sync for all: what comes back with a crash before it has its key, and is done once.
			err = errors.Join(err, o.disk.Sync())
		}
		return d, err
	}
}

// lock waits at most patience for a lock. It takes one that is free also when ctx has ended.
func (o *Outbox) lock(ctx context.Context, patience time.Duration, name string) (unlock func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return o.disk.Lock(ctx, name)
}

// settled lists the entries that are not about to be taken back by a Keep that fails, and the strays.
func (o *Outbox) settled(ctx context.Context, patience time.Duration) ([]position, []string, error) {
	unlock, err := o.lock(ctx, patience, keepingLock)
	if err != nil {
		return nil, nil, fmt.Errorf("lock the outbox: %w", err)
	}
	defer unlock()
	return o.list()
}

// setAside moves files away whose names no entry has: a command in one of them would never be delivered, and nobody
// would know.
func (o *Outbox) setAside(strays []string, d *Delivery) error {
	for _, name := range strays {
		moved, err := o.disk.SetAside(name)
		switch {
		case errors.Is(err, fs.ErrNotExist): // somebody took it away
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

// errMissing: an entry that was listed has no file.
var errMissing = errors.New("the entry is missing")

// deliver sends the entry at a position and removes it. It fails with errMissing if there is no such file.
func (o *Outbox) deliver(ctx context.Context, at position, send Send, reject Reject, d *Delivery) error {
	entry, err := o.read(at)
	if err == nil {
		if why := entry.refused(o.secret()); why != "" {
			if err := reject(ctx, Unproven{Entry: entry, Why: why}); err != nil {
				return err
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
		moved, err := o.disk.SetAside(at.file())
		if err != nil {
			return fmt.Errorf("move a damaged entry of the outbox away: %w", err)
		}
		d.Damaged = append(d.Damaged, Damaged{File: damagedDir + "/" + moved, Why: damage.why})
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

// damageError says that the bytes of an entry are not what was kept.
type damageError struct{ why string }

func (e damageError) Error() string { return e.why }

func (o *Outbox) read(at position) (Entry, error) {
	content, err := o.disk.Read(at.file(), maxFile)
	var none *NoEntryError
	switch {
	case errors.As(err, &none):
		return Entry{}, damageError{none.Why}
	case err != nil:
		return Entry{}, err
	case len(content) == 0:
		return Entry{}, damageError{fmt.Sprintf("it has 0 bytes, and an entry has 1 to %d", maxFile)}
	}
	if digestOf(content) != at.digest {
		return Entry{}, damageError{"its content is not what was kept: the checksum differs"}
	}
	var e Entry
	if err := json.Unmarshal(content, &e); err != nil {
		return Entry{}, damageError{"it is not JSON: " + err.Error()}
	}
	if err := e.check(); err != nil {
		return Entry{}, damageError{err.Error()}
	}
	return e, nil
}

func digestOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

func encode(e Entry) ([]byte, error) {
	if err := e.check(); err != nil {
		return nil, err
	}
	content, err := json.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("an entry of the outbox: %w", err)
	}
	return append(content, '\n'), nil
}

// refused says why an entry must not be delivered with this secret; "" if it may be.
func (e Entry) refused(secret string) string {
	switch {
	case !commands.MayWait(e.Command):
		return "this command does not wait; only reports, tracked files and the end of a session do"
	case !e.proven(secret):
		return "there is no proof that the session said it: another process wrote it, or the session's secret was revoked since"
	}
	return ""
}

func (e Entry) check() error {
	switch {
	case e.Command == "" || e.Key == "" || e.OccurredAt.IsZero():
		return errors.New("an entry of the outbox has a command, a key and a time")
	case len(e.Body) > MaxBody:
		return fmt.Errorf("the body of an entry of the outbox has at most %d bytes, this has %d", MaxBody, len(e.Body))
	}
	return nil
}
