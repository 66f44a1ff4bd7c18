package bus

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"maestro/internal/disk"
)

// nats-server deletes the directory of a stream whose files it cannot open at its start, whatever the reason, and a
// block when a system call on it fails. So every block gets a spare: a hard link outside the server's directory, until
// the server has recovered everything that the check before the start found. A hard link shares the block's content:
// what the server cuts off is gone under both names. So the newest block of a stream, which the server writes to, gets
// a copy too.

const (
	// spareName is the directory in the store that holds the spares while a server starts.
	spareName = ".spare"
	// copySuffix ends the name of a copy.
	copySuffix = ".copy"
)

func (e *embedded) spareDir() string { return filepath.Join(e.dir, spareName) }

// sparePath is the directory of the spares of a stream's blocks, below a store's directory.
func sparePath(dir, stream string) string { return filepath.Join(dir, spareName, stream) }

// spareIndex parses the name of a hard link or of a copy.
func spareIndex(name string) (index int, isSpare bool) {
	index, isSpare = blockIndex(strings.TrimSuffix(name, copySuffix))
	return index, isSpare && index >= 0 && strings.TrimSuffix(name, copySuffix) == blockName(index)
}

// heldStream is what the check before a start found of a stream and the server must recover.
type heldStream struct {
	// last is the highest readable sequence, 0 if unknown.
	last uint64
	// ends are the offsets at which the server may cut a block, by block number: nothing after them can be read.
	ends map[int]int64
	// sizes are the minimum lengths of the blocks, by number.
	sizes map[int]int64
	// copied says that a block has a copy instead of a hard link.
	copied map[int]bool
}

// spare durably links every block, and copies the newest ones too. A block that cannot be linked is copied, if there is
// room.
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

// link is os.Link; tests replace it.
var link = disk.Link

// copySpare copies a block where the file system has no hard links for it.
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

// copyNewest copies a block that is linked already, if there is room. It does not sync the copy: the copy is used only
// where it holds more than the block, and a power cut does not change that.
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

// dropSpare removes the spares.
func (e *embedded) dropSpare() error {
	return errors.Join(disk.RemoveAll(e.spareDir()), syncPath(e.dir))
}
