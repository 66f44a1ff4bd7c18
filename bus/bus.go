package bus

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"maestro/events"
	"maestro/internal/disk"
)

// Bus stores the log and the blobs beside it. It implements engine.Log.
//
// Its methods may be called concurrently; appends run one after another.
type Bus struct {
	options  Options
	embedded *embedded // nil when the server is external
	nc       *nats.Conn
	js       jetstream.JetStream

	// open is held for reading by every call to the server, and for writing while the server is reopened.
	open   sync.RWMutex
	closed bool

	writer  *writer
	readers *readers
	blobs   jetstream.ObjectStore
	// blobStream is the stream of blobs.
	blobStream jetstream.Stream

	// acked is the head as of the last acknowledgement or reopen.
	acked atomic.Uint64
	// doubtful is set by an append with an unknown outcome and cleared by one that is acknowledged. A reopen alone does
	// not clear it: while the disk is full, nats-server starts, but fails at the first write.
	doubtful atomic.Bool
	// lacksRoom is set by an append that was refused for lack of room, and cleared once Sync finds room.
	lacksRoom atomic.Bool
	blocks    blockSyncer
	sides     map[string]*sideSyncer // by stream
	watch     blockWatch
	room      room
	onDisk    liveLog
	texts     liveBlobs

	// files is set instead of a server when the store is damaged, or was opened read-only. It is set once, while open
	// is held for writing; a caller that needs it unchanged holds open for reading.
	files atomic.Pointer[ReadOnly]
	// damage is the error that stopped all writes, if any.
	damage atomic.Pointer[error]
	tell   atomic.Pointer[func(error)]
	last   acknowledged
	mender mender
	// writing tracks the blobs that are being written.
	writing writingBlobs
	durable durableBlobs
}

// Open starts a server on the store in o.Dir, inside this process and without a listener, and opens its log. Everything
// in the store is durable when Open returns. Only one process can open a store.
//
// The server would cut a damaged store. Open therefore opens one read-only without a server, copies it to a directory
// beside it if there is room, and Damage returns the reason. Open also opens a store read-only if a part of it cannot
// be read; see AwaitReadable.
func Open(ctx context.Context, o Options) (*Bus, error) {
	o = o.withDefaults()
	if o.ReadOnly {
		return openBusReadOnly(ctx, o)
	}
	e, err := newEmbedded(o)
	if err != nil {
		return nil, err
	}
	b := &Bus{
		options:  o,
		embedded: e,
		blocks:   blockSyncer{dir: e.messagesDir(StreamName)},
		sides:    map[string]*sideSyncer{},
		room:     room{dir: e.dir},
		onDisk:   liveLog{dir: filepath.Join(streamPath(e.held.through(), StreamName), "msgs")},
		texts:    newLiveBlobs(e.held.through()),
	}
	for _, stream := range sideStreams {
		b.sides[stream] = &sideSyncer{dir: e.messagesDir(stream)}
	}
	if err := b.openEmbedded(ctx); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

func (b *Bus) openEmbedded(ctx context.Context) error {
	if err := b.embedded.usable(); err != nil {
		return err
	}
	var checked prepared
	err := b.embedded.putBackOfKilled()
	if err == nil {
		checked, err = b.embedded.prepare(ctx, b.options.witnesses(), loadNote(b.embedded.dir))
	}
	var unread *UnreadError
	if errors.As(err, &unread) {
		return b.openUnread(ctx, unread)
	}
	if err != nil {
		return err
	}
	if checked.damage != nil {
		return b.openDamaged(ctx, checked)
	}
	made := !b.embedded.hasStreams()
	if err := errors.Join(b.embedded.noteBoot(), forgetNote(b.embedded.dir)); err != nil {
		return fmt.Errorf("begin to use the store: %w", full(err))
	}
	if checked.tailOnly {
		if err := recheckSoon(b.embedded.dir); err != nil {
			return fmt.Errorf("begin to use the store: %w", full(err))
		}
	}
	if err := b.embedded.start(ctx, checked.streams); err != nil {
		return err
	}
	if b.nc, err = b.dial("maestro"); err != nil {
		return err
	}
	serving, done := b.whileAlive(ctx, startTimeout)
	err = whyEnded(serving, b.attach(serving))
	done()
	if err != nil {
		// The server's errors do not say that its disk is full.
		if room := errors.Join(b.room.look(), full(probe(b.embedded.dir))); errors.Is(room, events.ErrFull) {
			err = fmt.Errorf("%w; %w", room, err)
		}
		return err
	}
	if made { // a power cut must not leave a stream whose files lack content or a name
		if err := syncTree(b.embedded.dir); err != nil {
			return fmt.Errorf("sync the store: %w", full(err))
		}
	}
	if checked.blobsCut {
		if err := b.adoptBlobs(ctx); err != nil {
			return err
		}
	}
	if err := b.rebuildSideStreams(ctx); err != nil {
		return err
	}
	return b.watch.hold(b.embedded, b.acked.Load())
}

// connect opens the log on an external server. The caller owns nc and closes it after the Bus.
func connect(ctx context.Context, nc *nats.Conn, o Options) (*Bus, error) {
	b := &Bus{options: o.withDefaults(), nc: nc}
	if err := b.attach(ctx); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

// attach creates the stream and the bus's clients on its connection.
func (b *Bus) attach(ctx context.Context) error {
	var err error
	if b.js, err = jetstream.New(b.nc); err != nil {
		return err
	}
	replicas := b.options.Replicas
	if b.embedded != nil {
		replicas = 1
	}
	if err := ensureStream(ctx, b.js, replicas, b.mayCreate); err != nil {
		return err
	}
	if b.blobs, err = openBlobs(ctx, b.js, replicas); err != nil {
		return err
	}
	if b.blobStream, err = b.js.Stream(ctx, "OBJ_"+BlobBucket); err != nil {
		return fmt.Errorf("look up the stream of %s: %w", BlobBucket, err)
	}
	if err := ensureDenied(ctx, b.js, replicas); err != nil {
		return err
	}
	if b.writer, err = newWriter(b.nc, b.options.Timeout, b.alive); err != nil {
		return err
	}
	b.readers = newReaders(b.nc)
	head, err := b.head(ctx)
	if err != nil {
		return err
	}
	b.acked.Store(head)
	return nil
}

// mayCreate refuses to create an empty log where the files of a log exist: the server skipped what it could not
// recover.
func (b *Bus) mayCreate() error {
	if b.embedded == nil {
		return nil
	}
	dir := b.embedded.streamDir(StreamName)
	if _, err := disk.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return &events.DamageError{Sequence: 1, Why: "the server cannot recover the stream in " + dir +
		", its log says why"}
}

// dial connects to the embedded server, and reconnects whenever it was reopened. It buffers nothing while disconnected:
// an unsent append must not arrive after its caller was told that it failed.
func (b *Bus) dial(name string) (*nats.Conn, error) {
	nc, err := nats.Connect("",
		nats.InProcessServer(b.embedded),
		nats.Name(name),
		nats.MaxReconnects(-1),
		nats.CustomReconnectDelay(func(int) time.Duration { return time.Millisecond }),
		nats.ReconnectBufSize(-1),
		nats.PingInterval(time.Hour), // there is no network to lose
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			b.options.Logger.Warn("nats: " + err.Error())
		}),
	)
	if err != nil {
		return nil, fmt.Errorf("connect to the embedded server: %w", err)
	}
	return nc, nil
}

