package bus

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"maestro/events"
	"maestro/internal/disk"
	"maestro/internal/files"
)

// blockWatch sees that the files of a running store are still those that the server writes to, and that the newest
// blocks hold what was acknowledged into them. The server itself notices neither: it writes on into a block that
// was deleted or moved, and leaves a hole in one that was cut.
type blockWatch struct {
	store string
	dir   string // of the log's blocks

	mu    sync.Mutex
	held  []*heldStore // the directories; none while nothing is watched
	known []int        // the log's blocks, the newest last
	block *os.File     // the newest; nil while there is none

	// The last record of the newest block that was seen to be whole, and the log's sequence before and after it.
	at, end      int64
	before, last uint64

	// finished says how the log's blocks but the newest looked when they were checked or finished.
	finished map[int]blockNote

	sides []*sideWatch

	// acked is the last sequence of each stream beside the log that nats-server acknowledged since the watching began.
	acked map[string]*atomic.Uint64

	// newest holds the newest block of each stream, an *os.File by the stream's name. Writers look at it without
	// waiting for mu.
	newest sync.Map
}

// answers fails with *UnreadError while the newest block of a stream cannot be looked at. nats-server ignores the error
// of its own look: it takes the block for new then, and writes over what it holds.
func (w *blockWatch) answers(stream string) error {
	held, found := w.newest.Load(stream)
	if !found {
		return nil
	}
	block := held.(*os.File) //nolint:errcheck,forcetypeassert // nothing else is stored
	_, err := disk.FileStat(block)
	if err == nil || errors.Is(err, os.ErrClosed) { // another is the newest now
		return nil
	}
	return unread(block.Name(), err)
}

// hold begins to watch a store whose log ends at head.
func (w *blockWatch) hold(e *embedded, head uint64) error {
	w.release()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.store, w.dir = e.dir, e.messagesDir(StreamName)
	paths := []string{e.storeDir()}
	for _, s := range storedStreams {
		paths = append(paths, e.messagesDir(s.name), filepath.Join(e.streamDir(s.name), consumersName))
	}
	for _, path := range paths {
		held, err := holdStore(path)
		if err != nil {
			return err
		}
		w.held = append(w.held, held)
	}
	w.acked = map[string]*atomic.Uint64{}
	for _, s := range storedStreams[1:] {
		side := &sideWatch{
			stream: s.name,
			prefix: s.prefix,
			dir:    e.messagesDir(s.name),
			newest: &w.newest,
			acked:  &atomic.Uint64{},
		}
		w.acked[s.name] = side.acked
		w.sides = append(w.sides, side)
		if err := side.hold(); err != nil {
			return err
		}
	}
	known, err := blockFiles(w.dir)
	if err != nil {
		return err
	}
	w.known, w.before, w.last = known, head, head
	if len(known) == 0 {
		return nil
	}
	w.finished = map[int]blockNote{}
	for _, index := range known[:len(known)-1] {
		w.finish(index)
	}
	if w.block, err = openFile(w.path()); err != nil {
		return err
	}
	w.newest.Store(StreamName, w.block)
	parser, window := w.parser(), blockWindow{file: w.block}
	for {
		content, err := window.from(w.end)
		if err != nil {
			return err
		}
		record, err := parser.parse(content)
		if err != nil {
			return nil //nolint:nilerr // the end: what the start left was checked
		}
		w.note(record)
	}
}

func (w *blockWatch) path() string { return filepath.Join(w.dir, blockName(w.known[len(w.known)-1])) }

func (w *blockWatch) parser() *recordParser {
	return newRecordParser(StreamName, events.SubjectPrefix, w.known[len(w.known)-1])
}

// note takes in the record behind the last.
func (w *blockWatch) note(r blockRecord) {
	w.at, w.end = w.end, w.end+int64(r.length)
	if w.before = w.last; r.kind == messageRecord {
		w.before, w.last = r.sequence-1, r.sequence
	}
}

// release ends the watching.
func (w *blockWatch) release() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, held := range w.held {
		_ = held.close()
	}
	w.closeBlock()
	for _, side := range w.sides {
		side.release()
	}
	w.held, w.known, w.sides, w.finished = nil, nil, nil, nil
}

func (w *blockWatch) closeBlock() {
	w.newest.Delete(StreamName)
	if w.block != nil {
		_ = w.block.Close()
	}
	w.block, w.at, w.end = nil, 0, 0
}

// places fails with *events.StoppedError when a directory, or a block of the log, is not the one that the server uses.
func (w *blockWatch) places() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.placesLocked()
}

func (w *blockWatch) placesLocked() error {
	if len(w.held) == 0 {
		return nil
	}
	for _, held := range w.held {
		if leadsElsewhere(held.path, held.info) {
			return lostPlace(held.path)
		}
		if link := w.linkAbove(held.path); link != "" {
			return lostPlace(link)
		}
	}
	for _, stored := range storedStreams {
		for _, path := range otherRemade(w.store, stored.name) {
			return lostPlace(path)
		}
	}
	there, err := plainBlocks(w.dir)
	if err != nil {
		return err
	}
	for _, index := range w.known {
		if _, found := slices.BinarySearch(there, index); !found {
			return lostPlace(filepath.Join(w.dir, blockName(index)))
		}
	}
	for _, side := range w.sides {
		if _, err := plainBlocks(side.dir); err != nil {
			return err
		}
	}
	if w.block == nil {
		return nil
	}
	if held, err := w.block.Stat(); err == nil && leadsElsewhere(w.path(), held) {
		return lostPlace(w.path())
	}
	return nil
}

