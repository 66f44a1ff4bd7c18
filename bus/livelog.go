package bus

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sort"
	"sync"

	"maestro/events"
	"maestro/internal/disk"
	"maestro/internal/files"
)

// liveLog reads the log of a running embedded server from its block files. The server writes each append to them before
// it acknowledges it, and liveLog verifies every byte it reads. So it sees damage on the disk, which the server's cache
// would hide, and the server never loads a damaged block, which it would cut.
type liveLog struct {
	dir string

	mu     sync.Mutex
	blocks []*liveBlock
}

// liveBlock knows the offsets of a block's messages, as far as the block has been read.
type liveBlock struct {
	index int
	first uint64 // the first message's sequence; 0 while the block is empty

	mu      sync.Mutex
	offsets []int64
	end     int64 // of the last known record
}

// errNotYet: the files do not hold the message yet.
var errNotYet = errors.New("the message is not in the files")

// forget discards the known offsets: the files may have been cut.
func (l *liveLog) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.blocks = nil
}

// find returns the block that holds a sequence, if any, and whether another block follows it.
func (l *liveLog) find(sequence uint64) (block *liveBlock, sealed bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := func() int {
		return sort.Search(len(l.blocks), func(i int) bool { return l.blocks[i].first > sequence }) - 1
	}
	// A sequence in the last known block may be in a newer one.
	if i := at(); i >= 0 && i < len(l.blocks)-1 {
		return l.blocks[i], true, nil
	}
	if err := l.list(); err != nil {
		return nil, false, err
	}
	i := at()
	if i < 0 {
		return nil, false, errNotYet
	}
	return l.blocks[i], i < len(l.blocks)-1, nil
}

// list adds the blocks that were created since.
func (l *liveLog) list() error {
	indices, err := blockFiles(l.dir)
	if files.Gone(err) {
		return nil // reading a known block reports that it is gone
	}
	if err != nil {
		return err
	}
	known := 0
	if n := len(l.blocks); n > 0 {
		known = l.blocks[n-1].index
	}
	for _, index := range indices {
		if index <= known {
			continue
		}
		first, err := firstSequence(filepath.Join(l.dir, blockName(index)), index)
		if err != nil {
			return err
		}
		if first > 0 {
			l.blocks = append(l.blocks, &liveBlock{index: index, first: first})
		}
	}
	return nil
}

// firstSequence returns the sequence of a block's first message, or 0 if the block is empty or begins with damage.
func firstSequence(path string, index int) (uint64, error) {
	f, err := openFile(path)
	if err != nil {
		return 0, ignoreMissing(err)
	}
	defer func() { _ = f.Close() }()
	parser := newRecordParser(StreamName, events.SubjectPrefix, index)
	buffer := make([]byte, 4096)
	for at := int64(0); ; {
		n, err := disk.ReadAt(f, buffer, at)
		length := claimed(buffer[:n])
		if length > len(buffer) {
			buffer = make([]byte, length)
			continue
		}
		if length > n || length == 0 {
			if err != nil && !errors.Is(err, io.EOF) {
				return 0, err
			}
			return 0, nil
		}
		record, err := parser.parse(buffer[:n])
		if err != nil {
			return 0, nil
		}
		if record.kind == messageRecord {
			return record.sequence, nil
		}
		at += int64(record.length)
	}
}

// read yields messages from a sequence on. It returns the next sequence that it did not yield, with errNotYet where the
// files end, and with *events.DamageError where an acknowledged message (up to acked) cannot be read.
func (l *liveLog) read(ctx context.Context, from, to, acked uint64, yield func(events.Message) error) (next uint64,
	err error,
) {
	next = from
	for next <= to {
		if err := ctx.Err(); err != nil {
			return next, err
		}
		block, sealed, err := l.find(next)
		if err == nil {
			next, err = block.read(ctx, l.dir, next, to, yield)
		}
		if !errors.Is(err, errNotYet) {
			if err != nil {
				return next, err
			}
			continue
		}
		// The block may have got a successor while it was read.
		if again, _, findErr := l.find(next); findErr == nil && again != block && again.first <= next &&
			again.first > block.first {
			continue
		}
		if next <= acked || sealed {
			return next, &events.DamageError{Sequence: next, Why: l.why(block, err)}
		}
		return next, errNotYet
	}
	return next, nil
}

