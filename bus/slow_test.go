package bus

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"maestro/events"
)

// A deadline that passes before anything is sent says nothing about nats-server, so it is not restarted.
func TestLateLookupDoesNotRestart(t *testing.T) {
	b := mustOpen(t, t.TempDir(), Interval)
	past, cancel := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer cancel()
	_, put := b.PutBlob(past, []byte("text"))
	stored := b.StoreDenials(past, []events.StoredDenial{{Slot: "1", Body: []byte("{}")}})
	b.texts.turn <- struct{}{} // another call indexes blocks
	_, read := b.Blob(past, Digest(nil))
	_, behind := b.putBlob(t.Context(), []byte("text"), time.Nanosecond)
	<-b.texts.turn
	for name, err := range map[string]error{
		"a long text":                 put,
		"a refusal":                   stored,
		"a read behind the index":     read,
		"a long text behind an index": behind,
	} {
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v, expected a deadline error", name, err)
		}
	}
	if b.mender.failures != 0 {
		t.Errorf("the server was reopened for %d failures, expected none", b.mender.failures)
	}
}

// Refilling or opening a store may take longer than a single call.
func TestFillingAStoreHasItsOwnTimeout(t *testing.T) {
	t.Parallel()
	dir, log, _, denials := filledStore(t)
	image := storeCopy(t, dir)
	for _, stream := range []string{BlobStream, DeniedStream} {
		flip(t, filepath.Join(streamPath(image, stream), "msgs", "1.blk"), func(size int64) int64 { return size / 2 })
	}
	options := Options{
		Dir:       image,
		Witnessed: uint64(len(log)),
		Logger:    testLogger(t),
		Timeout:   time.Nanosecond,
	}
	b, err := Open(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	b.doubtful.Store(true)
	head, err := b.Sync(t.Context())
	if err != nil || head != uint64(len(log)) {
		t.Errorf("reopened with the head %d: %v", head, err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if got := denialsOf(t, openWitnessed(t, image, Always, head).LoadDenials); len(got) < len(denials)-1 {
		t.Errorf("%d of %d refusals are left", len(got), len(denials))
	}
	if _, err := Build(t.Context(), filepath.Join(t.TempDir(), "store"), func(s *Builder) error {
		if s.bus.options.Timeout < time.Minute {
			t.Errorf("the store is filled with a timeout of %s", s.bus.options.Timeout)
		}
		return s.Blob(bytes.Repeat([]byte("x"), 1000))
	}); err != nil {
		t.Fatal(err)
	}
}
