package webhooks

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"maestro/commands"
	"maestro/engine"
	"maestro/events"
	"maestro/projections"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// memoryLog is a log that fails only when it is told to.
type memoryLog struct {
	mu       sync.Mutex
	messages []events.Message
	// refuses is the error of every append; nil if it takes them.
	refuses error
}

func (l *memoryLog) Append(_ context.Context, after uint64, messages []events.Message) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.refuses != nil {
		return l.refuses
	}
	if uint64(len(l.messages)) != after {
		return events.ErrConflict
	}
	l.messages = append(l.messages, messages...)
	return nil
}

func (l *memoryLog) Sync(context.Context) (uint64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return uint64(len(l.messages)), nil
}

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

// memoryStore is a store that survives a restart.
type memoryStore struct {
	mu      sync.Mutex
	content []byte
	fails   error
	// slow is how long the next save takes.
	slow time.Duration
	// before are all contents that were saved, in order.
	before [][]byte
}

func (s *memoryStore) Load() ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.content), nil
}

func (s *memoryStore) Save(content []byte) error {
	s.mu.Lock()
	slow := s.slow
	s.slow = 0
	s.mu.Unlock()
	time.Sleep(slow)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fails == nil {
		s.content = slices.Clone(content)
		s.before = append(s.before, s.content)
	}
	return s.fails
}

// plainSource shows events as they are stored.
type plainSource struct{}

func (plainSource) WebhookText(_ *events.Event, text []byte) []byte { return text }
func (plainSource) WebhookSecret(id string, generation int) []byte {
	return fmt.Appendf(nil, "secret of %s, generation %d", id, generation)
}

// world is a log with a sender, in one bubble of time.
type world struct {
	*testing.T
	log     *memoryLog
	store   *memoryStore
	handler *engine.Handler
	sender  *Sender
	config  Config
	project string
	keys    int
	// hosts are the receivers by host name.
	hosts map[string]*host
	over  func()
}

// bubble runs a test in a bubble of time.
func bubble(t *testing.T, test func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.close()
		test(w)
	})
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{
		T:     t,
		log:   &memoryLog{},
		store: &memoryStore{},
		hosts: map[string]*host{},
	}
	handler, err := engine.Open(context.Background(), engine.Config{Log: w.log, Now: time.Now, After: time.After})
	if err != nil {
		t.Fatal(err)
	}
	w.handler = handler
	w.config = Config{
		Handler: handler,
		Log:     w.log,
		Store:   w.store,
		Version: "test",
	}
	w.project = w.do("project:create", `{"name":"Alpha"}`).(*events.ProjectCreated).ProjectID
	w.start()
	return w
}

