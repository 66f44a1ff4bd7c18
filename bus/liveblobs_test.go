package bus

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"testing"
)

// askedContext tells each time that it is asked whether it has ended.
type askedContext struct {
	context.Context

	asked func()
}

func (c askedContext) Err() error {
	c.asked()
	return c.Context.Err()
}

// TestAReadOfALongTextEndsWithItsCaller: between any two parts of a text, and nobody else waits for its turn meanwhile.
func TestAReadOfALongTextEndsWithItsCaller(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	b := mustOpen(t, dir, Interval)
	long, short := bytes.Repeat([]byte("long "), 400_000), []byte("short")
	digests := [2]string{}
	for i, content := range [][]byte{long, short} {
		digest, err := b.PutBlob(t.Context(), content)
		if err != nil {
			t.Fatal(err)
		}
		digests[i] = digest
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	b = openWitnessed(t, dir, Interval, 0)
	if _, err := b.texts.blob(t.Context(), digests[0]); err != nil {
		t.Fatal(err)
	}
	text, err := b.texts.find(t.Context(), digests[0], false)
	if err != nil || len(text.parts) < 10 || text.size != int64(len(long)) {
		t.Fatalf("%d parts of %d bytes, %v", len(text.parts), text.size, err)
	}
	times := 0
	counting := askedContext{t.Context(), func() { times++ }}
	if _, err := b.texts.blob(counting, digests[0]); err != nil || times < len(text.parts) {
		t.Fatalf("%d parts were read, and the caller was asked for %d times: %v", len(text.parts), times, err)
	}
	for last := range times {
		ctx, cancel := context.WithCancel(t.Context())
		n := 0
		leaving := askedContext{ctx, func() {
			if len(b.texts.turn) == 0 { // it reads the text: another finds its own meanwhile
				if got, err := b.texts.blob(t.Context(), digests[1]); err != nil || !bytes.Equal(got, short) {
					t.Fatalf("another text meanwhile: %q, %v", got, err)
				}
			}
			if n++; n > last {
				cancel()
			}
		}}
		_, err := b.texts.blob(leaving, digests[0])
		if !errors.Is(err, errNotSearched) || !errors.Is(err, context.Canceled) {
			t.Fatalf("asked %d times, the read ends with %v", n, err)
		}
	}
	if len(b.texts.turn) != 0 || len(b.texts.reading) != 0 {
		t.Fatal("a read that ended keeps others out")
	}
	meanwhile := 0
	free := askedContext{t.Context(), func() { meanwhile += 1 - len(b.texts.turn) }}
	if _, err := b.texts.blob(free, digests[0]); err != nil || meanwhile < len(text.parts) {
		t.Fatalf("others had their turn %d times while %d parts were read, %v", meanwhile, len(text.parts), err)
	}
}

// TestFewLongTextsAreReadAtOnce: the others wait, as long as their callers do.
func TestFewLongTextsAreReadAtOnce(t *testing.T) {
	t.Parallel()
	l := newLiveBlobs(t.TempDir())
	for range textsAtOnce {
		l.reading <- struct{}{}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.blob(ctx, Digest(nil)); !errors.Is(err, errNotSearched) {
		t.Errorf("one too many: %v", err)
	}
	<-l.reading
	if _, err := l.blob(t.Context(), Digest(nil)); !errors.Is(err, errNotThere) {
		t.Errorf("when there is room again: %v", err)
	}
}
