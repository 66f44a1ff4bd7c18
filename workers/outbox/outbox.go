package outbox

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"

	"maestro/internal/files"
	"maestro/internal/safetext"
)

const (
	// MaxBody is the maximum body of a kept command; the server accepts no longer one.
	MaxBody = 1 << 20
	// maxFile is the maximum size of an entry, with everything besides its body.
	maxFile = 2 << 20

	// maxEntries and maxBytes are the limits of one session's outbox.
	maxEntries = 10_000
	maxBytes   = 64 << 20
)

// The files beside the entries. An entry is always written to the same name first, so that a killed process leaves no
// litter: the next one overwrites it.
const (
	writtenFile  = "new"
	keepingLock  = "keep.lock"
	deliverLock  = "deliver.lock"
	entryEnding  = ".json"
	numberDigits = 12
	// maxNames bounds the number of files that an outbox lists in its directory.
	maxNames = 10 * maxEntries
)

// FullError says that the outbox is full, and that nothing was kept. Match it with errors.As.
type FullError struct {
	// Waiting and Bytes are its present content.
	Waiting int
	Bytes   int64
	// Err is the error of the disk, nil if the outbox's own limit is reached.
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

// BusyError says that another process was still delivering when the wait for it ended. Match it with errors.As.
type BusyError struct {
	// Err is the error of ctx.
	Err error
}

func (e *BusyError) Error() string { return "another process of the session is delivering" }

func (e *BusyError) Unwrap() error { return e.Err }

// Outbox is the outbox of one session. It is safe for concurrent use, even by several processes.
type Outbox struct {
	disk   Disk
	secret Secret
	// entries and bytes are its limits.
	entries int
	bytes   int64
}

// Secret returns the session's present secret; "" if it has none. It makes and checks the proof of every entry.
type Secret func() string

// On returns the outbox on a disk. Most callers use Open.
func On(disk Disk, secret Secret) *Outbox {
	return &Outbox{
		disk:    disk,
		secret:  secret,
		entries: maxEntries,
		bytes:   maxBytes,
	}
}

// position is an entry's position in the order: its number, then the digest of its content.
type position struct {
	number uint64
	digest string
}

func (p position) file() string {
	return fmt.Sprintf("%0*d-%s%s", numberDigits, p.number, p.digest, entryEnding)
}

// parsePosition parses the name of an entry. It accepts only names that [position.file] returns: an entry is read, set
// aside and removed by that name, so a file with any other spelling would never leave the directory.
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

// waiting lists the entries in order.
func (o *Outbox) waiting() ([]position, error) {
	positions, _, err := o.list()
	return positions, err
}

// list returns the entries in order, and the names of files that no outbox creates.
func (o *Outbox) list() (positions []position, strays []string, err error) {
	names, err := o.disk.Names()
	if err != nil {
		return nil, nil, fmt.Errorf("list the outbox: %w", err)
	}
	positions = make([]position, 0, len(names))
	for _, name := range names {
		if p, ok := parsePosition(name); ok {
			positions = append(positions, p)
		} else if name != damagedDir && name != replacedDir && name != refusedFile &&
			!slices.Contains(besideEntries, name) {
			strays = append(strays, name)
		}
	}
	slices.SortFunc(positions, func(a, b position) int {
		return cmp.Or(cmp.Compare(a.number, b.number), strings.Compare(a.digest, b.digest))
	})
	return positions, strays, nil
}

// Waiting counts the entries. It reads one directory, creates nothing and takes no lock.
func (o *Outbox) Waiting() (int, error) {
	positions, err := o.waiting()
	return len(positions), err
}

// Keep adds the proof to an entry and appends it. It returns how many entries wait then. Once it returns, the entry
// survives a crash of the machine. If it fails the entry is not kept; with *FullError there is no room for it.
func (o *Outbox) Keep(ctx context.Context, e Entry) (waiting int, err error) {
	secret := o.secret()
	e.Generation, e.Proof = generationOf(secret), e.prove(secret)
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

// put creates the file, completely and durably or not at all.
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

// room refuses an entry that would exceed the limits.
func (o *Outbox) room(positions []position, length int) error {
	full := &FullError{Waiting: len(positions)}
	if full.Waiting >= o.entries {
		positions = positions[:o.entries] // a directory may hold any number of files
	}
	for _, p := range positions {
		size, err := o.disk.Size(p.file())
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // a missing one was delivered meanwhile
			return fmt.Errorf("look at the outbox: %w", err)
		}
		full.Bytes += size
	}
	if full.Waiting >= o.entries || full.Bytes+int64(length) > o.bytes {
		return full
	}
	return nil
}

// roomless wraps an error about a full disk in its type.
func roomless(err error) error {
	if files.Full(err) {
		return &FullError{Err: err}
	}
	return err
}

// lock waits at most patience for a lock. It takes a free one even if ctx has ended.
func (o *Outbox) lock(ctx context.Context, patience time.Duration, name string) (unlock func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return o.disk.Lock(ctx, name)
}
