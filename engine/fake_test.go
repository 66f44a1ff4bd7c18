package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"maestro/commands"
	"maestro/events"
	"maestro/projections"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(whole{m}) }

// fakeLog is a Log in memory whose failures a test controls.
type fakeLog struct {
	mu       sync.Mutex
	messages []events.Message
	batches  [][]events.Message // successful and failed appends
	syncs    int
	// onAppend, if set, replaces Append; it may call the log's own append, which it gets as an argument.
	onAppend func(after uint64, messages []events.Message, append func() error) error
	// onSync and onRead, when set, may fail.
	onSync, onRead func() error
}

func (l *fakeLog) Append(_ context.Context, after uint64, messages []events.Message) error {
	l.mu.Lock()
	l.batches = append(l.batches, messages)
	hook := l.onAppend
	l.mu.Unlock()
	store := func() error { return l.store(after, messages) }
	if hook != nil {
		return hook(after, messages, store)
	}
	return store()
}

func (l *fakeLog) store(after uint64, messages []events.Message) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if uint64(len(l.messages)) != after {
		return events.ErrConflict
	}
	l.messages = append(l.messages, messages...)
	return nil
}

func (l *fakeLog) Sync(context.Context) (uint64, error) {
	l.mu.Lock()
	hook := l.onSync
	l.syncs++
	l.mu.Unlock()
	if hook != nil {
		if err := hook(); err != nil {
			return 0, err
		}
	}
	return l.head(), nil
}

func (l *fakeLog) Read(_ context.Context, from, to uint64, yield func(events.Message) error) error {
	l.mu.Lock()
	hook, messages := l.onRead, l.messages
	l.mu.Unlock()
	if hook != nil {
		if err := hook(); err != nil {
			return err
		}
	}
	for s := from; s <= to; s++ {
		if s > uint64(len(messages)) {
			return &events.DamageError{Sequence: s, Why: "it is missing"}
		}
		if err := yield(messages[s-1]); err != nil {
			return err
		}
	}
	return nil
}

func (l *fakeLog) head() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return uint64(len(l.messages))
}

func (l *fakeLog) when(onAppend func(after uint64, messages []events.Message, append func() error) error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.onAppend = onAppend
}

func (l *fakeLog) whenSynced(onSync func() error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.onSync = onSync
}

func (l *fakeLog) appended() [][]events.Message {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.batches)
}

// fakeBlobs keeps blobs in memory.
type fakeBlobs struct {
	mu    sync.Mutex
	blobs map[string]string
	err   error
}

func (b *fakeBlobs) DeleteBlob(_ context.Context, digest string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.blobs, digest)
	return nil
}

func (b *fakeBlobs) PutBlob(_ context.Context, blob []byte) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err != nil {
		return "", b.err
	}
	digest := "sha256-" + events.BodyHash(blob).String()
	if b.blobs == nil {
		b.blobs = map[string]string{}
	}
	b.blobs[digest] = string(blob)
	return digest, nil
}

// fakeSnapshots keeps snapshots in memory.
type fakeSnapshots struct {
	mu       sync.Mutex
	saved    map[uint64]events.Snapshot
	segments map[string][]byte
	stored   int // how often a segment was stored
	saves    int // how often a snapshot was
	err      error
}

func (s *fakeSnapshots) SaveSegment(_ context.Context, segment []byte) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.segments == nil {
		s.segments = map[string][]byte{}
	}
	digest := events.SegmentDigest(segment)
	s.segments[digest] = segment
	s.stored++
	return digest, nil
}

func (s *fakeSnapshots) LoadSegment(_ context.Context, digest string) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	segment, ok := s.segments[digest]
	if !ok {
		return nil, events.ErrNoSnapshot
	}
	return segment, nil
}

func (s *fakeSnapshots) List(context.Context) ([]uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var sequences []uint64
	for sequence := range s.saved {
		sequences = append(sequences, sequence)
	}
	slices.Sort(sequences)
	slices.Reverse(sequences)
	return sequences, s.err
}

func (s *fakeSnapshots) Load(_ context.Context, sequence uint64) (events.Snapshot, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	snapshot, ok := s.saved[sequence]
	if !ok {
		return events.Snapshot{}, events.ErrNoSnapshot
	}
	return snapshot, nil
}