func (l *liveLog) why(block *liveBlock, err error) string {
	if block == nil {
		return "no block holds it"
	}
	return fmt.Sprintf("in the block %s: %s", blockName(block.index), err)
}

// read yields messages of one block. It returns the sequence after the last one it yielded, and errNotYet with the
// reason where no record can be read.
func (b *liveBlock) read(ctx context.Context, dir string, from, to uint64,
	yield func(events.Message) error,
) (next uint64, err error) {
	f, err := openFile(filepath.Join(dir, blockName(b.index)))
	if files.Gone(err) {
		return from, fmt.Errorf("%w: the block is gone", errNotYet)
	}
	if err != nil {
		return from, err
	}
	defer func() { _ = f.Close() }()
	b.mu.Lock()
	known := uint64(len(b.offsets))
	sequence, at := b.first+known, b.end
	if from-b.first < known {
		sequence, at = from, b.offsets[from-b.first]
	}
	b.mu.Unlock()
	parser := newRecordParser(StreamName, events.SubjectPrefix, b.index)
	window, copies := blockWindow{file: f}, copies{together: to-from >= aheadFrom}
	for ; sequence <= to; sequence++ {
		if sequence%256 == 0 && ctx.Err() != nil {
			return max(from, sequence), ctx.Err()
		}
		content, err := window.from(at)
		if err != nil {
			return max(from, sequence), fmt.Errorf("read the log: %w", err)
		}
		if len(content) == 0 {
			return max(from, sequence), fmt.Errorf("%w: the block ends before it", errNotYet)
		}
		record, err := parser.parse(content)
		if err != nil {
			return max(from, sequence), fmt.Errorf("%w: %w", errNotYet, err)
		}
		if record.kind != messageRecord {
			at += int64(record.length)
			sequence--
			continue
		}
		if record.sequence != sequence {
			err := fmt.Errorf("%w: message %d stands where %d is due", errNotYet, record.sequence, sequence)
			return max(from, sequence), err
		}
		b.note(sequence, at, at+int64(record.length))
		at += int64(record.length)
		if sequence < from {
			continue
		}
		message := events.Message{
			Sequence: sequence,
			Subject:  copies.text(record.subject),
			Body:     copies.body(record.body),
		}
		if err := yield(message); err != nil {
			return sequence, yieldError{err}
		}
	}
	return max(from, sequence), nil
}

// note remembers the offset of a message, if it is the next unknown one.
func (b *liveBlock) note(sequence uint64, at, end int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if sequence == b.first+uint64(len(b.offsets)) {
		b.offsets, b.end = append(b.offsets, at), end
	}
}

// blockWindow reads a file in pieces.
type blockWindow struct {
	file   *os.File
	begin  int64
	buffer []byte
}

// from returns the file's bytes from an offset on: the whole record there, if the file holds it.
func (w *blockWindow) from(at int64) ([]byte, error) {
	if at >= w.begin && at < w.begin+int64(len(w.buffer)) {
		rest := w.buffer[at-w.begin:]
		if length := claimed(rest); length > 0 && length <= len(rest) {
			return rest, nil
		}
	}
	for size := readAhead; ; {
		if cap(w.buffer) < size {
			w.buffer = make([]byte, size)
		}
		n, err := disk.ReadAt(w.file, w.buffer[:size], at)
		for try := 1; err != nil && !errors.Is(err, io.EOF) && try < readTries; try++ {
			n, err = disk.ReadAt(w.file, w.buffer[:size], at)
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		w.begin, w.buffer = at, w.buffer[:n]
		length := claimed(w.buffer)
		if length <= n || n < size {
			return w.buffer, nil
		}
		size = length
	}
}

// yieldError carries an error of yield past the checks for other errors.
type yieldError struct{ error }

func (e yieldError) Unwrap() error { return e.error }
