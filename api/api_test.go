package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"maestro/api"
	"maestro/engine"
	"maestro/events"
	"maestro/projections"
	"maestro/service"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// memoryLog is a log that never fails.
type memoryLog struct {
	mu       sync.Mutex
	messages []events.Message
}

func (l *memoryLog) Append(_ context.Context, after uint64, messages []events.Message) error {
	l.mu.Lock()
	defer l.mu.Unlock()
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

func (l *memoryLog) head() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return uint64(len(l.messages))
}

// memoryBlobs keeps blobs by digest.
type memoryBlobs struct {
	mu    sync.Mutex
	blobs map[string][]byte
}

func (b *memoryBlobs) PutBlob(_ context.Context, blob []byte) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	digest := "sha256-" + events.BodyHash(blob).String()
	b.blobs[digest] = bytes.Clone(blob)
	return digest, nil
}

func (b *memoryBlobs) DeleteBlob(_ context.Context, digest string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.blobs, digest)
	return nil
}

func (b *memoryBlobs) Blob(_ context.Context, digest string) ([]byte, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if blob, ok := b.blobs[digest]; ok {
		return blob, nil
	}
	return nil, events.ErrNoBlob
}

const adminToken = "the-admin-token"

var serverKey = []byte("0123456789abcdef0123456789abcdef")

// world is a server with its log, and a plain client.
type world struct {
	*testing.T
	log     *memoryLog
	blobs   *memoryBlobs
	handler *engine.Handler
	denials *engine.Denials
	leases  *engine.Leases
	api     http.Handler
	url     string
	client  *http.Client
}

// open makes a server that is reached through the network.
func open(t *testing.T, change func(*setup)) *world {
	t.Helper()
	w := build(t, change)
	server := httptest.NewServer(w.api)
	w.url, w.client = server.URL, &http.Client{Transport: &http.Transport{}}
	t.Cleanup(func() {
		w.client.CloseIdleConnections()
		server.Close()
	})
	return w
}

// openInside makes one that is called directly, for tests whose time is synctest's.
func openInside(t *testing.T, change func(*setup)) *world {
	t.Helper()
	w := build(t, change)
	w.url, w.client = "http://127.0.0.1", &http.Client{Transport: direct{w.api, "127.0.0.1:1"}}
	return w
}

type serviceConfig = service.Config

// setup configures a server under test.
type setup struct {
	serviceConfig
	api.Config
	// serving, if set, gets the service.
	serving func(*service.Service)
}

// open returns the HTTP handler over a service.
func (c setup) open() (http.Handler, error) {
	served, err := service.New(c.serviceConfig)
	if err != nil {
		return nil, err
	}
	c.Service = served
	if c.serving != nil {
		c.serving(served)
	}
	return api.New(c.Config)
}