// start starts a sender, whose connections lead to the hosts of the test.
func (w *world) start() {
	w.sender = New(w.config)
	for _, client := range []*http.Client{w.sender.post.plain, w.sender.post.secure} {
		client.Transport.(*http.Transport).DialContext = func(_ context.Context, _, address string) (net.Conn, error) {
			name, _, _ := net.SplitHostPort(address)
			return w.hosts[name].dial()
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	sender := w.sender
	go func() { sender.Run(ctx, plainSource{}); close(done) }()
	w.over = func() { cancel(); <-done }
}

func (w *world) close() {
	w.over()
	for _, h := range w.hosts {
		h.close()
	}
	w.handler.Close()
	time.Sleep(time.Minute) // the receivers notice that nobody is there
}

// restart stops the sender and starts another one, with what was saved.
func (w *world) restart() { w.over(); w.start() }

// logs restarts the sender with a logger, and returns what it writes.
func (w *world) logs() *logged {
	w.over()
	text := &logged{}
	w.config.Logger = slog.New(slog.NewTextHandler(text, nil))
	w.start()
	return text
}

// logged is what a logger wrote.
type logged struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// do executes a command of the user and returns its event's data.
func (w *world) do(id, body string) events.Data {
	w.Helper()
	w.keys++
	command, err := commands.Parse(id, []byte(body))
	if err != nil {
		w.Fatal(err)
	}
	answer, err := w.handler.Do(context.Background(), engine.Request{
		By: commands.Admin(commands.AuthnToken), Command: command, Key: fmt.Sprint(w.keys),
	})
	if err != nil {
		w.Fatalf("%s %s: %v", id, body, err)
	}
	return answer.Data
}

// task creates a task and returns its id; change changes it.
func (w *world) task() string {
	return w.do("task:create", `{"project":"`+w.project+`","title":"T"}`).(*events.TaskCreated).TaskID
}

func (w *world) change(task string, n int) {
	w.do("task:update", fmt.Sprintf(`{"taskId":%q,"title":"T%d"}`, task, n))
}

// hook creates a webhook to a host, which accepts everything at first.
func (w *world) hook(name string, fields ...string) (id string, h *host) {
	h = newHost()
	w.hosts[name] = h
	body := `{"url":"http://` + name + `/"` + strings.Join(append([]string{""}, fields...), ",") + `}`
	return w.do("webhook:create", body).(*events.WebhookCreated).WebhookID, h
}

func (w *world) webhook(id string) (x *projections.Webhook) {
	w.handler.View(func(s *projections.State) { x = s.Webhook(id) })
	return x
}

// refuse makes the log refuse every append; nil ends that.
func (w *world) refuse(err error) {
	w.log.mu.Lock()
	defer w.log.mu.Unlock()
	w.log.refuses = err
}

func (w *world) head() (head uint64) {
	w.handler.View(func(s *projections.State) { head = s.Head().Sequence })
	return head
}

// settle lets time pass, until everybody waits.
func settle(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// got is a request that a host got.
type got struct {
	id, subject, kind string
	at                time.Time
	header            http.Header
	body              []byte
}

// host is a receiver at the other end of pipes.
type host struct {
	server *http.Server
	conns  chan net.Conn
	done   chan struct{}

	mu sync.Mutex
	// got are all requests, accepted the ids of those that were accepted, in order.
	got      []got
	accepted []got
	// answer answers a request; nil accepts it. It may not return before the request's context ends.
	answer func(w http.ResponseWriter, r *http.Request, g got) (status int)
	dials  int
	// raw takes over connections.
	raw func(net.Conn)
}

func newHost() *host {
	h := &host{conns: make(chan net.Conn), done: make(chan struct{})}
	h.server = &http.Server{Handler: h}
	go func() { _ = h.server.Serve(h) }()
	return h
}

func (h *host) dial() (net.Conn, error) {
	h.mu.Lock()
	h.dials++
	raw := h.raw
	h.mu.Unlock()
	ours, theirs := net.Pipe()
	if raw != nil {
		go raw(theirs)
		return ours, nil
	}
	select {
	case h.conns <- theirs:
		return ours, nil
	case <-h.done:
		return nil, net.ErrClosed
	}
}

// Accept, Close and Addr make it a listener.
func (h *host) Accept() (net.Conn, error) {
	select {
	case c := <-h.conns:
		return c, nil
	case <-h.done:
		return nil, net.ErrClosed
	}
}

func (h *host) Close() error   { return nil }
func (h *host) Addr() net.Addr { return &net.TCPAddr{} }
func (h *host) close()         { close(h.done); _ = h.server.Close() }

func (h *host) answers(answer func(w http.ResponseWriter, r *http.Request, g got) int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.answer = answer
}

// status makes it answer with a status.
func (h *host) status(code int) {
	h.answers(func(http.ResponseWriter, *http.Request, got) int { return code })
}

func (h *host) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g := got{id: r.Header.Get("Webhook-Id"), at: time.Now(), header: r.Header}
	g.body, g.subject, g.kind = bodyOf(r)
	h.mu.Lock()
	h.got = append(h.got, g)
	answer := h.answer
	h.mu.Unlock()
	code := 204
	if answer != nil {
		code = answer(w, r, g)
	}
	if code == 0 {
		return
	}
	h.mu.Lock()
	if code < 300 {
		h.accepted = append(h.accepted, g)
	}
	h.mu.Unlock()
	w.WriteHeader(code)
}

func (h *host) requests() []got {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.got)
}

func (h *host) took() []got {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.accepted)
}

// complete checks that a host accepted every event after a sequence at least once and, without repetitions, in the
// order of the log in each subject.
func (w *world) complete(h *host, after uint64) {
	w.Helper()
	wrongOrder := map[string]bool{}
	var want []string
	place := map[string]int{}
	w.log.mu.Lock()
	messages := slices.Clone(w.log.messages)
	w.log.mu.Unlock()
	for _, m := range messages {
		if m.Sequence <= after {
			continue
		}
		e, err := events.Decode(m.Body)
		if err != nil {
			w.Fatal(err)
		}
		place[e.ID.String()] = len(want)
		want = append(want, e.ID.String())
	}
	seen, last := map[string]bool{}, map[string]int{}
	for _, g := range h.took() {
		at, known := place[g.id]
		if !known {
			w.Errorf("it got %s, which it should not get", g.kind)
			continue
		}
		if seen[g.id] {
			continue
		}
		seen[g.id] = true
		if before, ok := last[g.subject]; ok && at < before {
			wrongOrder[g.subject] = true
		}
		last[g.subject] = at
	}
	for subject := range wrongOrder {
		w.Errorf("the events of %s came in another order", subject)
	}
	if len(seen) != len(want) {
		w.Errorf("it got %d of %d events", len(seen), len(want))
	}
}
