package bus

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"maestro/events"
	"maestro/internal/disk"
)

// nats-server writes the log's index every two minutes. After a kill, the blocks that this index calls finished need
// not be read before a start: they were synced or are in the system's cache, and the server does not open them. Only
// the tail is read: the block that the index ends in, and those after it. KeepChecked rereads the others.
//
// That holds only while the system has not been restarted since, because the cache is lost with it; only if no damage
// was found since; and only for blocks that have the size that the index gives, and were not changed after the next one
// was begun. In every other case, and if the tail has any fault, the start reads every block.

// finishedWithin is how long after the first message of the next block a block may be written.
const finishedWithin = 2 * time.Second

// bootName is the file that names the boot of the system in which the store was last opened.
const bootName = "boot"

// sameBoot reports whether the system was not restarted since the store was last opened.
func (e *embedded) sameBoot() bool {
	id := bootID()
	content, err := readFile(filepath.Join(e.dir, bootName), maxMeta)
	return err == nil && id != "" && strings.TrimSpace(string(content)) == id
}

// noteBoot records durably in which boot the store is opened.
func (e *embedded) noteBoot() error {
	id := bootID()
	if id == "" || e.sameBoot() {
		return nil
	}
	return writeAtomically(filepath.Join(e.dir, bootName), []byte(id+"\n"))
}

// distrust makes the next start read every block. A power cut may undo it, and the boot is then another one.
func (e *embedded) distrust() {
	if err := ignoreMissing(disk.Remove(filepath.Join(e.dir, bootName))); err != nil {
		e.logger.Warn("the next start may not read every block", "why", err)
	}
}

// tailFits reports whether a start needs only the tail of the log, which is whole and holds what was acknowledged. It
// then writes the index anew, up to the last message, whose sequence it returns.
func (e *embedded) tailFits(ctx context.Context, witnessed uint64) (last uint64, fit bool, err error) {
	if !e.sameBoot() {
		return 0, false, nil
	}
	layout, err := layoutOf(e.dir, StreamName)
	if err != nil || len(layout.faults) > 0 {
		return 0, false, err
	}
	if spares, err := sparesOf(e.dir, StreamName); err != nil || len(spares) > 0 {
		return 0, false, err
	}
	content, err := readFile(filepath.Join(e.messagesDir(StreamName), indexName), maxNotes)
	if err != nil {
		return 0, false, ignoreMissing(err)
	}
	x, newest, err := parseIndex(content)
	if err != nil {
		return 0, false, err
	}
	tail, err := e.afterFinished(x, newest, layout.blocks)
	if err != nil || len(tail) == 0 {
		return 0, false, err
	}
	if last, err = e.readTail(ctx, x, tail); err != nil || last < witnessed {
		return 0, false, err
	}
	return last, true, x.write(e.messagesDir(StreamName))
}

// errOtherBlocks: the blocks are not those that the index describes.
var errOtherBlocks = errors.New("the blocks are not those of the index")

// afterFinished returns the blocks from the newest of the index on, if all before it are as the index says.
func (e *embedded) afterFinished(x *logIndex, newest int, blocks []int) (tail []int, err error) {
	finished := 0
	for i, index := range blocks {
		if index >= newest {
			tail = blocks[i:]
			break
		}
		noted, next := x.blocks[index], x.blocks[blocks[min(i+1, len(blocks)-1)]]
		info, err := disk.Stat(filepath.Join(e.messagesDir(StreamName), blockName(index)))
		switch {
		case err != nil:
			return nil, err
		case noted == nil || next == nil || uint64(info.Size()) != noted.bytes, //nolint:gosec // not negative
			info.ModTime().After(time.Unix(0, next.firstTime).Add(finishedWithin)):
			return nil, errOtherBlocks
		}
		finished++
	}
	if len(tail) == 0 || tail[0] != newest || finished != len(x.blocks)-1 {
		return nil, errOtherBlocks
	}
	return tail, nil
}

// readTail scans blocks from the newest of an index on, which must be whole and go on where the index ends, and adds
// them to it. It returns the last sequence.
func (e *embedded) readTail(ctx context.Context, x *logIndex, tail []int) (last uint64, err error) {
	noted := x.blocks[tail[0]]
	next := noted.first
	var buffer []byte
	for _, index := range tail {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		x.blocks[index] = &indexedBlock{subjects: map[string]uint64{}}
		path := filepath.Join(e.messagesDir(StreamName), blockName(index))
		var block scannedBlock
		block, buffer, err = scanBlock(e.dir, path, StreamName, events.SubjectPrefix, index, buffer, x.add)
		if err != nil {
			return 0, err
		}
		b := x.blocks[index]
		if !block.isWhole(b, next) {
			return 0, fmt.Errorf("%w: %s", errOtherBlocks, blockName(index))
		}
		next = b.last + 1
	}
	if x.covered != noted.lastTime || x.subjects.Load() > indexedMost {
		return 0, errOtherBlocks
	}
	return next - 1, nil
}

// bootID identifies the boot of the system; "" if it does not say.
func bootID() string {
	content, err := readFile("/proc/sys/kernel/random/boot_id", maxMeta)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(content))
}