// Conn returns the log's connection. Over the embedded server it survives a reopen, with its subscriptions.
func (b *Bus) Conn() *nats.Conn { return b.nc }

// JetStream returns the client of the log's server.
func (b *Bus) JetStream() jetstream.JetStream { return b.js }

// Close closes the connections and the embedded server, and waits for them. Acknowledged events are kept. A second
// Close does nothing.
func (b *Bus) Close() error {
	b.mender.close()
	b.open.Lock()
	defer b.open.Unlock()
	if b.closed {
		return nil
	}
	lost, untouched := b.lost(), b.untouched()
	b.watch.release()
	b.closed = true
	if b.writer != nil {
		b.writer.close()
	}
	if b.readers != nil {
		b.readers.close()
	}
	b.blocks.forget()
	if b.embedded == nil {
		return b.closeFiles()
	}
	if b.nc != nil {
		closeConn(b.nc)
	}
	return errors.Join(lost, b.closeFiles(), b.embedded.close(b.damage.Load() == nil, untouched, b.acked.Load()))
}

// closeConn closes a connection and waits until its goroutines were notified.
func closeConn(nc *nats.Conn) {
	if nc.IsClosed() {
		return
	}
	closed := nc.StatusChanged(nats.CLOSED)
	nc.Close()
	<-closed
}

// use keeps the server open until release is called. While the server is reopened, use waits, but no longer than a call
// may take: a hanging disk can delay a reopen indefinitely.
func (b *Bus) use() (release func(), err error) {
	const look = 5 * time.Millisecond
	for waited := time.Duration(0); !b.open.TryRLock(); waited += look {
		if waited >= b.options.Timeout {
			return nil, &reopeningError{waited}
		}
		time.Sleep(look)
	}
	if b.closed {
		b.open.RUnlock()
		return nil, errClosed
	}
	return b.open.RUnlock, nil
}