// plainBlocks returns the numbers of a stream's blocks in order. It fails with *events.StoppedError when one is no
// plain file: nats-server would wait for ever at a pipe, and write into what a link leads to. It fails as lookFailed
// says when the directory cannot be read.
func plainBlocks(dir string) (blocks []int, err error) {
	entries, err := disk.ReadDir(dir)
	if err != nil {
		return nil, lookFailed(err, dir)
	}
	for _, entry := range entries {
		index, isBlock := blockIndex(entry.Name())
		if isBlock && !entry.Type().IsRegular() {
			return nil, lostPlace(filepath.Join(dir, entry.Name()))
		}
		if isBlock {
			blocks = append(blocks, index)
		}
	}
	slices.Sort(blocks)
	return blocks, nil
}

// linkAbove returns the symbolic link by way of which a directory of the store is elsewhere, "" if it is in its place.
func (w *blockWatch) linkAbove(path string) string {
	for ; path == w.store || strings.HasPrefix(path, w.store+string(filepath.Separator)); path = filepath.Dir(path) {
		if isLink(path) {
			return path
		}
	}
	return ""
}

// leadsElsewhere reports whether a path leads to nothing, or to something else than it did. What cannot be told is no.
func leadsElsewhere(path string, held fs.FileInfo) bool {
	info, err := disk.Stat(path)
	if err != nil {
		return files.Gone(err)
	}
	return !os.SameFile(info, held)
}

// leadsToFile reports whether a path leads to a plain file. What cannot be told is yes.
func leadsToFile(path string) bool {
	info, err := disk.Stat(path)
	if err != nil {
		return !files.Gone(err)
	}
	return info.Mode().IsRegular()
}

// lookFailed returns what the error of a look at a path says: *events.StoppedError if nothing, or no plain file, is
// there, and otherwise *UnreadError.
func lookFailed(err error, path string) error {
	if files.Gone(err) || errors.Is(err, errNoFile) {
		return lostPlace(path)
	}
	return unread(path, err)
}

func lostPlace(path string) error {
	return &events.StoppedError{
		Why: path + " was moved, deleted or replaced while this server was using it",
		Next: "stop this server, put it back where it was, and start the server again; if it is lost, " +
			"run `maestro salvage`",
	}
}

// check fails when places does, with *events.DamageError when the files do not hold the events up to acked, and with
// *UnreadError when that cannot be told. It reads the last record that it knows again, and what came since.
func (w *blockWatch) check(acked uint64) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.placesLocked(); err != nil || len(w.held) == 0 {
		return err
	}
	if w.block != nil {
		w.end, w.last = w.at, w.before
		whole, err := w.read(max(acked, w.last))
		if err != nil || whole {
			return err
		}
	}
	for w.last < acked {
		if err := w.next(); err != nil {
			return err
		}
		if whole, err := w.read(acked); err != nil || whole {
			return err
		}
	}
	return nil
}

// finish records a block that nothing is written to any more.
func (w *blockWatch) finish(index int) {
	info, err := disk.Stat(filepath.Join(w.dir, blockName(index)))
	if err != nil {
		return // places tells
	}
	if w.finished == nil {
		w.finished = map[int]blockNote{}
	}
	w.finished[index] = blockNote{Index: index, Size: info.Size(), Time: info.ModTime()}
}

// changed returns the finished blocks of the log whose size or time is not what it was: somebody else wrote to them.
func (w *blockWatch) changed() (paths []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for index, was := range w.finished {
		path := filepath.Join(w.dir, blockName(index))
		info, err := disk.Stat(path)
		if err != nil || info.Size() != was.Size || !info.ModTime().Equal(was.Time) {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return paths
}

// read takes in the newest block's records to a sequence. It reports whether the block has them all.
func (w *blockWatch) read(to uint64) (whole bool, err error) {
	parser, window := w.parser(), blockWindow{file: w.block}
	for w.last < to {
		content, err := window.from(w.end)
		if err != nil {
			return false, unread(w.path(), err)
		}
		if len(content) == 0 {
			return false, nil
		}
		record, err := parser.parse(content)
		if err == nil && record.kind == messageRecord && record.sequence != w.last+1 {
			err = fmt.Errorf("message %d stands there", record.sequence)
		}
		if err != nil {
			return false, w.cut(err.Error())
		}
		w.note(record)
	}
	return true, nil
}

// next continues with the block after the newest that is known.
func (w *blockWatch) next() error {
	there, err := blockFiles(w.dir)
	if err != nil {
		return lookFailed(err, w.dir)
	}
	i := 0
	if len(w.known) > 0 {
		i, _ = slices.BinarySearch(there, w.known[len(w.known)-1]+1)
	}
	if i == len(there) {
		return w.cut("no block holds it")
	}
	path := filepath.Join(w.dir, blockName(there[i]))
	block, err := openFile(path)
	if err != nil {
		return lookFailed(err, path)
	}
	w.closeBlock()
	if len(w.known) > 0 {
		w.finish(w.known[len(w.known)-1])
	}
	w.block, w.known = block, append(w.known, there[i])
	w.newest.Store(StreamName, block)
	return nil
}

func (w *blockWatch) cut(why string) error {
	block := "the log's directory"
	if len(w.known) > 0 {
		block = "the block " + w.path()
	}
	return &events.DamageError{
		Sequence: w.last + 1,
		Why:      block + " was cut or changed while this server was using it: " + why,
	}
}
