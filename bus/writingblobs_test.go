package bus

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
)

// TestWritersOfABlobTakeTurns: each content has one writer at a time, other contents are written meanwhile, and a
// waiting writer leaves when its context ends.
func TestWritersOfABlobTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w writingBlobs
		end, err := w.turn(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		second := make(chan func())
		go func() {
			end, err := w.turn(t.Context(), "a")
			if err != nil {
				t.Error(err)
			}
			second <- end
		}()
		synctest.Wait()
		select {
		case <-second:
			t.Fatal("two writers write the same content")
		default:
		}
		other, err := w.turn(t.Context(), "b")
		if err != nil {
			t.Fatal(err)
		}
		other()
		gone := errors.New("gone")
		ctx, leave := context.WithCancelCause(t.Context())
		leave(gone)
		if _, err := w.turn(ctx, "a"); !errors.Is(err, gone) {
			t.Errorf("a writer that left got %v", err)
		}
		end()
		(<-second)()
		if len(w.ends) != 0 {
			t.Errorf("%d turns are kept", len(w.ends))
		}
	})
}

// TestFoundBlobIsDurable: content that another call is writing, or failed to write, may be readable without being on
// the disk. Content that is found counts only if no call is writing it and no write has failed since the store was
// opened.
func TestFoundBlobIsDurable(t *testing.T) {
	b, err := openAt(t, t.TempDir(), Always)
	if err != nil {
		t.Fatal(err)
	}
	content := []byte("a long text")
	digest, err := b.PutBlob(t.Context(), content)
	if err != nil {
		t.Fatal(err)
	}
	b.durable.forget()                              // it could be another call's content
	end, err := b.writing.turn(t.Context(), digest) // as a writer that waits for the disk
	if err != nil {
		t.Fatal(err)
	}
	kept := make(chan error, 1)
	go func() {
		_, err := b.PutBlob(t.Context(), content)
		kept <- err
	}()
	for i := range 5 {
		if _, err := b.PutBlob(t.Context(), fmt.Append(nil, "another ", i)); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case err := <-kept:
		t.Fatalf("content that is being written was acknowledged: %v", err)
	default:
	}
	failed := errors.New("the fsync failed")
	b.mender.mu.Lock()
	b.mender.err = failed
	b.mender.mu.Unlock()
	end()
	if err := <-kept; !errors.Is(err, failed) {
		t.Errorf("content whose write failed was acknowledged: %v", err)
	}
	b.mender.mended(b.mender.count())
	if _, err := b.PutBlob(t.Context(), content); err != nil {
		t.Errorf("after the reopen: %v", err)
	}
}
