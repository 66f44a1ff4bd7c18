package bus

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"maestro/events"
	"maestro/internal/files"
)

// nats-server deletes the directory of a stream whose files it cannot open at its start, whatever the reason: a
// directory that it may not write to, a disk that fails one call. So every block has a second name, beside the
// server's directory, until the server has the stream open.

// spareName is the directory in the store that holds the second names, while a server starts.
const spareName = ".spare"

func (e *embedded) spareDir() string { return filepath.Join(e.dir, spareName) }

// spare gives every block a second name, durably. A block that cannot have one is copied, if there is room.
func (e *embedded) spare() error {
	if err := os.Mkdir(e.spareDir(), 0o700); err != nil {
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
		dir := filepath.Join(e.spareDir(), stored.name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			return err
		}
		for _, index := range blocks {
			from, to := filepath.Join(messages, blockName(index)), filepath.Join(dir, blockName(index))
			if linkErr := link(from, to); linkErr != nil {
				if err := e.copySpare(from, to); err != nil {
					return fmt.Errorf("%s has no second name (%w) and no copy: %w", from, linkErr, err)
				}
			}
		}
		if err := syncPath(dir); err != nil {
			return err
		}
	}
	return errors.Join(syncPath(e.spareDir()), syncPath(e.dir))
}

// link is os.Link; tests take it away.
var link = os.Link

// copySpare copies a block where the file system has no second names for it.
func (e *embedded) copySpare(from, to string) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	if free, ok := freeBytes(e.dir); ok && free < uint64(info.Size())+2*reserve { //nolint:gosec // not negative
		return fmt.Errorf("there is too little room: %d MiB are left, and the copies of all blocks must fit until "+
			"the server has started", free>>20)
	}
	return errors.Join(copyFile(from, to), syncPath(to))
}

// lostBlocks lists the spared blocks of a stream that are no longer in their place.
func (e *embedded) lostBlocks(stream string) (names []string, err error) {
	spared, err := os.ReadDir(filepath.Join(e.spareDir(), stream))
	if err != nil {
		return nil, ignoreMissing(err)
	}
	for _, entry := range spared {
		_, err := os.Lstat(filepath.Join(e.messagesDir(stream), entry.Name()))
		if err != nil && !files.Gone(err) {
			return nil, err
		}
		if err != nil {
			names = append(names, entry.Name())
		}
	}
	return names, nil
}

// putBack gives the blocks that a start deleted their names again, and takes the second names away. No server runs.
// It answers the streams of which something was put back.
func (e *embedded) putBack() (streams []string, err error) {
	if _, err := os.Lstat(e.spareDir()); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, stored := range storedStreams {
		names, err := e.lostBlocks(stored.name)
		if err != nil {
			return streams, err
		}
		if len(names) == 0 {
			continue
		}
		messages := e.messagesDir(stored.name)
		for _, dir := range []string{messages, filepath.Join(e.streamDir(stored.name), consumersName)} {
			if err := mkdirDurably(dir); err != nil {
				return streams, err
			}
		}
		for _, name := range names {
			from := filepath.Join(e.spareDir(), stored.name, name)
			if err := os.Rename(from, filepath.Join(messages, name)); err != nil {
				return streams, err
			}
		}
		// An index that was written meanwhile may know nothing of them.
		err = ignoreMissing(os.Remove(filepath.Join(messages, indexName)))
		if err := errors.Join(err, syncPath(messages)); err != nil {
			return streams, err
		}
		streams = append(streams, stored.name)
	}
	return streams, e.dropSpare()
}

// dropSpare takes the second names away.
func (e *embedded) dropSpare() error {
	return errors.Join(os.RemoveAll(e.spareDir()), syncPath(e.dir))
}

// putBackOfKilled puts back what a start deleted that was killed then.
func (e *embedded) putBackOfKilled() error {
	streams, err := e.putBack()
	if len(streams) > 0 {
		e.logger.Warn("a start that was killed had deleted blocks; they are put back", "streams", streams)
	}
	if err != nil {
		return fmt.Errorf("put back the blocks that %s holds: %w", e.spareDir(), full(err))
	}
	return nil
}

// tookUp fails when the server does not have a stream whose blocks were there before its start, or messages of the log
// are gone with a block.
func (e *embedded) tookUp(recovered []string) error {
	for _, stored := range storedStreams {
		if _, err := os.Lstat(filepath.Join(e.spareDir(), stored.name)); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if !slices.Contains(recovered, stored.name) {
			return fmt.Errorf("nats-server does not open the stream in %s", e.streamDir(stored.name))
		}
	}
	gone, err := e.lostBlocks(StreamName)
	if err != nil {
		return err
	}
	for _, name := range gone { // it may delete one that holds no message
		index, _ := blockIndex(name)
		path := filepath.Join(e.spareDir(), StreamName, name)
		block, _, err := scanBlock(e.dir, path, StreamName, events.SubjectPrefix, index, nil, nil)
		if err != nil || len(block.places) > 0 || len(block.faults) > 0 {
			return errors.Join(fmt.Errorf("nats-server deleted %s of the log at its start", name), err)
		}
	}
	return nil
}
