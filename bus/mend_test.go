//go:build linux

package bus

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"maestro/events"
)

const fullRounds = 12

// Each time there is room again, refusals and long texts can be written again without a restart.
func TestFullDiskInSideStreams(t *testing.T) {
	inChildren(t, fmt.Sprintf("the disk was full %d times", fullRounds), fullBesideChild)
}

func fullBesideChild(t *testing.T, d Durability) {
	limit := newFileLimit(t)
	// The time-out is longer than any test: a write must not wait for it.
	b, err := Open(
		t.Context(), Options{
			Dir:        t.TempDir(),
			Durability: d,
			Logger:     testLogger(t),
			Timeout:    24 * time.Hour,
		},
	)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	n := 0
	refuse := func() error {
		n++
		body := fmt.Appendf(nil, `{"n":%d,"text":%q}`, n, strings.Repeat("x", 5000))
		return b.StoreDenials(context.Background(), []events.StoredDenial{{Slot: fmt.Sprint(n), Body: body}})
	}
	random := rand.New(rand.NewPCG(1, 2))
	keep := func() error {
		n++
		text := make([]byte, 100_000)
		for i := range text {
			text[i] = byte('a' + random.IntN(26))
		}
		_, err := b.PutBlob(context.Background(), text)
		return err
	}
	for _, write := range []func() error{refuse, keep} {
		if err := write(); err != nil {
			t.Fatal(err)
		}
	}
	full := 0
	for round := range fullRounds {
		largest := int64(0)
		for _, stream := range []string{DeniedStream, "OBJ_" + BlobBucket} {
			files, err := filepath.Glob(filepath.Join(b.embedded.messagesDir(stream), "*.blk"))
			if err != nil {
				t.Fatal(err)
			}
			for _, file := range files {
				if info, err := os.Stat(file); err == nil && (round%2 == 0) == (stream == DeniedStream) {
					largest = max(largest, info.Size())
				}
			}
		}
		limit.set(t, uint64(largest)+7000)
		failed := false
		for range 100 {
			errs := []error{refuse(), keep()}
			failed = failed || errs[0] != nil && errs[1] != nil || errs[round%2] != nil
			if failed {
				break
			}
		}
		if !failed {
			t.Fatalf("round %d: the disk is full, and every write succeeded", round)
		}
		full++
		if err := b.Ready(); err == nil {
			t.Errorf("round %d: the bus reports that it is ready", round)
		}
		limit.lift(t)
		b.mender.done.Wait()
		if err := b.Ready(); err != nil {
			t.Errorf("round %d: with room again: %v", round, err)
		}
		if err := errors.Join(refuse(), keep()); err != nil {
			t.Fatalf("round %d: with room again: %v", round, err)
		}
	}
	t.Logf("the disk was full %d times", full)
}

// After a reopen, the contents of the disk are compared with what was acknowledged: the operating system may have
// returned content that never reached the disk.
func TestReopenComparesWithWhatWasAcknowledged(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(a *acknowledged)
		at     uint64
	}{
		"an early end":    {func(a *acknowledged) { a.sequence = 4 }, 4},
		"another message": {func(a *acknowledged) { a.body = []byte("another") }, 3},
		"nothing":         {func(*acknowledged) {}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			b := mustOpen(t, t.TempDir(), Always)
			for n := range uint64(3) {
				message := events.Message{
					Subject: events.SubjectPrefix + "p.task.t",
					Body:    fmt.Appendf(nil, `{"n":%d}`, n),
				}
				if err := b.Append(t.Context(), n, []events.Message{message}); err != nil {
					t.Fatal(err)
				}
			}
			c.change(&b.last)
			b.doubtful.Store(true)
			_, err := b.Sync(t.Context())
			var damage *events.DamageError
			if errors.As(err, &damage) != (c.at > 0) || c.at > 0 && damage.Sequence != c.at {
				t.Errorf("%v", err)
			}
		})
	}
}

// A failed sync is not repeated on the same pages: the store is read from the disk first.
func TestFailedSyncIsNotRetried(t *testing.T) {
	b := mustOpen(t, t.TempDir(), Interval)
	message := events.Message{Subject: events.SubjectPrefix + "p.task.t", Body: []byte("{}")}
	if err := b.Append(t.Context(), 0, []events.Message{message}); err != nil {
		t.Fatal(err)
	}
	b.blocks.mu.Lock()
	b.blocks.failed = unix.EIO // as fsync reported
	b.blocks.mu.Unlock()
	if _, err := b.Sync(t.Context()); !errors.Is(err, unix.EIO) || !b.doubtful.Load() {
		t.Errorf("the failed sync: %v, doubtful: %t", err, b.doubtful.Load())
	}
	if head, err := b.Sync(t.Context()); err != nil || head != 1 {
		t.Errorf("head %d, %v", head, err)
	}
	if b.blocks.sync() != nil {
		t.Error("the sync after the reopen fails")
	}
}

// The next write reopens the store once a failure has passed: it does not wait for the mender's next turn, in which
// there is nothing left to do.
func TestNextWriteReopensAfterFailure(t *testing.T) {
	b := mustOpen(t, t.TempDir(), Always)
	m := &b.mender
	m.running = true // waiting for its next turn
	if err := b.failed(t.Context(), errors.New("the disk failed once")); err == nil || b.Ready() == nil {
		t.Fatalf("the failure was not noted: %v", err)
	}
	b.doubtful.Store(true)
	if _, err := b.Sync(t.Context()); err != nil || b.Ready() != nil {
		t.Errorf("after the reopen: %v, %v", err, b.Ready())
	}
	server := b.embedded.server
	b.mend()
	if b.embedded.server != server || m.running {
		t.Error("the mender reopened the store once more")
	}
	m.err = errors.New("the disk failed again")
	m.mended(m.count() - 1)
	if b.Ready() == nil {
		t.Error("a failure since the reopen began was forgotten")
	}
	m.err = nil
}
