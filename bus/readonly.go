package bus

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"maestro/events"
	"maestro/internal/disk"
	"maestro/internal/files"
)

// ReadOnly is the log of a store, its blobs and its recorded refusals, read from the block files without nats-server
// and without writing anything. So a damaged store, one on a read-only mount and one on a full disk can be read and
// served. It satisfies engine.Log; what would write fails with events.ErrReadOnly. Its methods may be called from
// many goroutines.
//
// Read stops at the first message that is missing. Readable continues behind it and returns every message that is left.
type ReadOnly struct {
	dir    string
	locks  []*os.File // nil for one that the store does not have
	log    *scannedStream
	blobs  blobIndex
	denied *scannedStream
	faults []Fault
	// failed is why a part of the store could not be read, nil if all of it could.
	failed error
	// failedLog is why the log could not be read whole, nil if it could.
	failedLog error
	// adopted are the blobs that have lost their description.
	adopted []string
	// asides are what was set aside of the streams beside the log.
	asides []*ReadOnly

	mu     sync.RWMutex
	closed bool
}

// ErrStoreInUse: a server has the store open.
var ErrStoreInUse = errors.New("the store is in use")

// OpenReadOnly reads the store in o.Dir, every record of it, and verifies each checksum. It opens a damaged store
// too, and one of which a part cannot be read: Faults says what is wrong with it. It fails when a server has the store
// open, and when there is no store. Only o.Dir is used. Close it.
//
// What fails is tried again: an error that passes must not hide what is there.
func OpenReadOnly(ctx context.Context, o Options) (*ReadOnly, error) {
	for try := 1; ; try++ {
		r, err := openReadOnly(ctx, o)
		whole := err == nil && r.unread() == nil
		final := ctx.Err() != nil || errors.Is(err, ErrStoreInUse) || errors.Is(err, fs.ErrNotExist)
		if whole || final || try == readTries {
			return r, err
		}
		if err == nil {
			if err := r.Close(); err != nil {
				return nil, err
			}
		}
	}
}

func openReadOnly(ctx context.Context, o Options) (*ReadOnly, error) {
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("find the store directory: %w", err)
	}
	if _, err := disk.Stat(dir); err != nil {
		return nil, fmt.Errorf("open the store read-only: %w", err)
	}
	lock, err := lockForReading(filepath.Join(dir, lockName))
	if err != nil {
		return nil, err
	}
	held, unread := disk.Open(dir) // a fault, as the reading of it says
	if unread == nil {
		if err := lockDir(held, files.LockShared); err != nil {
			return nil, errors.Join(err, closeAll(held, lock))
		}
	}
	r, err := openFiles(ctx, dir, held, lock)
	if err != nil {
		return nil, err
	}
	if err := r.readAsides(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("open the store read-only: %w", err), r.Close())
	}
	return r, nil
}

// openFiles reads the store in dir, whose locks the caller holds, or gives here.
func openFiles(ctx context.Context, dir string, locks ...*os.File) (*ReadOnly, error) {
	r := &ReadOnly{dir: dir, locks: locks}
	if err := r.scan(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("open the store read-only: %w", err), r.Close())
	}
	return r, nil
}

func (r *ReadOnly) scan(ctx context.Context) error {
	blobs := newBlobIndex()
	for _, s := range storedStreams {
		var each eachRecord
		if s.name == BlobStream {
			each = blobs.note
		}
		scanned, err := scanStream(ctx, r.dir, s.name, s.prefix, each)
		if scanned == nil {
			return err
		}
		if err != nil { // the rest is worth having
			r.failed = errors.Join(r.failed, err)
			unread := Fault{Stream: s.name, File: streamPath("", s.name), Why: err.Error()}
			scanned.faults = append(scanned.faults, unread)
		}
		r.faults = append(r.faults, scanned.faults...)
		switch s.name {
		case StreamName:
			r.log, r.failedLog = scanned, err
		case BlobStream:
			blobs.settle(scanned)
			r.blobs = blobs
		case DeniedStream:
			r.denied = scanned
		}
	}
	adopted, err := r.adopt(ctx)
	r.adopted = adopted
	return err
}

// unread says what could not be read, here or in what was set aside, nil if nothing.
func (r *ReadOnly) unread() error {
	err := r.failed
	for _, aside := range r.asides {
		err = errors.Join(err, aside.failed)
	}
	return err
}

// Faults lists what is wrong with the store's files, the log's first, in the order of the files. A store is not
// damaged by a Fault that is a Tail: the last write of a server that was killed, or whose machine lost power, can
// look like that.
func (r *ReadOnly) Faults() []Fault { return r.faults }

// Head is the highest sequence that can be read; messages before it can be missing.
func (r *ReadOnly) Head() uint64 { return r.log.last }

// Sync implements engine.Log: it answers Head.
func (r *ReadOnly) Sync(context.Context) (uint64, error) { return r.log.last, nil }

// Append implements engine.Log. It always fails with events.ErrReadOnly.
func (r *ReadOnly) Append(_ context.Context, _ uint64, messages []events.Message) error {
	if len(messages) == 0 {
		return nil
	}
	return errOpenedReadOnly
}

var errOpenedReadOnly = fmt.Errorf("%w: the store was opened to be read only", events.ErrReadOnly)

