package bus

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"maestro/events"
)

const (
	// mendEvery is the pause between two attempts to repair a store.
	mendEvery = time.Second
	// lookEvery is how often a waiting write checks whether the server still accepts writes.
	lookEvery = 50 * time.Millisecond
)

// mender reopens the embedded server after a failed write of a refusal or a long text, or after a failed Sync. After a
// failed write, nats-server accepts no further write to the stream until it is reopened.
type mender struct {
	mu       sync.Mutex
	err      error // why the last write failed, nil if none failed since the last reopen
	failures int   // the number of failed writes
	running  bool
	closed   bool
	stop     chan struct{}
	done     sync.WaitGroup
	// unread is the part of the store that could not be read last, nil if all can be read.
	unread atomic.Pointer[UnreadError]
}

// failed notes that a write beside the log, or a reopen, failed, and makes sure that the server is reopened. It returns
// err. If the caller's ctx has ended, the failure says nothing about the server.
func (b *Bus) failed(ctx context.Context, err error) error {
	if err == nil || b.embedded == nil || ctx.Err() != nil {
		return err
	}
	err = full(err)
	m := &b.mender
	m.mu.Lock()
	defer m.mu.Unlock()
	m.err = err
	m.failures++
	if m.running || m.closed {
		return err
	}
	m.running = true
	if m.stop == nil {
		m.stop = make(chan struct{})
	}
	m.done.Go(b.mend)
	return err
}

// mend reopens the server until that succeeds.
func (b *Bus) mend() {
	m := &b.mender
	for {
		m.mu.Lock()
		failures := m.failures
		mended := m.err == nil // the store was reopened elsewhere
		m.running = !mended
		m.mu.Unlock()
		if mended {
			return
		}
		_, err := b.reopen(context.Background())
		m.mu.Lock()
		again := err == nil && m.failures != failures // a write has failed since, or on the server before
		if !again {
			m.err = err
		}
		over := err == nil && !again || errors.Is(err, errClosed) || errors.Is(err, events.ErrReadOnly)
		m.running = !over
		m.mu.Unlock()
		if over {
			return
		}
		select {
		case <-time.After(mendEvery):
		case <-m.stop:
			return
		}
	}
}

// pending returns why the store must be reopened, or nil.
func (m *mender) pending() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err == nil {
		return nil
	}
	return fmt.Errorf("the store cannot be written to: %w", m.err)
}

// count returns the number of failed writes so far.
func (m *mender) count() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.failures
}

// mended notes that the store was reopened, and that a write and a sync succeeded. A write that failed since the count
// still needs another reopen.
func (m *mender) mended(count int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.failures == count {
		m.err = nil
	}
}

// close stops the mender and waits for it.
func (m *mender) close() {
	m.mu.Lock()
	if !m.closed {
		m.closed = true
		if m.stop == nil {
			m.stop = make(chan struct{})
		}
		close(m.stop)
	}
	m.mu.Unlock()
	m.done.Wait()
}

// Ready returns why the log, refusals or long texts cannot be written now, or nil.
func (b *Bus) Ready() error {
	if err := b.mender.pending(); err != nil {
		return err
	}
	if err := b.unreadable(); err != nil {
		return err
	}
	return b.room.check()
}

// alive returns why a write would never be acknowledged, or nil: the server is stopped; or the disk is full, and it
// disabled JetStream and does not reply any more.
func (b *Bus) alive() error {
	if b.embedded == nil {
		return nil
	}
	b.embedded.mu.Lock()
	s := b.embedded.server
	b.embedded.mu.Unlock()
	if trouble := b.embedded.trouble.Load(); trouble != nil {
		return full(*trouble)
	}
	if s == nil {
		return errors.New("the embedded server is stopped")
	}
	if !s.JetStreamEnabled() {
		return errors.Join(errors.New("the embedded server takes no writes any more"), b.room.look())
	}
	return nil
}

// whileAlive returns a context that ends after patience, or as soon as the server accepts no more writes.
func (b *Bus) whileAlive(ctx context.Context, patience time.Duration) (alive context.Context, done func()) {
	ctx, end := context.WithTimeout(ctx, patience)
	alive, cancel := context.WithCancelCause(ctx)
	var looking sync.WaitGroup
	if b.embedded != nil {
		looking.Go(func() {
			ticker := time.NewTicker(lookEvery)
			defer ticker.Stop()
			for {
				select {
				case <-ticker.C:
					if err := b.alive(); err != nil {
						cancel(err)
						return
					}
				case <-alive.Done():
					return
				}
			}
		})
	}
	return alive, func() {
		cancel(nil)
		end()
		looking.Wait()
	}
}

// whyEnded returns the cause of the end of a context of whileAlive, if err comes from that end, and otherwise err.
func whyEnded(alive context.Context, err error) error {
	if cause := context.Cause(alive); cause != nil && errors.Is(err, alive.Err()) {
		return full(cause)
	}
	return err
}

// acknowledged remembers the last acknowledged append.
type acknowledged struct {
	mu       sync.Mutex
	sequence uint64
	body     []byte
}

// note keeps the body, which must not change afterwards.
func (a *acknowledged) note(sequence uint64, body []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sequence, a.body = sequence, body
}

// compare checks what is on disk against the last acknowledged append. After a failed fsync, the system may have shown
// pages that never reached the disk.
func (b *Bus) compare(ctx context.Context, head uint64) error {
	b.last.mu.Lock()
	sequence, body := b.last.sequence, b.last.body
	b.last.mu.Unlock()
	if sequence == 0 {
		return nil
	}
	if head < sequence {
		return &events.DamageError{
			Sequence: head + 1,
			Why:      fmt.Sprintf("the log on disk ends here, and it was acknowledged up to %d", sequence),
		}
	}
	stream, err := b.js.Stream(ctx, StreamName)
	if err != nil {
		return err
	}
	m, err := stream.GetMsg(ctx, sequence)
	if err != nil {
		return fmt.Errorf("read the last acknowledged event: %w", err)
	}
	if !bytes.Equal(m.Data, body) {
		return &events.DamageError{Sequence: sequence, Why: "the event on disk is not the one that was acknowledged"}
	}
	return nil
}
