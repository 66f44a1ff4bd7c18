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

// blockWatch checks that the files of a running store are still those that the server writes to, and that the newest
// blocks hold what was acknowledged. The server itself notices neither: it keeps writing to a block that was deleted or
// moved, and leaves a hole in one that was cut.
type blockWatch struct {
	store string
	dir   string // of the log's blocks

	mu    sync.Mutex
	held  []*heldStore // the directories; empty while nothing is watched
	known []int        // the log's blocks, the newest last
	block *os.File     // the newest; nil while there is none

	// The last record of the newest block that was verified, and the log's sequence before and after it.
	at, end      int64
	before, last uint64

	// finished holds the size and time of each of the log's blocks but the newest, from when it was checked or
	// finished.
	finished map[int]blockNote

	sides []*sideWatch

	// acked is, for each stream beside the log, the last sequence that nats-server acknowledged since the watch began.
	acked map[string]*atomic.Uint64

	// newest holds the newest block of each stream, an *os.File by stream name. Writers read it without waiting for mu.
	newest sync.Map
}

// answers fails with *UnreadError while the newest block of a stream cannot be opened. nats-server ignores its own
// error: it would take the block for new and overwrite its content.
func (w *blockWatch) answers(stream string) error {
	held, found := w.newest.Load(stream)
	if !found {
		return nil
	}
	block := held.(*os.File) //nolint:errcheck,forcetypeassert // nothing else is stored
	_, err := disk.FileStat(block)
	if err == nil || errors.Is(err, os.ErrClosed) { // another block is the newest now
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
			return nil //nolint:nilerr // the end: the start has checked the rest
		}
		w.note(record)
	}
}

func (w *blockWatch) path() string { return filepath.Join(w.dir, blockName(w.known[len(w.known)-1])) }

func (w *blockWatch) parser() *recordParser {
	return newRecordParser(StreamName, events.SubjectPrefix, w.known[len(w.known)-1])
}

// note advances over the next record.
func (w *blockWatch) note(r blockRecord) {
	w.at, w.end = w.end, w.end+int64(r.length)
	if w.before = w.last; r.kind == messageRecord {
		w.before, w.last = r.sequence-1, r.sequence
	}
}

// release ends the watch.
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

// places fails with *events.StoppedError when a directory, or a block of the log, is no longer the one that the server
// uses.
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

// plainBlocks returns the numbers of a stream's blocks in order. It fails with *events.StoppedError when one is not a
// plain file: nats-server would block at a pipe forever, and write to a link's target. It fails as lookFailed does when
// the directory cannot be read.
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

// linkAbove returns the symbolic link that leads a directory of the store elsewhere, or "" if there is none.
func (w *blockWatch) linkAbove(path string) string {
	for ; path == w.store || strings.HasPrefix(path, w.store+string(filepath.Separator)); path = filepath.Dir(path) {
		if isLink(path) {
			return path
		}
	}
	return ""
}

// leadsElsewhere reports whether a path leads to nothing, or to another file than before. It reports false if it cannot
// tell.
func leadsElsewhere(path string, held fs.FileInfo) bool {
	info, err := disk.Stat(path)
	if err != nil {
		return files.Gone(err)
	}
	return !os.SameFile(info, held)
}

// leadsToFile reports whether a path leads to a plain file. It reports true if it cannot tell.
func leadsToFile(path string) bool {
	info, err := disk.Stat(path)
	if err != nil {
		return !files.Gone(err)
	}
	return info.Mode().IsRegular()
}

// lookFailed classifies the error of opening a path: *events.StoppedError if nothing, or no plain file, is there, and
// otherwise *UnreadError.
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

// check fails as places does, with *events.DamageError when the files do not hold the events up to acked, and with
// *UnreadError when it cannot tell. It reads again the last record that it knows, and everything after it.
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

// finish records the state of a block that gets no more writes.
func (w *blockWatch) finish(index int) {
	info, err := disk.Stat(filepath.Join(w.dir, blockName(index)))
	if err != nil {
		return // places reports it
	}
	if w.finished == nil {
		w.finished = map[int]blockNote{}
	}
	w.finished[index] = blockNote{Index: index, Size: info.Size(), Time: info.ModTime()}
}

// changed returns the log's finished blocks whose size or time changed: somebody else wrote to them.
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

// read reads the newest block's records up to a sequence. It reports whether the block has them all.
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

// next continues with the block after the newest known one.
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
		return w.gone()
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

// gone is the damage when the newest known block ends before an acknowledged message, and no block follows it.
func (w *blockWatch) gone() error {
	if len(w.known) == 0 {
		return w.cut("no block holds it")
	}
	return &events.DamageError{
		Sequence: w.last + 1,
		Why: "no block holds it: the end of the block " + w.path() +
			" was cut off, or the block after it was deleted, while this server was using them",
	}
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
