package service

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"maestro/events"
)

// failingBlobs fails with the result of fails when a text is read.
type failingBlobs struct {
	sizedBlobs

	fails func() error
}

func (b *failingBlobs) Blob(ctx context.Context, digest string) ([]byte, error) {
	if b.fails != nil {
		return nil, b.fails()
	}
	return b.sizedBlobs.Blob(ctx, digest)
}

// TestAbandonedTextReadIsCharged: a caller that requests long texts and hangs up pays as if it had read them, and
// nobody pays twice. The server's log does not mention callers that left.
func TestAbandonedTextReadIsCharged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		blobs := &failingBlobs{sizedBlobs: sizedBlobs{&countedBlobs{kept: map[string][]byte{}}}}
		w := worldWith(t, &memoryLog{}, blobs)
		var log bytes.Buffer
		w.Logger = slog.New(slog.NewTextHandler(&log, nil))
		worker, _, _ := longTasks(w, 1)
		var digest string
		for digest = range blobs.kept {
			if len(blobs.kept[digest]) >= longDescription {
				break
			}
		}
		length := len(blobs.kept[digest])
		account := w.ledger.hold(ClassOf(worker.By), AccountName(worker.By))
		defer w.ledger.letGo(account)
		paid := func(call func(a *Admission)) float64 {
			before := w.ledger.left(account, useReads)
			a, err := w.Admit(t.Context(), worker, Demand{})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { worker.admission = nil }()
			call(a)
			a.Leave()
			return before - w.ledger.left(account, useReads)
		}
		taken := paid(func(a *Admission) {
			content, err := w.GetBlob(t.Context(), worker, digest)
			if err != nil || len(content) != length {
				t.Fatalf("%d bytes, %v", len(content), err)
			}
			a.Sent(int64(length) + 100)
		})
		if want := float64(1 + length/bytesPerUnit); taken != want {
			t.Errorf("a text of %d bytes costs %v reads, want %v", length, taken, want)
		}
		left := paid(func(a *Admission) {
			ctx, cancel := context.WithCancel(t.Context())
			blobs.fails = func() error {
				cancel()
				return fmt.Errorf("cut: %w", ctx.Err())
			}
			if _, err := w.GetBlob(ctx, worker, digest); !errors.Is(err, context.Canceled) {
				t.Errorf("a caller that went away: %v", err)
			}
			a.Sent(0)
		})
		if left != taken {
			t.Errorf("a caller that leaves pays %v reads, one that takes the text %v", left, taken)
		}
		if log.Len() > 0 {
			t.Errorf("the log mentions a caller that left: %s", &log)
		}
	})
}

// TestUnreadableTextIsNotGone: the answer says to try again, because the text is found later; a text that the
// log names and the store lacks is lost. However many calls fail, the server's log gets one line a second.
func TestUnreadableTextIsNotGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		blobs := &failingBlobs{sizedBlobs: sizedBlobs{&countedBlobs{kept: map[string][]byte{}}}}
		w := worldWith(t, &memoryLog{}, blobs)
		var log bytes.Buffer
		w.Logger = slog.New(slog.NewTextHandler(&log, nil))
		longTasks(w, 1)
		for digest := range blobs.kept {
			for err, want := range map[error]Kind{
				events.ErrNoBlob:               KindInternal,
				events.ErrBadBlob:              KindInternal,
				errors.New("the disk is slow"): KindUnavailable,
				context.DeadlineExceeded:       KindUnavailable,
			} {
				blobs.fails = func() error { return err }
				for range 20 {
					_, got := w.GetBlob(t.Context(), w.admin(), digest)
					var p *Problem
					if !errors.As(got, &p) || p.Kind != want {
						t.Fatalf("%v: %v", err, got)
					}
				}
			}
		}
		if lines := strings.Count(log.String(), "\n"); lines != 1 {
			t.Errorf("%d lines in the log:\n%s", lines, &log)
		}
	})
}
