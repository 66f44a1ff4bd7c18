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

// The files beside the entries. The one that an entry is written to is always the same, so that a process that is killed
// leaves no litter: the next overwrites it.
const (
	writtenFile  = "new"
	keepingLock  = "keep.lock"
	deliverLock  = "deliver.lock"
	entryEnding  = ".json"
	numberDigits = 12
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
	// Proof shows to a server that delivers in the session's name that the session said it; see [Entry.Prove].
	Proof string `json:"proof,omitempty"`
}

// Prove gives the proof that who knows the session's secret makes of an entry: HMAC-SHA-256 of what it says, in hexadecimal.
// The secret itself never stands in a file.
func (e Entry) Prove(secret string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	for _, part := range []string{e.Command, string(e.Body), e.Key, e.OccurredAt.UTC().Format(time.RFC3339Nano)} {
		_, _ = fmt.Fprintf(mac, "%d:%s", len(part), part) // a hash never fails to write
	}
	return hex.EncodeToString(mac.Sum(nil))
}

// Proven reports whether the entry has the proof of this secret.
func (e Entry) Proven(secret string) bool {
	return hmac.Equal([]byte(e.Proof), []byte(e.Prove(secret)))
}

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
	return fmt.Sprintf("the outbox is full: %d commands wait, of at most %d, with %d bytes, of at most %d", e.Waiting, maxEntries, e.Bytes, maxBytes)
}

func (e *FullError) Unwrap() error { return e.Err }

// BusyError says that another process went on delivering for as long as one waited for it. Match it with errors.As.
type BusyError struct {
	// Err is ctx's.
	Err error
}

func (e *BusyError) Error() string { return "another process of the session is delivering" }

func (e *BusyError) Unwrap() error { return e.Err }

// Damaged is an entry that could not be read and was moved away.
type Damaged struct {
	// File is where it is now, below the session's outbox.
	File string
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
	disk Disk
	// entries and bytes are its limits.
	entries int
	bytes   int64
}

// On gives the outbox that a disk holds. Open is what most want.
func On(disk Disk) *Outbox { return &Outbox{disk: disk, entries: maxEntries, bytes: maxBytes} }

// place is where an entry stands: its number, then the digest of its content.
type place struct {
	number uint64
	digest string
}

func (p place) file() string {
	return fmt.Sprintf("%0*d-%s%s", numberDigits, p.number, p.digest, entryEnding)
}

// placeOf reads a file's name; any other file than an entry is none.
func placeOf(file string) (place, bool) {
	number, rest, ok := strings.Cut(file, "-")
	digest, ended := strings.CutSuffix(rest, entryEnding)
	if !ok || !ended || len(number) < numberDigits || len(digest) != hex.EncodedLen(sha256.Size) {
		return place{}, false
	}
	if _, err := hex.DecodeString(digest); err != nil {
		return place{}, false
	}
	n, err := strconv.ParseUint(number, 10, 64)
	return place{n, digest}, err == nil
}

// waiting lists the entries in their order.
func (o *Outbox) waiting() ([]place, error) {
	names, err := o.disk.Names()
	if err != nil {
		return nil, fmt.Errorf("list the outbox: %w", err)
	}
	places := make([]place, 0, len(names))
	for _, name := range names {
		if p, ok := placeOf(name); ok {
			places = append(places, p)
		}
	}
	slices.SortFunc(places, func(a, b place) int {
		return cmp.Or(cmp.Compare(a.number, b.number), strings.Compare(a.digest, b.digest))
	})
	return places, nil
}

// Waiting counts the entries. It reads one directory, makes nothing and waits for nobody.
func (o *Outbox) Waiting() (int, error) {
	places, err := o.waiting()
	return len(places), err
}