func (s *fakeSnapshots) Save(_ context.Context, snapshot events.Snapshot) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.saves++
	if s.saved == nil {
		s.saved = map[uint64]events.Snapshot{}
	}
	s.saved[snapshot.Sequence] = snapshot
	return nil
}

// fakeWitness remembers the newest head.
type fakeWitness struct {
	mu   sync.Mutex
	seen events.Head
	err  error
}

func (w *fakeWitness) Load(context.Context) (events.Head, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.seen, w.err
}

func (w *fakeWitness) Record(head events.Head) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen = head
}

func (w *fakeWitness) head() events.Head {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.seen
}

// open starts a Handler that is closed at the latest when the test ends.
func open(t testing.TB, config Config) *Handler {
	t.Helper()
	if config.Now == nil {
		config.Now = time.Now
	}
	if config.After == nil {
		config.After = time.After
	}
	h, err := Open(context.Background(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	return h
}

// world is a small team on a log. Bodies may contain names in place of ids, as in {"taskId":"{t1}"}.
type world struct {
	t    testing.TB
	log  *fakeLog
	h    *Handler
	ids  map[string]string
	keys int
	// projects are those of the sessions.
	projects map[string]string
	// ahead is how far the world's clock is ahead of the machine's.
	ahead atomic.Int64
}

// newWorld has a project p with the tasks t1, t2 (below t1), t3, t4 (which waits for t3) and t5; a project q with the
// task u1; an orchestrator o on t3 with a worker w on t1; a worker v on t3, a tree worker r on t3, a queue worker k, a
// worker e on t5 that was killed; and the tokens auditor and reader (of p).
func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{
		t:        t,
		log:      &fakeLog{},
		ids:      map[string]string{},
		projects: map[string]string{},
	}
	w.h = open(t, Config{Log: w.log, Blobs: &fakeBlobs{}, Now: w.now})
	w.make("p", "admin", "project:create", `{"name":"Alpha"}`)
	w.make("t1", "admin", "task:create", `{"project":"{p}","title":"T1"}`)
	w.make("t2", "admin", "task:create", `{"project":"{p}","title":"T2","parentId":"{t1}"}`)
	w.make("t3", "admin", "task:create", `{"project":"{p}","title":"T3"}`)
	w.make("t4", "admin", "task:create", `{"project":"{p}","title":"T4","dependencies":["{t3}"]}`)
	w.make("t5", "admin", "task:create", `{"project":"{p}","title":"T5"}`)
	w.make("q", "admin", "project:create", `{"name":"Beta"}`)
	w.make("u1", "admin", "task:create", `{"project":"{q}","title":"U1"}`)
	w.make("o", "admin", "session:spawn", `{"project":"{p}","role":"orchestrator","taskIds":["{t3}"]}`)
	w.make("w", "o", "session:spawn", `{"taskIds":["{t1}"]}`)
	w.make("v", "admin", "session:spawn", `{"project":"{p}","taskIds":["{t3}"]}`)
	w.make("r", "admin", "session:spawn", `{"project":"{p}","strategy":"tree","taskIds":["{t3}"]}`)
	w.make("k", "admin", "session:spawn", `{"project":"{p}","strategy":"queue"}`)
	w.make("e", "admin", "session:spawn", `{"project":"{p}","taskIds":["{t5}"]}`)
	w.pass(2 * time.Hour)
	w.must("admin", "session:kill", `{"sessionId":"{e}"}`)
	w.must("admin", "token:create", `{"name":"auditor","kind":"auditor"}`)
	w.must("admin", "token:create", `{"name":"reader","kind":"read-only","projectIds":["{p}"]}`)
	return w
}

// now is the world's clock, and pass lets time pass on it.
func (w *world) now() time.Time { return time.Now().Add(time.Duration(w.ahead.Load())) }

func (w *world) pass(d time.Duration) { w.ahead.Add(int64(d)) }

// fillIn replaces names with ids.
func (w *world) fillIn(text string) string {
	for name, id := range w.ids {
		text = strings.ReplaceAll(text, "{"+name+"}", id)
	}
	return text
}

// actor returns who a name stands for: admin, auditor, reader, runner, system, a session, an admin's token
// ("token:name"), another runner ("runner:name"), or the supervisor of a session ("runner:name/session").
func (w *world) actor(name string) commands.Actor {
	w.t.Helper()
	switch name {
	case "admin":
		return commands.Admin(commands.AuthnToken)
	case "auditor":
		return w.tokenActor("auditor", commands.AccessAuditor)
	case "reader":
		return w.tokenActor("reader", commands.AccessReadOnly, w.ids["p"])
	case "runner":
		return commands.Actor{Kind: commands.ActorRunner, Name: "runner", Authn: commands.AuthnToken}
	case "system":
		return commands.System()
	case "stranger":
		return commands.SessionActor(w.ids["p"], "nobody", commands.AuthnToken)
	}
	if runner, ok := strings.CutPrefix(name, "runner:"); ok {
		runner, session, _ := strings.Cut(runner, "/")
		by := commands.RunnerActor(runner, commands.AuthnToken)
		by.Speaks = w.fillIn(session)
		return by
	}
	if token, ok := strings.CutPrefix(name, "token:"); ok {
		return w.tokenActor(token, commands.AccessAdmin)
	}
	id, ok := w.ids[name]
	if !ok {
		w.t.Fatalf("nobody is called %s", name)
	}
	return commands.SessionActor(w.projectOf(id), id, commands.AuthnToken)
}

// tokenActor returns the bearer of a named token as it is now.
func (w *world) tokenActor(name string, access commands.Access, projects ...string) (by commands.Actor) {
	w.h.View(func(s *projections.State) {
		by = commands.Actor{
			Kind:     commands.ActorUser,
			Name:     name,
			Access:   access,
			Projects: projects,
			Authn:    commands.AuthnToken,
		}.Current(s)
	})
	return by
}

// projectOf remembers the projects of sessions, so that it can be asked within a View.
func (w *world) projectOf(session string) string {
	if project, ok := w.projects[session]; ok {
		return project
	}
	w.h.View(func(s *projections.State) { w.projects[session] = s.SessionProject(session) })
	return w.projects[session]
}

// do executes a command, with a key of its own. "w@1h" is w, and the command waited in its outbox for an hour.
func (w *world) do(by, id, body string) (Answer, error) {
	w.t.Helper()
	w.keys++
	return w.withKey(by, id, body, fmt.Sprint("key ", w.keys))
}

func (w *world) withKey(by, id, body, key string) (Answer, error) {
	w.t.Helper()
	command, err := commands.Parse(id, []byte(w.fillIn(body)))
	if err != nil {
		return Answer{}, err
	}
	by, kept, waited := strings.Cut(by, "@")
	r := Request{By: w.actor(by), Command: command, Key: key}
	if waited {
		ago, err := time.ParseDuration(kept)
		if err != nil {
			w.t.Fatal(err)
		}
		r.OccurredAt = w.now().Add(-ago)
	}
	return w.h.Do(context.Background(), r)
}

func (w *world) must(by, id, body string) Answer {
	w.t.Helper()
	a, err := w.do(by, id, body)
	if err != nil {
		w.t.Fatalf("%s %s %s: %v", by, id, body, err)
	}
	return a
}

// make is must for a command that creates something, and names it.
func (w *world) make(name, by, id, body string) {
	w.t.Helper()
	w.named(name, w.must(by, id, body).Data)
}

// named returns the id to which a new name refers: a question's, or that of the event's subject.
func (w *world) named(name string, data events.Data) {
	if asked, ok := data.(*events.SessionReported); ok {
		w.ids[name] = asked.InputID
		return
	}
	if asked, ok := data.(*events.PreflightFailed); ok {
		w.ids[name] = asked.InputID
		return
	}
	kind, made := data.Aggregate()
	w.ids[name] = made
	if kind == events.AggregateSession {
		w.projectOf(made)
	}
}

// shown returns the event in an answer as "<type> <data>", with names in place of ids.
func (w *world) shown(a Answer) string {
	w.t.Helper()
	if a.Event == nil {
		return "already so"
	}
	var event struct {
		Type string
		Data json.RawMessage
	}
	if err := json.Unmarshal(a.Event, &event); err != nil {
		w.t.Fatal(err)
	}
	text := strings.TrimSuffix(strings.TrimPrefix(event.Type, "maestro."), ".v1") + " " + string(event.Data)
	for name, id := range w.ids {
		text = strings.ReplaceAll(text, `"`+id+`"`, `"{`+name+`}"`)
	}
	return text
}

func code(err error) commands.Code {
	var refusal *commands.Refusal
	if errors.As(err, &refusal) {
		return refusal.Code
	}
	return ""
}
