package supervisor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/google/uuid"

	"maestro/api/client"
	"maestro/commands"
	"maestro/events"
	"maestro/service/wire"
	"maestro/workers/outbox"
)

// deliverPatience is how long a delivery waits for another process that delivers.
const deliverPatience = 30 * time.Second

// keeper has the session's outbox: reports that the server could not take, which arrive in order.
type keeper struct {
	box    *outbox.Outbox
	calls  *calls
	now    func() time.Time
	logger *slog.Logger
	// arrived tells the delivering goroutine that something waits.
	arrived chan struct{}

	// mu keeps one delivery at a time, and a command from overtaking what waits.
	mu sync.Mutex
}

// newKeeper returns the keeper of an outbox, in which an earlier run may have left something.
func newKeeper(box *outbox.Outbox, c *calls, logger *slog.Logger) *keeper {
	k := &keeper{
		box:     box,
		calls:   c,
		now:     time.Now,
		logger:  logger,
		arrived: make(chan struct{}, 1),
	}
	k.arrived <- struct{}{}
	return k
}

// keep puts a command into the outbox.
func (k *keeper) keep(r *http.Request, body []byte) (wire.Kept, error) {
	key := r.Header.Get(wire.HeaderKey)
	if key == "" {
		key = uuid.NewString()
	}
	id := r.PathValue("id")
	command, err := commands.Parse(id, body)
	if err == nil {
		err = commands.CheckForm(command)
	}
	if err != nil {
		return wire.Kept{}, err
	}
	n, err := k.box.Keep(context.WithoutCancel(r.Context()), outbox.Entry{
		Command:     id,
		Body:        body,
		Key:         key,
		OccurredAt:  k.now(),
		TraceParent: events.TraceParent(r.Header.Get(wire.HeaderTraceParent)),
	})
	if err != nil {
		return wire.Kept{}, err
	}
	select {
	case k.arrived <- struct{}{}:
	default: // it is told already
	}
	return wire.Kept{Kept: true, Waiting: n, Key: key}, nil
}

// deliver sends what waits, in order. It fails if the server cannot take it now; then nothing may overtake it.
func (k *keeper) deliver(ctx context.Context) error {
	if n, err := k.box.Waiting(); err != nil || n == 0 {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	done, err := k.box.Deliver(ctx, deliverPatience, k.send,
		func(ctx context.Context, u outbox.Unproven) (former bool, err error) {
			_, err = k.calls.session.Whoami(ctx) // with a revoked secret, all look forged
			return u.SaysFormer, err
		})
	for _, damaged := range done.Damaged {
		if damaged.Replaced {
			k.logger.Warn("a kept command with a replaced secret will not be sent: the user sees it in the inbox",
				"file", damaged.File, "why", damaged.Why)
			continue
		}
		k.logger.Error("a kept command is damaged and will not be sent", "file", damaged.File, "why", damaged.Why)
	}
	if done.Delivered > 0 {
		k.logger.Info("kept commands were delivered", "count", done.Delivered)
	}
	return err
}

// send sends one kept command. A refusal is an answer: the server records it, and shows it in the inbox.
func (k *keeper) send(ctx context.Context, e outbox.Entry) error {
	_, err := k.calls.session.Do(ctx, e.Command, e.Body, client.Options{
		Key: e.Key, OccurredAt: e.OccurredAt, TraceParent: events.TraceParent(e.TraceParent),
	})
	if client.ForGood(err) {
		k.logger.Warn("the server refused a kept command", "command", e.Command, "key", e.Key, "why", err)
		return nil
	}
	return err
}

// run delivers what waits whenever something arrives, until ctx ends.
func (k *keeper) run(ctx context.Context) {
	for {
		select {
		case <-k.arrived:
		case <-ctx.Done():
			return
		}
		if err := k.flush(ctx); err != nil && ctx.Err() == nil {
			k.logger.Error("kept commands could not be delivered", "why", err)
		}
	}
}

// flush delivers what waits, however long the server is away.
func (k *keeper) flush(ctx context.Context) error {
	return k.calls.until(ctx, func(ctx context.Context) error {
		err := k.deliver(ctx)
		var busy *outbox.BusyError
		if errors.As(err, &busy) {
			return &client.ConnectionError{URL: k.calls.session.Base(), Err: fmt.Errorf("%w", err)}
		}
		return err
	})
}
