package bus

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"maestro/internal/disk"
)

// nats-server deletes the directory of a stream whose files it cannot open at its start, whatever the reason, and a
// block of which a call fails. So every block has a second name, beside the server's directory, until the server has
// taken up all that the check before the start found. A second name is the same file: what the server cuts off in its
// place is gone under both. The newest block of a stream, which is the one that it writes to, has a copy too.

const (
	// spareName is the directory in the store that holds the second names, while a server starts.
	spareName = ".spare"
	// copySuffix ends the name of a copy.
	copySuffix = ".copy"
)

func (e *embedded) spareDir() string { return filepath.Join(e.dir, spareName) }

// sparePath is where the second names of a stream's blocks are, below a store's directory.
func sparePath(dir, stream string) string { return filepath.Join(dir, spareName, stream) }

// spareIndex reads the name of a second name or of a copy.
func spareIndex(name string) (index int, isSpare bool) {
	index, isSpare = blockIndex(strings.TrimSuffix(name, copySuffix))
	return index, isSpare && index >= 0 && strings.TrimSuffix(name, copySuffix) == blockName(index)
}

// heldStream is what the check before a start found of a stream that the server must take up.
type heldStream struct {
	// last is the highest sequence that can be read, 0 if that is not known.
	last uint64
	// ends are the places at which the server may cut a block, by its number: nothing behind can be read.
	ends map[int]int64
	// sizes are how long the blocks must stay, by number.
	sizes map[int]int64
	// copied says that a block has a copy instead of a second name.
	copied map[int]bool
}

// spare gives every block a second name, durably, and the newest ones a copy. A block that cannot have a second name is
// copied, if there is room.
func (e *embedded) spare(found map[string]heldStream) error {
	e.expected = map[string]heldStream{}
	if err := disk.Mkdir(e.spareDir(), 0o700); err != nil {
		return err
	}
	for _, stored := range storedStreams {
		messages := e.messagesDir(stored.name)
		blocks, err := blockFiles(messages)
		if err != nil {
			return err
		}
		if len(blocks) == 0 {
			continue
		}
		held := found[stored.name]
		held.sizes, held.copied = map[int]int64{}, map[int]bool{}
		dir := sparePath(e.dir, stored.name)
		if err := disk.Mkdir(dir, 0o700); err != nil {
			return err
		}
		for _, index := range blocks {
			from, to := filepath.Join(messages, blockName(index)), filepath.Join(dir, blockName(index))
			info, err := disk.Stat(from)
			if err != nil {
				return err
			}
			held.sizes[index] = info.Size()
			if end, cut := held.ends[index]; cut {
				held.sizes[index] = min(end, info.Size())
			}
			if linkErr := link(from, to); linkErr != nil {
				if err := e.copySpare(from, to); err != nil {
					return fmt.Errorf("%s has no second name (%w) and no copy: %w", from, linkErr, err)
				}
				held.copied[index] = true
			}
		}
		newest := blocks[len(blocks)-1]
		if !held.copied[newest] {
			from, to := filepath.Join(messages, blockName(newest)), filepath.Join(dir, blockName(newest)+copySuffix)
			if err := e.copyNewest(from, to); err != nil {
				return err
			}
		}
		if err := syncPath(dir); err != nil {
			return err
		}
		e.expected[stored.name] = held
	}
	return errors.Join(syncPath(e.spareDir()), syncPath(e.dir))
}

// link is os.Link; tests take it away.
var link = disk.Link

// copySpare copies a block where the file system has no second names for it.
func (e *embedded) copySpare(from, to string) error {
	info, err := disk.Stat(from)
	if err != nil {
		return err
	}
	if free, ok := freeBytes(e.dir); ok && free < uint64(info.Size())+2*reserve { //nolint:gosec // not negative
		return fmt.Errorf("there is too little room: %d MiB are left, and the copies of all blocks must fit until "+
			"the server has started", free>>20)
	}
	return errors.Join(copyFile(from, to), syncPath(to))
}

// copyNewest copies a block that has a second name already, if there is room. It is not synced: it is used only where
// it holds more than the block, which a power cut does not change.
func (e *embedded) copyNewest(from, to string) error {
	info, err := disk.Stat(from)
	if err != nil {
		return err
	}
	if free, ok := freeBytes(e.dir); ok && free < uint64(info.Size())+2*reserve { //nolint:gosec // not negative
		return nil
	}
	if err := copyFile(from, to); IsFull(err) {
		return ignoreMissing(disk.Remove(to))
	} else if err != nil {
		return fmt.Errorf("copy %s: %w", from, err)
	}
	return nil
}

// dropSpare takes the second names away.
func (e *embedded) dropSpare() error {
	return errors.Join(disk.RemoveAll(e.spareDir()), syncPath(e.dir))
}
