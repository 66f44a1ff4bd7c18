package bus

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"maestro/events"
)

// However long a disk delays a reopen, no call waits longer than its own time limit.
func TestWaitForReopenIsBounded(t *testing.T) {
	calls := map[string]func(ctx context.Context, b *Bus) error{
		"Append": func(ctx context.Context, b *Bus) error {
			return b.Append(ctx, 0, []events.Message{{Sequence: 1}})
		},
		"Read": func(ctx context.Context, b *Bus) error {
			return b.Read(ctx, 1, 2, func(events.Message) error { return nil })
		},
		"Blob": func(ctx context.Context, b *Bus) error {
			_, err := b.Blob(ctx, Digest([]byte("text")))
			return err
		},
		"PutBlob": func(ctx context.Context, b *Bus) error {
			_, err := b.PutBlob(ctx, []byte("text"))
			return err
		},
		"StoreDenials": func(ctx context.Context, b *Bus) error {
			return b.StoreDenials(ctx, []events.StoredDenial{{}})
		},
		"lockedHead": func(ctx context.Context, b *Bus) error {
			_, err := b.lockedHead(ctx)
			return err
		},
	}
	for name, call := range calls {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := &Bus{options: Options{Timeout: defaultTimeout}}
				b.open.Lock()
				defer b.open.Unlock()
				began := time.Now()
				if err := call(t.Context(), b); !errors.Is(err, events.ErrUnreadable) {
					t.Errorf("the call failed with %v", err)
				}
				if waited := time.Since(began); waited != defaultTimeout {
					t.Errorf("the call waited for %s", waited)
				}
			})
		})
	}
}

// A call waits for a reopen that ends soon.
func TestCallWaitsForShortReopen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &Bus{options: Options{Timeout: defaultTimeout}}
		b.open.Lock()
		go func() {
			time.Sleep(defaultTimeout / 2)
			b.open.Unlock()
		}()
		release, err := b.use()
		if err != nil {
			t.Fatal(err)
		}
		release()
	})
}