// Read implements engine.Log. The first message that is missing, or that cannot be read any more, gives
// *events.DamageError.
func (r *ReadOnly) Read(ctx context.Context, from, to uint64, yield func(events.Message) error) error {
	if from == 0 {
		return errors.New("read the log from sequence 0: its first is 1")
	}
	if from > to {
		return nil
	}
	next := from
	err := r.readLog(ctx, from, to, func(m events.Message) error {
		if m.Sequence != next {
			return r.missing(next)
		}
		next++
		return yield(m)
	}, func(_ uint64, err error) error {
		if failedToRead(err) {
			return unread(r.log.dir, err)
		}
		return r.missing(next)
	})
	if err == nil && next <= to {
		return r.missing(next)
	}
	return err
}

// unreadLog says that the log could not be read whole when the store was opened, or nil.
func (r *ReadOnly) unreadLog() error {
	if !failedToRead(r.failedLog) {
		return nil
	}
	why := *unread(r.log.dir, r.failedLog)
	why.readOnly, why.again = true, false
	return &why
}

// missing says why a message is not there.
func (r *ReadOnly) missing(sequence uint64) error {
	if err := r.unreadLog(); err != nil {
		return err
	}
	for _, f := range r.log.faults {
		if f.From <= sequence && sequence <= f.To {
			return &events.DamageError{Sequence: sequence, Why: f.String()}
		}
	}
	return &events.DamageError{
		Sequence: sequence,
		Why:      fmt.Sprintf("the message is missing, the log can be read to %d", r.log.last),
	}
}

// Readable yields every message of the log that can be read, by sequence, and leaves out what is missing. Bodies
// belong to the caller. An error from yield ends the reading and is returned as it is.
func (r *ReadOnly) Readable(ctx context.Context, yield func(events.Message) error) error {
	return r.readLog(ctx, 1, r.log.last, yield, func(uint64, error) error { return nil })
}

// readLog yields the messages there are between two sequences; unreadable is asked about one that was there when the
// store was opened and cannot be read now.
func (r *ReadOnly) readLog(ctx context.Context, from, to uint64, yield func(events.Message) error,
	unreadable func(uint64, error) error,
) error {
	reader, err := r.reader(r.log, events.SubjectPrefix)
	if err != nil {
		return err
	}
	defer reader.close()
	for i, _ := r.log.at(from); i < len(r.log.places) && r.log.places[i].sequence <= to; i++ {
		if i%256 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		p := r.log.places[i]
		record, err := reader.read(p)
		if err != nil {
			if err := unreadable(p.sequence, err); err != nil {
				return err
			}
			continue
		}
		message := events.Message{Sequence: p.sequence, Subject: string(record.subject), Body: append([]byte(nil),
			record.body...)}
		if err := yield(message); err != nil {
			return err
		}
	}
	return ctx.Err()
}

func (r *ReadOnly) reader(s *scannedStream, prefix string) (*placeReader, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.closed {
		return nil, errClosed
	}
	return &placeReader{
		dir:    filepath.Join(streamPath(r.dir, s.name), "msgs"),
		stream: s.name,
		prefix: prefix,
		keys:   s.keys,
		paths:  s.paths,
	}, nil
}

// Close lets others open the store. A second Close does nothing.
func (r *ReadOnly) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, aside := range r.asides {
		_ = aside.Close() // it holds no lock
	}
	if r.closed {
		return nil
	}
	r.closed = true
	return closeAll(r.locks...)
}

func closeAll(all ...*os.File) (err error) {
	for _, f := range all {
		if f != nil {
			err = errors.Join(err, f.Close())
		}
	}
	return err
}

// Announce does nothing: nobody listens to a store that does not change.
func (r *ReadOnly) Announce([]events.Message) {}

// placeReader reads messages from where a scan found them.
type placeReader struct {
	dir, stream, prefix string
	keys                map[int]int // as in scannedStream; a block that is not in it has its own name
	paths               map[int]string

	block  int32
	window blockWindow
	parser *recordParser
}

// readAhead is how much of a block is read at once.
const readAhead = 256 << 10

// read returns the message at a place, verified. It is valid until the next read. Messages near each other cost one
// read of a file.
func (r *placeReader) read(p place) (blockRecord, error) {
	if r.window.file == nil || r.block != p.block {
		r.close()
		path, elsewhere := r.paths[int(p.block)]
		if !elsewhere {
			path = filepath.Join(r.dir, blockName(int(p.block)))
		}
		f, err := openFile(path)
		if err != nil {
			return blockRecord{}, err
		}
		key, found := r.keys[int(p.block)]
		if !found {
			key = int(p.block)
		}
		r.block, r.window = p.block, blockWindow{file: f, buffer: r.window.buffer[:0]}
		r.parser = newRecordParser(r.stream, r.prefix, key)
	}
	content, err := r.window.from(p.offset)
	if err != nil {
		return blockRecord{}, err
	}
	record, err := r.parser.parse(content)
	if err == nil && (record.kind != messageRecord || record.sequence != p.sequence) {
		err = errRecordHead
	}
	return record, err
}

func (r *placeReader) close() {
	if r.window.file != nil {
		_ = r.window.file.Close()
		r.window.file = nil
	}
}

// lockForReading makes sure that no server has the store open, and that none opens it before the file is closed. It
// writes nothing: a store without a lock file was never opened.
func lockForReading(path string) (*os.File, error) {
	f, err := openFile(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNoFile) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return f, shareLock(f, path)
}
