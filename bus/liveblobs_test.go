package bus

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
)

// askedContext reports each call that asks whether it has ended.
type askedContext struct {
	context.Context

	asked func()
}

func (c askedContext) Err() error {
	c.asked()
	return c.Context.Err()
}

// TestLongTextReadEndsWithCaller: the read can end between any two parts of a text, and no other read waits
// meanwhile.
func TestLongTextReadEndsWithCaller(t *testing.T) {
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
		t.Fatalf("%d parts were read, and the caller's context was checked %d times: %v", len(text.parts), times, err)
	}
	for last := range times {
		ctx, cancel := context.WithCancel(t.Context())
		n := 0
		leaving := askedContext{ctx, func() {
			if len(b.texts.turn) == 0 { // the text is being read: another read can be answered meanwhile
				if got, err := b.texts.blob(t.Context(), digests[1]); err != nil || !bytes.Equal(got, short) {
					t.Fatalf("a read of another text meanwhile: %q, %v", got, err)
				}
			}
			if n++; n > last {
				cancel()
			}
		}}
		_, err := b.texts.blob(leaving, digests[0])
		if !errors.Is(err, errNotSearched) || !errors.Is(err, context.Canceled) {
			t.Fatalf("after %d checks of its context, the read ends with %v", n, err)
		}
	}
	if len(b.texts.turn) != 0 || len(b.texts.reading) != 0 {
		t.Fatal("a read that ended still blocks others")
	}
	meanwhile := 0
	free := askedContext{t.Context(), func() { meanwhile += 1 - len(b.texts.turn) }}
	if _, err := b.texts.blob(free, digests[0]); err != nil || meanwhile < len(text.parts) {
		t.Fatalf("others had their turn %d times while %d parts were read, %v", meanwhile, len(text.parts), err)
	}
}

// TestFewLongTextsAreReadAtOnce: further reads wait for as long as their callers do.
func TestFewLongTextsAreReadAtOnce(t *testing.T) {
	t.Parallel()
	b := mustOpen(t, filepath.Join(t.TempDir(), "store"), Interval)
	digest, err := b.PutBlob(t.Context(), []byte("a text"))
	must(t, err)
	for range textsAtOnce {
		b.texts.reading <- struct{}{}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.texts.blob(ctx, digest); !errors.Is(err, errNotSearched) {
		t.Errorf("a read above the limit: %v", err)
	}
	<-b.texts.reading
	if _, err := b.texts.blob(t.Context(), digest); err != nil {
		t.Errorf("a read after another has ended: %v", err)
	}
	for range textsAtOnce - 1 {
		<-b.texts.reading
	}
}

// TestStoredTextsAreFoundAtOnce: callers share a search of the blocks only if it began after each of them asked, so a
// text that is stored is found, and one that is not stored is never found.
func TestStoredTextsAreFoundAtOnce(t *testing.T) {
	t.Parallel()
	b := mustOpen(t, filepath.Join(t.TempDir(), "store"), Interval)
	const callers, each = 16, 30
	var all sync.WaitGroup
	for caller := range callers {
		all.Go(func() {
			for i := range each {
				content := fmt.Appendf(nil, "text %d of caller %d", i, caller)
				if _, err := b.texts.size(t.Context(), Digest(content)); !errors.Is(err, errNotThere) {
					t.Errorf("before it is stored: %v", err)
				}
				digest, err := b.PutBlob(t.Context(), content)
				if err != nil {
					t.Errorf("store it: %v", err)
					return
				}
				if size, err := b.texts.size(t.Context(), digest); err != nil || size != int64(len(content)) {
					t.Errorf("after it is stored: %d bytes, %v", size, err)
				}
			}
		})
	}
	all.Wait()
}

// TestSearchesAreShared: callers that wait while the blocks are searched share the next search.
func TestSearchesAreShared(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		texts := newLiveBlobs(dir)
		texts.turn <- struct{}{}
		const callers = 16
		for range callers {
			go func() {
				if _, err := texts.size(t.Context(), Digest(nil)); !errors.Is(err, errNotThere) {
					t.Error(err)
				}
			}()
		}
		synctest.Wait()
		<-texts.turn
		synctest.Wait()
		if searches := texts.begun.Load(); searches != 1 {
			t.Errorf("%d searches for %d callers that waited", searches, callers)
		}
	})
}