// Keep puts an entry behind those that wait, and gives how many wait then. Once it returns, the entry survives a crash of
// the machine. If it fails the entry is not kept; with *FullError when there is no room for it.
func (o *Outbox) Keep(ctx context.Context, e Entry) (waiting int, err error) {
	content, err := encode(e)
	if err != nil {
		return 0, err
	}
	unlock, err := o.disk.Lock(ctx, keepingLock)
	if err != nil {
		return 0, fmt.Errorf("lock the outbox: %w", roomless(err))
	}
	defer unlock()
	places, err := o.waiting()
	if err != nil {
		return 0, err
	}
	if err := o.room(places, len(content)); err != nil {
		return 0, err
	}
	next := place{1, digestOf(content)}
	if len(places) > 0 {
		next.number = places[len(places)-1].number + 1
	}
	if err := o.put(next.file(), content); err != nil {
		return 0, fmt.Errorf("write to the outbox: %w", roomless(err))
	}
	return len(places) + 1, nil
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
func (o *Outbox) room(places []place, length int) error {
	full := &FullError{Waiting: len(places)}
	for _, p := range places {
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

// Send gives an entry to the server. It returns nil once the server has answered it, also with a refusal that is for good,
// and an error if the entry has to wait on.
type Send func(ctx context.Context, e Entry) error

// Deliver sends what waits, oldest first, and removes what was answered. It ends when nothing waits, or with the error of
// the first Send that failed; then that entry and all behind it wait on. While another process delivers it waits for that
// one, and fails with a *BusyError when ctx ends first.
func (o *Outbox) Deliver(ctx context.Context, send Send) (Delivery, error) {
	var d Delivery
	unlock, err := o.disk.Lock(ctx, deliverLock)
	if err != nil {
		if ctx.Err() != nil {
			err = &BusyError{Err: err}
		}
		return d, fmt.Errorf("lock the outbox: %w", err)
	}
	defer unlock()
	left := false // whether any entry has left
	for {
		places, err := o.settled(ctx)
		for i := 0; err == nil && i < len(places); i++ {
			if err = o.deliver(ctx, places[i], send, &d); err == nil {
				left = true
			}
		}
		if err == nil && len(places) > 0 {
			continue // others may have kept more meanwhile
		}
		if left {
			// One sync for all: what comes back with a crash before it has its key, and is done once.
			err = errors.Join(err, o.disk.Sync())
		}
		return d, err
	}
}

// settled lists the entries that are not about to be taken back by a Keep that fails.
func (o *Outbox) settled(ctx context.Context) ([]place, error) {
	unlock, err := o.disk.Lock(ctx, keepingLock)
	if err != nil {
		return nil, fmt.Errorf("lock the outbox: %w", err)
	}
	defer unlock()
	return o.waiting()
}

// deliver sends the entry at a place, and takes it away.
func (o *Outbox) deliver(ctx context.Context, at place, send Send, d *Delivery) error {
	entry, err := o.read(at)
	var damage damageError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil // somebody took it away by hand
	case errors.As(err, &damage):
		if err := o.disk.SetAside(at.file()); err != nil {
			return fmt.Errorf("move a damaged entry of the outbox away: %w", err)
		}
		d.Damaged = append(d.Damaged, Damaged{File: damagedDir + "/" + at.file(), Why: damage.why})
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

func (o *Outbox) read(at place) (Entry, error) {
	size, err := o.disk.Size(at.file())
	if err != nil {
		return Entry{}, err
	}
	if size == 0 || size > maxFile {
		return Entry{}, damageError{fmt.Sprintf("it has %d bytes, and an entry has 1 to %d", size, maxFile)}
	}
	content, err := o.disk.Read(at.file())
	if err != nil {
		return Entry{}, err
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

func (e Entry) check() error {
	switch {
	case e.Command == "" || e.Key == "" || e.OccurredAt.IsZero():
		return errors.New("an entry of the outbox has a command, a key and a time")
	case len(e.Body) > MaxBody:
		return fmt.Errorf("the body of an entry of the outbox has at most %d bytes, this has %d", MaxBody, len(e.Body))
	}
	return nil
}
