package bus

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	"maestro/events"
	"maestro/internal/disk"
)

// sideWatch watches the newest block of a stream beside the log, as blockWatch does for the log. Messages are deleted
// from such a stream, so its older blocks may be rewritten or removed. The newest block only grows.
type sideWatch struct {
	stream, prefix, dir string

	index   int      // of the newest block
	block   *os.File // nil while there is none
	at, end int64    // the last record that was read
	last    uint64   // the last sequence that was read
	window  blockWindow
	newest  *sync.Map // shared with the blockWatch
	// acked is the last sequence that nats-server acknowledged since the watch began.
	acked *atomic.Uint64
}

// hold starts the watch. The first check reads the newest block.
func (w *sideWatch) hold() error {
	blocks, err := blockFiles(w.dir)
	if err != nil || len(blocks) == 0 {
		return err
	}
	return w.follow(blocks[len(blocks)-1])
}

func (w *sideWatch) path() string { return filepath.Join(w.dir, blockName(w.index)) }

func (w *sideWatch) follow(index int) error {
	block, err := openFile(filepath.Join(w.dir, blockName(index)))
	if err != nil {
		return err
	}
	w.release()
	w.index, w.block = index, block
	w.newest.Store(w.stream, block)
	return nil
}

func (w *sideWatch) release() {
	w.newest.Delete(w.stream)
	if w.block != nil {
		_ = w.block.Close()
	}
	w.block, w.at, w.end = nil, 0, 0
}

// check fails with *events.StoppedError when the newest block is gone, and with *storeDamage when it was cut or lacks
// an acknowledged message that no earlier block holds. It fails with *UnreadError when it cannot tell. It reads again
// the last record that it knows, and everything after it.
func (w *sideWatch) check() error {
	err := w.look()
	for try := 1; errors.Is(err, errCompacted) && try < readTries; try++ {
		err = w.look()
	}
	return err
}

// errCompacted: a block was removed between listing the directory and opening it.
var errCompacted = errors.New("the block is gone")

func (w *sideWatch) look() error {
	acked := w.acked.Load() // what is acknowledged later need not be found
	blocks, err := plainBlocks(w.dir)
	if err != nil {
		return err
	}
	newest := 0
	if len(blocks) > 0 {
		newest = blocks[len(blocks)-1]
	}
	switch {
	case newest > w.index || w.block == nil && newest > 0:
		for _, index := range blocks {
			if index <= w.index && w.block != nil {
				continue
			}
			if w.block != nil { // its end may not have been read
				if err := w.read(); err != nil {
					return err
				}
			}
			if err := w.follow(index); err != nil {
				path := filepath.Join(w.dir, blockName(index))
				if _, missing := disk.Lstat(path); errors.Is(missing, fs.ErrNotExist) {
					return unread(path, errCompacted)
				}
				return lookFailed(err, path)
			}
		}
	case w.block == nil:
		return nil
	case newest < w.index:
		return lostPlace(w.path())
	}
	held, err := w.block.Stat()
	if err != nil {
		return unread(w.path(), err)
	}
	if leadsElsewhere(w.path(), held) {
		return lostPlace(w.path())
	}
	if held.Size() < w.end {
		return w.damage(held.Size(), "it was cut while this server was using it")
	}
	if err = w.read(); err == nil && w.last < acked {
		err = w.damage(w.end, fmt.Sprintf("message %d was acknowledged, but is not in the block", acked))
	}
	return err
}

// read reads the newest block from the last known record on.
func (w *sideWatch) read() error {
	w.window.file, w.window.buffer = w.block, w.window.buffer[:0]
	parser := newRecordParser(w.stream, w.prefix, w.index)
	for at := w.at; ; {
		content, err := w.window.from(at)
		if err != nil {
			return unread(w.path(), err)
		}
		if len(content) == 0 {
			return nil
		}
		record, err := parser.parse(content)
		if errors.Is(err, errRecordCut) && at >= w.end {
			return nil // it is still being written
		}
		if err != nil {
			return w.damage(at, err.Error())
		}
		w.at, w.end, w.last = at, at+int64(record.length), max(w.last, record.sequence)
		at = w.end
	}
}

func (w *sideWatch) damage(at int64, why string) error {
	file := filepath.Join(streamPath("", w.stream), "msgs", blockName(w.index))
	return &storeDamage{Fault{
		Stream: w.stream,
		File:   file,
		Offset: at,
		Why:    why,
	}}
}

// acknowledged notes what nats-server acknowledged of a stream beside the log. The next check looks for it.
func (w *blockWatch) acknowledged(stream string, sequence uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if acked := w.acked[stream]; acked != nil && sequence > acked.Load() {
		acked.Store(sequence)
	}
}

// rewriting runs what makes nats-server replace blocks of a stream beside the log. Nobody checks the blocks meanwhile,
// and the next check reads the newest one again.
func (w *blockWatch) rewriting(stream string, rewrite func() error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	err := rewrite()
	for _, side := range w.sides {
		if side.stream == stream {
			side.release()
			err = errors.Join(err, side.hold())
		}
	}
	return err
}

// checkSides checks streams beside the log, and returns their errors by stream: a read error each time, any other error
// once.
func (w *blockWatch) checkSides(streams ...string) map[string]error {
	w.mu.Lock()
	defer w.mu.Unlock()
	found := map[string]error{}
	w.sides = slices.DeleteFunc(w.sides, func(side *sideWatch) bool {
		if !slices.Contains(streams, side.stream) {
			return false
		}
		err := side.check()
		if err == nil {
			return false
		}
		found[side.stream] = err
		over := !errors.Is(err, events.ErrUnreadable)
		if over {
			side.release()
		}
		return over
	})
	return found
}