func build(t *testing.T, change func(*setup)) *world {
	t.Helper()
	log := &memoryLog{}
	blobs := &memoryBlobs{blobs: map[string][]byte{}}
	denials, err := engine.OpenDenials(t.Context(), &memoryDenials{}, time.Now, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(denials.Close)
	handler, err := engine.Open(t.Context(), engine.Config{
		Log:     log,
		Blobs:   blobs,
		Denials: denials,
		Now:     time.Now,
		After:   time.After,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(handler.Close)
	config := setup{
		serviceConfig: service.Config{
			Handler:  handler,
			Log:      log,
			Blobs:    blobs,
			Denials:  denials,
			Keys:     service.Keys{AdminToken: []byte(adminToken), ServerKey: serverKey},
			Hostname: "box",
			Platform: "linux",
		},
		Config: api.Config{Version: "test", AllowOrigins: []string{"https://page.example"}},
	}
	if change != nil {
		change(&config)
	}
	told := config.serving
	config.serving = func(served *service.Service) {
		runViews(t, served)
		if told != nil {
			told(served)
		}
	}
	h, err := config.open()
	if err != nil {
		t.Fatal(err)
	}
	return &world{
		T:       t,
		log:     log,
		blobs:   blobs,
		handler: handler,
		denials: denials,
		leases:  config.Leases,
		api:     h,
	}
}

// runViews runs the live views for the time of a test.
func runViews(t *testing.T, served *service.Service) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		served.Views.Run(ctx)
		close(ended)
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
}

// direct is a transport without a network: the handler runs in the caller's goroutine.
type direct struct {
	handler http.Handler
	from    string
}

func (d direct) RoundTrip(r *http.Request) (*http.Response, error) {
	request := r.Clone(r.Context())
	request.RemoteAddr, request.RequestURI = d.from, r.URL.RequestURI()
	if request.Host == "" {
		request.Host = r.URL.Host
	}
	if request.Body == nil {
		request.Body = http.NoBody
	}
	recorder := httptest.NewRecorder()
	d.handler.ServeHTTP(recorder, request)
	return recorder.Result(), nil
}

// memoryDenials keeps records of refusals in memory.
type memoryDenials struct {
	mu      sync.Mutex
	records []engine.StoredDenial
}

func (m *memoryDenials) StoreDenials(_ context.Context, records []engine.StoredDenial) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.records = append(m.records, records...)
	return nil
}

func (m *memoryDenials) LoadDenials(context.Context, func(engine.StoredDenial) error) error {
	return nil
}

// withLeases gives the server leases, which are told of calls, and check sessions only while a test runs them.
func withLeases(t *testing.T, lease time.Duration) func(*setup) {
	return func(c *setup) {
		start := time.Now()
		leases, err := engine.NewLeases(engine.LeasesConfig{
			Handler: c.Handler,
			Elapsed: func() time.Duration { return time.Since(start) },
			After:   time.After,
			Lease:   lease,
		})
		if err != nil {
			t.Fatal(err)
		}
		c.Leases = leases
	}
}

func authOff(c *setup) { c.AuthOff = true }

// reply is the server's reply.
type reply struct {
	*testing.T
	status int
	header http.Header
	// trailer came after the body.
	trailer http.Header
	body    []byte
}

// send makes a request; token "" sends none, header pairs follow.
func (w *world) send(method, path, token, body string, header ...string) reply {
	w.Helper()
	var reader io.Reader
	if body != "" {
		reader = strings.NewReader(body)
	}
	if strings.HasPrefix(path, "/api/live") && !strings.Contains(path, "follow=") { // it would not end
		path += map[bool]string{true: "&", false: "?"}[strings.Contains(path, "?")] + "follow=false"
	}
	req, err := http.NewRequestWithContext(w.Context(), method, w.url+path, reader)
	if err != nil {
		w.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(header); i += 2 {
		switch {
		case header[i] == "Host":
			req.Host = header[i+1]
		case header[i+1] == "":
			req.Header.Del(header[i])
		default:
			req.Header.Set(header[i], header[i+1])
		}
	}
	resp, err := w.client.Do(req)
	if err != nil {
		w.Fatalf("%s %s: %v", method, path, err)
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		w.Fatalf("%s %s: %v", method, path, err)
	}
	r := reply{w.T, resp.StatusCode, resp.Header, resp.Trailer, answer}
	if req.Header.Get("Upgrade") == "" { // what refuses a WebSocket is not the API
		published().checkAnswer(w.T, method, path, body, r)
	}
	return r
}

// object reads the reply as a JSON object.
func (r reply) object() map[string]any {
	r.Helper()
	var object map[string]any
	if err := json.Unmarshal(r.body, &object); err != nil {
		r.Fatalf("status %d, not a JSON object: %s", r.status, r.body)
	}
	return object
}

func (r reply) array() []any {
	r.Helper()
	var array []any
	if err := json.Unmarshal(r.body, &array); err != nil || array == nil {
		r.Fatalf("status %d, not a JSON array: %s", r.status, r.body)
	}
	return array
}

// at walks into a JSON value by keys.
func (r reply) at(keys ...string) any {
	r.Helper()
	var value any = r.object()
	for _, key := range keys {
		object, ok := value.(map[string]any)
		if !ok {
			r.Fatalf("no %v in %s", keys, r.body)
		}
		value = object[key]
	}
	return value
}

func (r reply) text(keys ...string) string {
	r.Helper()
	text, ok := r.at(keys...).(string)
	if !ok {
		r.Fatalf("no text at %v in %s", keys, r.body)
	}
	return text
}

func (r reply) is(status int) reply {
	r.Helper()
	if r.status != status {
		r.Fatalf("status %d, expected %d: %s", r.status, status, r.body)
	}
	return r
}

// refused checks the whole form of an error.
func (r reply) refused(status int, code, message string) reply {
	r.Helper()
	r.is(status)
	o := r.object()
	if o["error"] != true || o["code"] != code || !strings.Contains(r.text("message"), message) {
		r.Errorf("expected %s with %q, got %s", code, message, r.body)
	}
	for _, key := range []string{"message", "why", "next"} {
		if text, ok := o[key].(string); !ok || text == "" {
			r.Errorf("an error has %s: %s", key, r.body)
		}
	}
	if got := r.header.Get("Content-Type"); got != "application/json; charset=utf-8" {
		r.Errorf("an error of type %q", got)
	}
	return r
}

// do executes a command.
func (w *world) do(token, id, body string, header ...string) reply {
	w.Helper()
	return w.send(http.MethodPost, "/api/commands/"+id, token, body, header...)
}

// project, task and session create the objects with which a test begins, as the admin.
func (w *world) project() string {
	w.Helper()
	return w.do(adminToken, "project:create", `{"name":"P"}`).is(200).text("event", "data", "projectId")
}

func (w *world) task(project string) string {
	w.Helper()
	return w.do(adminToken, "task:create", `{"project":"`+project+`","title":"T"}`).is(200).text("event", "data",
		"taskId")
}

// session spawns by a token and returns the session's id and secret.
func (w *world) session(by, project, task, fields string) (id, token string) {
	w.Helper()
	r := w.do(by, "session:spawn", `{"project":"`+project+`","taskIds":["`+task+`"]`+fields+`}`).is(200)
	return r.text("event", "data", "sessionId"), r.text("token")
}

// views returns the encoded state, to see that nothing changed.
func (w *world) views() string {
	w.Helper()
	var encoded []byte
	w.handler.View(func(s *projections.State) {
		var err error
		if encoded, err = s.Encode(); err != nil {
			w.Fatal(err)
		}
	})
	return string(encoded)
}

// last returns the newest event of the log.
func (w *world) last() *events.Event {
	w.Helper()
	return w.event(w.log.head())
}

// event returns the event at a sequence.
func (w *world) event(sequence uint64) *events.Event {
	w.Helper()
	w.log.mu.Lock()
	body := w.log.messages[sequence-1].Body
	w.log.mu.Unlock()
	event, err := events.Decode(body)
	if err != nil {
		w.Fatal(err)
	}
	return event
}
