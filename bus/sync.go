package bus

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"maestro/events"
)

// Sync makes everything in the log durable and returns its head; see engine.Log.
//
// With an embedded server, it reopens the server when an append had an unknown outcome and none was acknowledged since,
// or when the head is not the last one acknowledged here (somebody else wrote). On a cluster it asks the stream's
// leader, whose operator configures the durability.
func (b *Bus) Sync(ctx context.Context) (uint64, error) {
	files, release, err := b.useFiles()
	if err != nil {
		return 0, err
	}
	release()
	if files != nil {
		return files.Sync(ctx)
	}
	if b.embedded == nil {
		return b.lockedHead(ctx)
	}
	if err := b.unreadable(); err != nil {
		return 0, err
	}
	if b.lacksRoom.Load() { // an append was refused, and would be again
		if err := b.room.again(); err != nil {
			return 0, err
		}
		b.lacksRoom.Store(false)
	}
	if !b.doubtful.Load() {
		head, err := b.lockedHead(ctx)
		if err != nil && (ctx.Err() != nil || errors.Is(err, errClosed)) {
			return 0, err
		}
		if err == nil && head == b.acked.Load() {
			if b.options.Durability == Always {
				return head, nil
			}
			if err := b.blocks.sync(); err != nil {
				b.doubtful.Store(true) // the next Sync reads what is on disk
				return 0, full(err)
			}
			return head, nil
		}
	}
	head, err := b.reopen(ctx)
	if err != nil && !errors.Is(err, errClosed) && !errors.Is(err, events.ErrReadOnly) {
		err = b.failed(ctx, err) // the mender retries even if nobody writes
	}
	return head, err
}

func (b *Bus) lockedHead(ctx context.Context) (uint64, error) {
	release, err := b.use()
	if err != nil {
		return 0, err
	}
	defer release()
	ctx, cancel := context.WithTimeout(ctx, b.options.Timeout)
	defer cancel()
	return b.head(ctx)
}

// head asks the stream's leader for the last sequence.
func (b *Bus) head(ctx context.Context) (uint64, error) {
	stream, err := b.js.Stream(ctx, StreamName)
	if err != nil {
		return 0, fmt.Errorf("ask for the head of the log: %w", err)
	}
	return stream.CachedInfo().State.LastSeq, nil
}

// reopen stops the server, syncs all its files, starts it again and returns the head. Readers wait meanwhile. While the
// disk is full it leaves the server running, so that the log can be read.
func (b *Bus) reopen(ctx context.Context) (head uint64, err error) {
	b.open.Lock()
	defer b.open.Unlock()
	if b.closed {
		return 0, errClosed
	}
	if b.files.Load() != nil {
		return 0, b.Damage()
	}
	if err := b.embedded.held.here(); err != nil {
		return 0, err
	}
	if err := b.placesHold(); err != nil { // a server blocked at a pipe would not stop
		return 0, err
	}
	failures := b.mender.count()
	untouched := b.untouched()
	b.watch.release()
	b.room.looked = time.Time{}
	if err := errors.Join(b.room.check(), full(probe(b.embedded.dir)), b.embedded.usable()); err != nil {
		return 0, err // the running server can still be read
	}
	defer func() {
		if err != nil {
			b.doubtful.Store(true) // the next Sync tries again
		}
	}()
	b.embedded.stop()
	if err := b.embedded.putBackOfKilled(); err != nil { // a start failed, and could not do it
		return 0, fmt.Errorf("reopen the log: %w", err)
	}
	if err := syncTree(b.embedded.storeDir()); err != nil {
		return 0, fmt.Errorf("reopen the log: %w", full(err))
	}
	if err := dropCache(b.embedded.storeDir()); err != nil {
		b.options.Logger.Warn("the store is read as the system remembers it, not from the disk", "why", err)
	}
	b.onDisk.forget()
	b.durable.forget()
	var note *storeNote
	if !b.embedded.failed {
		note = noteStore(b.embedded.dir).unless(untouched)
	}
	checked, err := b.embedded.prepare(ctx, b.ownWitnesses(), note)
	if err != nil {
		return 0, fmt.Errorf("reopen the log: %w", err)
	}
	if checked.damage != nil {
		if err := b.openDamaged(ctx, checked); err != nil {
			return 0, err
		}
		return 0, checked.damage
	}
	made := !b.embedded.hasStreams()
	if err := b.embedded.start(ctx, checked.streams); err != nil {
		return 0, fmt.Errorf("reopen the log: %w", err)
	}
	serving, done := b.whileAlive(ctx, startTimeout)
	defer done()
	if head, err = b.reattach(serving); err != nil {
		return 0, fmt.Errorf("reopen the log: %w", whyEnded(serving, err))
	}
	if made { // a power cut must not leave a stream whose files lack content or a name
		if err := syncTree(b.embedded.dir); err != nil {
			return 0, fmt.Errorf("reopen the log: %w", full(err))
		}
	}
	b.acked.Store(head)
	if err := b.watch.hold(b.embedded, head); err != nil {
		return head, err
	}
	b.mender.mended(failures)
	return head, nil
}

// reattach connects to the restarted server, and returns the head.
func (b *Bus) reattach(ctx context.Context) (head uint64, err error) {
	if err := b.reconnected(ctx, b.nc); err != nil {
		return 0, err
	}
	if err := ensureStream(ctx, b.js, 1, b.mayCreate); err != nil {
		return 0, err
	}
	// What the server restored of a batch that it found half committed.
	b.blocks.forget()
	for _, side := range b.sides {
		side.forget()
	}
	if err := b.blocks.sync(); err != nil {
		return 0, full(err)
	}
	if head, err = b.head(ctx); err != nil {
		return 0, err
	}
	if err := b.compare(ctx, head); errors.Is(err, events.ErrReadOnly) {
		return 0, b.damaged(err)
	} else if err != nil {
		return 0, err
	}
	return head, b.reopenSideStreams(ctx)
}

// reopenSideStreams checks and recreates the streams beside the log.
func (b *Bus) reopenSideStreams(ctx context.Context) error {
	var err error
	if b.blobs, err = openBlobs(ctx, b.js, 1); err != nil {
		return err
	}
	if b.blobStream, err = b.js.Stream(ctx, "OBJ_"+BlobBucket); err != nil {
		return err
	}
	return ensureDenied(ctx, b.js, 1)
}

// reconnected waits until nc is connected to the server that runs now.
func (b *Bus) reconnected(ctx context.Context, nc *nats.Conn) error {
	up := nc.StatusChanged(nats.CONNECTED)
	defer nc.RemoveStatusListener(up)
	if err := nc.ForceReconnect(); err != nil {
		return err
	}
	for {
		if nc.IsConnected() && nc.FlushWithContext(ctx) == nil {
			return nil
		}
		select {
		case <-up:
		case <-ctx.Done():
			return fmt.Errorf("connect to the reopened server: %w", ctx.Err())
		}
	}
}
