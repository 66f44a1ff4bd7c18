package natslive

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"go.uber.org/goleak"

	"maestro/commands"
	"maestro/engine"
	"maestro/events"
	"maestro/service"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// memoryLog is a log that fails when a test says so.
type memoryLog struct {
	mu       sync.Mutex
	messages []events.Message
	// before, if not nil, decides about each append before it is stored.
	before func() error
}

func (l *memoryLog) Append(_ context.Context, after uint64, messages []events.Message) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if uint64(len(l.messages)) != after {
		return events.ErrConflict
	}
	if l.before != nil {
		if err := l.before(); err != nil {
			return err
		}
	}
	l.messages = append(l.messages, messages...)
	return nil
}

func (l *memoryLog) Sync(context.Context) (uint64, error) { return uint64(len(l.all())), nil }

func (l *memoryLog) Read(_ context.Context, from, to uint64, yield func(events.Message) error) error {
	messages := l.all()
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

func (l *memoryLog) all() []events.Message {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.messages
}

func (l *memoryLog) fail(before func() error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.before = before
}

const adminToken = "the-admin-token"

// world is a service on a log in memory, with a listener for NATS clients.
type world struct {
	*testing.T
	*service.Service
	log  *memoryLog
	live *Server
	tick chan time.Time

	mu   sync.Mutex
	keys int
}

func newWorld(t *testing.T, secure *tls.Config) *world {
	t.Helper()
	w := &world{T: t, log: &memoryLog{}, tick: make(chan time.Time)}
	handler, err := engine.Open(t.Context(), engine.Config{Log: w.log, Now: time.Now, After: time.After})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(handler.Close)
	w.Service, err = service.New(service.Config{
		Handler: handler,
		Log:     w.log,
		Keys: service.Keys{
			AdminToken: []byte(adminToken), ServerKey: []byte("0123456789abcdef0123456789abcdef"),
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	w.live, err = Start(t.Context(), Config{
		Service: w.Service,
		Address: "127.0.0.1:0",
		TLS:     secure,
		Logger:  slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.live.Close)
	w.run(func(ctx context.Context) { w.live.Run(ctx, w.tick) })
	w.run(w.Views.Run)
	return w
}

// run runs something for the time of the test.
func (w *world) run(what func(context.Context)) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		what(ctx)
		close(ended)
	}()
	w.Cleanup(func() {
		cancel()
		<-ended
	})
}

func admin() *service.Caller { return &service.Caller{By: commands.Admin(commands.AuthnToken)} }

func (w *world) try(id, body string) (service.Done, error) {
	w.mu.Lock()
	w.keys++
	c := admin()
	c.Meta = service.Meta{Key: fmt.Sprint("key ", w.keys)}
	w.mu.Unlock()
	return w.Do(context.Background(), c, service.Call{
		ID:     id,
		Length: int64(len(body)),
		Body:   func() ([]byte, error) { return []byte(body), nil },
		Drop:   func() {},
	})
}

func (w *world) do(id, body string) service.Done {
	w.Helper()
	done, err := w.try(id, body)
	if err != nil {
		w.Fatalf("%s %s: %v", id, body, err)
	}
	return done
}

// make executes a command and returns the id of what it creates.
func (w *world) make(id, body string) string {
	w.Helper()
	_, made := w.do(id, body).Data.Aggregate()
	return made
}

// token creates a token and returns its secret.
func (w *world) token(body string) string {
	w.Helper()
	return w.do("token:create", body).Token
}

// client is a plain NATS client.
type client struct {
	*nats.Conn
	world *world
	// wrong gets what the server refused, closed ends with the connection.
	wrong  chan error
	closed chan struct{}
}

// connect connects a client that does not connect again.
func (w *world) connect(token string, more ...nats.Option) *client {
	w.Helper()
	c, err := w.dial(append(more, nats.Token(token))...)
	if err != nil {
		w.Fatal(err)
	}
	return c
}

func (w *world) dial(options ...nats.Option) (*client, error) {
	c := &client{world: w, wrong: make(chan error, 1000), closed: make(chan struct{})}
	var err error
	c.Conn, err = nats.Connect(w.live.URL(), append(options,
		nats.NoReconnect(),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { c.wrong <- err }),
		nats.ClosedHandler(func(*nats.Conn) { close(c.closed) }),
	)...)
	if err != nil {
		return nil, err
	}
	w.Cleanup(func() {
		c.Close()
		<-c.closed
	})
	return c, nil
}

// follow subscribes, and returns once the server knows it.
func (c *client) follow(subject string) *nats.Subscription {
	c.world.Helper()
	s, err := c.SubscribeSync(subject)
	if err = errors.Join(err, c.Flush()); err != nil {
		c.world.Fatal(err)
	}
	if err := s.SetPendingLimits(-1, -1); err != nil {
		c.world.Fatal(err)
	}
	return s
}

// next waits for the next event. Its error is the client's, such as that of a closed connection.
func (c *client) next(s *nats.Subscription) *nats.Msg {
	c.world.Helper()
	m, err := s.NextMsgWithContext(c.world.Context())
	if err != nil {
		c.world.Fatal(err)
	}
	return m
}
