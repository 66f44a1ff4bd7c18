package bus

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/nats-io/nats-server/v2/server"

	"maestro/internal/disk"
)

// checkRecovered fails when the server did not recover what the check before its start found: a stream, a block, the
// end of one, or the last message.
func (e *embedded) checkRecovered(states map[string]server.StreamState) error {
	for _, stored := range storedStreams {
		held, found := e.expected[stored.name]
		if !found {
			continue
		}
		state, open := states[stored.name]
		if !open {
			return fmt.Errorf("nats-server does not open the stream in %s", e.streamDir(stored.name))
		}
		if err := e.keptBlocks(stored, held, state); err != nil {
			return err
		}
		if state.LastSeq < held.last {
			return fmt.Errorf("nats-server takes %s up to message %d, and %d is there", stored.name, state.LastSeq,
				held.last)
		}
		if stored.name == StreamName && state.Msgs < held.last {
			return fmt.Errorf("nats-server takes up %d messages of %s, and %d are there", state.Msgs, stored.name,
				held.last)
		}
	}
	return nil
}

// keptBlocks fails when a block with messages that the stream now lacks is gone, or shorter than before.
func (e *embedded) keptBlocks(stored storedStream, held heldStream, state server.StreamState) error {
	for index, size := range held.sizes {
		place := filepath.Join(e.messagesDir(stored.name), blockName(index))
		spared := filepath.Join(sparePath(e.dir, stored.name), blockName(index))
		same, there, err := sameFile(spared, place)
		if err != nil {
			return err
		}
		now := int64(0)
		if there {
			info, err := disk.Lstat(place)
			if err != nil {
				return err
			}
			now = info.Size()
		}
		if (same || there && held.copied[index]) && now >= size {
			continue
		}
		if same {
			return fmt.Errorf("nats-server cut %s of %s from %d to %d bytes at its start", blockName(index),
				stored.name, size, now)
		}
		own, err := e.sparedRecords(stored, index, size)
		if err != nil {
			return err
		}
		absent, err := e.absent(stored, own)
		if err != nil {
			return err
		}
		// The oldest refusals are removed when there are too many.
		msgs, bytes := state.Msgs+uint64(absent), state.Bytes+uint64(size) //nolint:gosec // not negative
		bounded := stored.name == DeniedStream && (msgs >= maxDenials || bytes >= maxDenialBytes)
		if absent > 0 && !bounded {
			return fmt.Errorf("nats-server deleted %s of %s at its start, which has %d messages that are nowhere else",
				blockName(index), stored.name, absent)
		}
	}
	return nil
}

// sparedRecords returns what a block held before the start, according to its hard link. What the server cut off the
// block is gone there too, even if it deleted the block afterwards: then the copy has it. It fails when neither has it.
func (e *embedded) sparedRecords(stored storedStream, index int, size int64) (spareRecords, error) {
	spared := filepath.Join(sparePath(e.dir, stored.name), blockName(index))
	own, err := e.readSpare(stored, index, spared)
	if err != nil {
		return own, err
	}
	info, err := disk.Lstat(spared)
	if err != nil || info.Size() >= size {
		return own, err
	}
	copied := spared + copySuffix
	if _, err := disk.Lstat(copied); errors.Is(err, fs.ErrNotExist) {
		return own, fmt.Errorf("nats-server cut %s of %s from %d to %d bytes at its start, and deleted it",
			blockName(index), stored.name, size, info.Size())
	} else if err != nil {
		return own, err
	}
	return e.readSpare(stored, index, copied)
}
