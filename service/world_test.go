package service

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"maestro/commands"
	"maestro/engine"
	"maestro/events"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// memoryLog is a log that never fails.
type memoryLog struct {
	mu       sync.Mutex
	messages []events.Message
	// slow, if not nil, is called before each append.
	slow func()
}

func (l *memoryLog) Append(_ context.Context, after uint64, messages []events.Message) error {
	if l.slow != nil {
		l.slow()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if uint64(len(l.messages)) != after {
		return events.ErrConflict
	}
	l.messages = append(l.messages, messages...)
	return nil
}

func (l *memoryLog) Sync(context.Context) (uint64, error) { return l.head(), nil }

func (l *memoryLog) Read(_ context.Context, from, to uint64, yield func(events.Message) error) error {
	l.mu.Lock()
	messages := l.messages
	l.mu.Unlock()
	for s := from; s <= to; s++ {
		if s > uint64(len(messages)) {
			return &events.DamageError{Sequence: s, Why: "missing"}
		}
		if err := yield(messages[s-1]); err != nil {
			return err
		}
	}
	return nil
}

func (l *memoryLog) head() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return uint64(len(l.messages))
}

// world is a service on a log in memory.
type world struct {
	*testing.T
	*Service
	log  *memoryLog
	keys int
}

func newWorld(t *testing.T) *world { return worldOn(t, &memoryLog{}) }

// worldOn opens a log, which another world may still have open, like a killed server that has not exited yet.
func worldOn(t *testing.T, log *memoryLog) *world {
	t.Helper()
	return worldWith(t, log, nil)
}

// worldWith opens a log whose long texts are in blobs.
func worldWith(t *testing.T, log *memoryLog, blobs Blobs) *world {
	t.Helper()
	handler, err := engine.Open(t.Context(), engine.Config{
		Log:   log,
		Blobs: blobs,
		Now:   time.Now,
		After: time.After,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(handler.Close)
	s, err := New(Config{
		Handler: handler,
		Log:     log,
		Blobs:   blobs,
		Keys:    Keys{AdminToken: []byte("admin token"), ServerKey: []byte("0123456789abcdef0123456789abcdef")},
	})
	if err != nil {
		t.Fatal(err)
	}
	return &world{T: t, Service: s, log: log}
}

func (w *world) admin() *Caller { return &Caller{By: commands.Admin(commands.AuthnToken)} }

// do executes a command.
func (w *world) do(c *Caller, id, body string) Done {
	w.Helper()
	w.keys++
	done, err := w.try(c, id, body, fmt.Sprint("key ", w.keys))
	if err != nil {
		w.Fatalf("%s %s: %v", id, body, err)
	}
	return done
}

func (w *world) try(c *Caller, id, body, key string) (Done, error) {
	caller := *c
	caller.Meta = Meta{Key: key}
	return w.Do(w.Context(), &caller, Call{
		ID:     id,
		Length: int64(len(body)),
		Body:   func() ([]byte, error) { return []byte(body), nil },
		Drop:   func() {},
	})
}

// make executes a command and returns the id of what it creates.
func (w *world) make(c *Caller, id, body string) string {
	w.Helper()
	_, made := w.do(c, id, body).Data.Aggregate()
	return made
}

// caller returns the caller with a token.
func (w *world) caller(token string) *Caller {
	w.Helper()
	c, err := w.Authenticate(token)
	if err != nil {
		w.Fatal(err)
	}
	return c
}

// token creates a named token and returns its caller.
func (w *world) token(body string) *Caller {
	w.Helper()
	return w.caller(w.do(w.admin(), "token:create", body).Token)
}
