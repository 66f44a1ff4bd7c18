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

// ReadOnly reads a store's log, blobs and recorded refusals from the block files, without nats-server and without
// writing anything. So a damaged store, a store on a read-only mount and one on a full disk can be read and served. It
// implements engine.Log; methods that would write fail with events.ErrReadOnly. Its methods may be called concurrently.
//
// Read stops at the first missing message. Readable continues after it and returns every message that is left.
type ReadOnly struct {
	dir    string
	locks  []*os.File // nil for a lock that the store does not have
	log    *scannedStream
	blobs  blobIndex
	denied *scannedStream
	faults []Fault
	// failed is why a part of the store could not be read, or nil.
	failed error
	// failedLog is why the log could not be read completely, or nil.
	failedLog error
	// adopted are the blobs that have lost their description.
	adopted []string
	// asides are the directories that were set aside of the streams beside the log.
	asides []*ReadOnly

	mu     sync.RWMutex
	closed bool
}

// ErrStoreInUse: a server has the store open.
var ErrStoreInUse = errors.New("the store is in use")

// OpenReadOnly reads every record of the store in o.Dir and verifies each checksum. It also opens a damaged store, and
// one of which a part cannot be read: Faults lists what is wrong. It fails when a server has the store open, and when
// there is no store. It uses only o.Dir. The caller closes the result.
//
// It retries failures: a transient error must not hide what is there.
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
	held, unread := disk.Open(dir) // reading it reports the fault
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

// openFiles reads the store in dir. The caller has locked it, or passes the locks.
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
		if err != nil { // the rest is still useful
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

// unread returns what could not be read, here or in what was set aside, or nil.
func (r *ReadOnly) unread() error {
	err := r.failed
	for _, aside := range r.asides {
		err = errors.Join(err, aside.failed)
	}
	return err
}

// Faults lists what is wrong with the store's files, the log's first, in file order. A Fault that is a Tail does not
// make a store damaged: the last write of a server that was killed, or lost power, can look like that.
func (r *ReadOnly) Faults() []Fault { return r.faults }

// Head returns the highest readable sequence; messages before it can be missing.
func (r *ReadOnly) Head() uint64 { return r.log.last }

// Sync implements engine.Log: it returns Head.
func (r *ReadOnly) Sync(context.Context) (uint64, error) { return r.log.last, nil }

// Append implements engine.Log. It always fails with events.ErrReadOnly.
func (r *ReadOnly) Append(_ context.Context, _ uint64, messages []events.Message) error {
	if len(messages) == 0 {
		return nil
	}
	return errOpenedReadOnly
}

var errOpenedReadOnly = fmt.Errorf("%w: the store was opened to be read only", events.ErrReadOnly)

// Read implements engine.Log. The first message that is missing, or can no longer be read, gives *events.DamageError.
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

// unreadLog returns an error if the log could not be read completely when the store was opened.
func (r *ReadOnly) unreadLog() error {
	if !failedToRead(r.failedLog) {
		return nil
	}
	why := *unread(r.log.dir, r.failedLog)
	why.readOnly, why.again = true, false
	return &why
}

// missing returns why a message is not there.
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

// Readable yields every readable message of the log, by sequence, and leaves out what is missing. The caller owns the
// bodies. An error from yield ends the reading and is returned unchanged.
func (r *ReadOnly) Readable(ctx context.Context, yield func(events.Message) error) error {
	return r.ReadableFrom(ctx, 1, yield)
}

// ReadableFrom is Readable for the messages from a sequence on.
func (r *ReadOnly) ReadableFrom(ctx context.Context, from uint64, yield func(events.Message) error) error {
	return r.readLog(ctx, from, r.log.last, yield, func(uint64, error) error { return nil })
}

// readLog yields the existing messages between two sequences. It calls unreadable for a message that was there when the
// store was opened and cannot be read now.
func (r *ReadOnly) readLog(ctx context.Context, from, to uint64, yield func(events.Message) error,
	unreadable func(uint64, error) error,
) error {
	begin, _ := r.log.at(from)
	end, found := r.log.at(to)
	if found {
		end++
	}
	return r.readPlaces(ctx, r.log.places[begin:max(begin, end)], yield, unreadable)
}

func (r *ReadOnly) readPlaces(ctx context.Context, places []place, yield func(events.Message) error,
	unreadable func(uint64, error) error,
) error {
	reader, err := r.reader(r.log, events.SubjectPrefix)
	if err != nil {
		return err
	}
	defer reader.close()
	for i, p := range places {
		if i%256 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
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

// Close unlocks the store. A second Close does nothing.
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

// placeReader reads messages from the places that a scan found.
type placeReader struct {
	dir, stream, prefix string
	keys                map[int]int // as in scannedStream; a block without an entry was written under its file number
	paths               map[int]string

	block  int32
	window blockWindow
	parser *recordParser
}

// readAhead is how much of a block is read at once.
const readAhead = 256 << 10

// read returns the message at a place, verified. It is valid until the next read. Messages close together cost one read
// of the file.
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
