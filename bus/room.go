package bus

import (
	"fmt"
	"sync"
	"time"

	"maestro/events"
)

// reserve is the room that the log leaves on its disk for the files that a reopen, a snapshot and the head file write.
const reserve = 32 << 20

// filesReserve is how many files must still fit on the disk, for the same purpose. A disk can run out of inodes first.
const filesReserve = 16

// room returns ErrFull before anything is sent, while the disk has less room than the reserve. It checks the disk ten
// times a second.
type room struct {
	dir string // "" for an external server's disk

	mu     sync.Mutex
	looked time.Time
	err    error
}

func (r *room) check() error {
	if r.dir == "" {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	if now.Sub(r.looked) < 100*time.Millisecond {
		return r.err
	}
	r.looked = now
	r.err = r.now()
	return r.err
}

// Room returns events.ErrFull while the log's disk has too little room for writes.
func (b *Bus) Room() error { return b.room.look() }

// Reserve is the room in bytes that a log needs on its disk before it takes writes.
const Reserve = reserve

// FreeBytes returns the room that this user may still fill on the disk of a directory; false if unknown.
func FreeBytes(dir string) (uint64, bool) { return freeBytes(dir) }

// again is check without the cached result.
func (r *room) again() error {
	r.mu.Lock()
	r.looked = time.Time{}
	r.mu.Unlock()
	return r.check()
}

// look checks the disk now, whatever the cached result.
func (r *room) look() error {
	if r.dir == "" {
		return nil
	}
	return r.now()
}

func (r *room) now() error {
	if free, ok := freeBytes(r.dir); ok && free < reserve {
		return fmt.Errorf(
			"%w: %d MiB are left on the disk of %s, %d are needed",
			events.ErrFull, free>>20, r.dir, reserve>>20,
		)
	}
	if free, ok := freeFiles(r.dir); ok && free < filesReserve {
		return fmt.Errorf(
			"%w: %d more files can be made on the disk of %s, and %d are needed: it has no more inodes (`df -i`); "+
				"delete files there", events.ErrFull, free, r.dir, filesReserve,
		)
	}
	return nil
}
