package bus

import (
	"errors"
	"strings"
	"testing"

	"maestro/events"
)

// several returns this many messages for the log.
func several(n int) []events.Message {
	messages := make([]events.Message, n)
	for i := range messages {
		messages[i] = events.Message{
			Subject: events.Subject("p", "session", "s"),
			Body:    []byte(`{"n":` + itoa(i) + `}`),
		}
	}
	return messages
}

// bodies returns what the log holds, as text.
func bodies(t *testing.T, b *Bus, head uint64) (all []string) {
	t.Helper()
	err := b.Read(t.Context(), 1, head, func(m events.Message) error {
		all = append(all, string(m.Body))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// If nobody else can publish, several messages are sent as guarded publishes. Otherwise they are one atomic batch.
// Either way, each names its append.
func TestSeveralMessagesAreABatchOnlyWhereTheyMustBe(t *testing.T) {
	t.Parallel()
	stored := func(t *testing.T, b, through *Bus) (inBatch bool) {
		t.Helper()
		must(t, through.Append(t.Context(), 0, several(40)))
		if got := bodies(t, b, 40); len(got) != 40 || got[39] != `{"n":39}` {
			t.Errorf("the log holds %q", got)
		}
		stream, err := b.js.Stream(t.Context(), StreamName)
		must(t, err)
		appends := map[string]bool{}
		for _, sequence := range []uint64{1, 20, 40} {
			m, err := stream.GetMsg(t.Context(), sequence)
			must(t, err)
			appends[m.Header.Get(headerAppend)+m.Header.Get(headerBatchID)] = true
			inBatch = m.Header.Get(headerBatchID) != ""
		}
		if len(appends) != 1 || appends[""] {
			t.Errorf("messages of one append name the appends %v", appends)
		}
		return inBatch
	}
	for _, durability := range []Durability{Always, Interval} {
		t.Run(durability.String(), func(t *testing.T) {
			t.Parallel()
			b := mustOpen(t, t.TempDir(), durability)
			if stored(t, b, b) {
				t.Error("the embedded log was written in a batch")
			}
		})
	}
	t.Run("another process's server", func(t *testing.T) {
		t.Parallel()
		b := mustOpen(t, t.TempDir(), Always)
		other, err := connect(t.Context(), b.Conn(), Options{Timeout: patience})
		must(t, err)
		defer func() { _ = other.Close() }()
		if !stored(t, b, other) {
			t.Error("the log of another server was not written in a batch")
		}
	})
}

// After a failure in the middle, a first part is stored and the outcome is unknown, never a conflict. Later appends
// follow that part.
func TestFailureWithinGuardedPublishes(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*events.Message){
		"the client sends no more":  func(m *events.Message) { m.Body = []byte(strings.Repeat("x", 2<<20)) },
		"the server stores no more": func(m *events.Message) { m.Subject = "elsewhere" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := mustOpen(t, t.TempDir(), Always)
			if err := b.Append(t.Context(), 0, several(3)); err != nil {
				t.Fatal(err)
			}
			messages := several(5)
			spoil(&messages[2])
			err := b.Append(t.Context(), 3, messages)
			if !errors.Is(err, events.ErrUnknown) || errors.Is(err, events.ErrConflict) {
				t.Fatalf("append: %v, expected ErrUnknown", err)
			}
			// Before Sync, the end of the log is unknown: the next append is all or nothing.
			if err := b.Append(t.Context(), 3, several(4)); !errors.Is(err, events.ErrConflict) {
				t.Errorf("append after the last known head: %v, expected a conflict", err)
			}
			head, err := b.Sync(t.Context())
			if err != nil || head != 5 {
				t.Fatalf("the head is %d, %v", head, err)
			}
			if err := b.Append(t.Context(), 5, several(2)); err != nil {
				t.Fatal(err)
			}
			want := []string{`{"n":0}`, `{"n":1}`, `{"n":2}`, `{"n":0}`, `{"n":1}`, `{"n":0}`, `{"n":1}`}
			if got := bodies(t, b, 7); strings.Join(got, "") != strings.Join(want, "") {
				t.Errorf("the log holds %q, expected %q", got, want)
			}
		})
	}
}

// An append that was decided on another head than the log's stores nothing, however many messages it has.
func TestGuardedPublishesOnStaleHead(t *testing.T) {
	t.Parallel()
	b := mustOpen(t, t.TempDir(), Always)
	if err := b.Append(t.Context(), 0, several(6)); err != nil {
		t.Fatal(err)
	}
	for _, after := range []uint64{0, 3, 5, 7} {
		if err := b.Append(t.Context(), after, several(10)); !errors.Is(err, events.ErrConflict) {
			t.Errorf("append after %d: %v, expected a conflict", after, err)
		}
	}
	if head, err := b.Sync(t.Context()); err != nil || head != 6 {
		t.Errorf("the head is %d, %v", head, err)
	}
}

// Nobody else can publish to an embedded log: its server listens nowhere, and has only one connection, the Bus's.
func TestNobodyElsePublishes(t *testing.T) {
	t.Parallel()
	b := mustOpen(t, t.TempDir(), Interval)
	s := b.embedded.server
	if s.Addr() != nil || s.ClusterAddr() != nil || s.MonitorAddr() != nil {
		t.Errorf("the server listens on %v, %v, %v", s.Addr(), s.ClusterAddr(), s.MonitorAddr())
	}
	if n := s.NumClients(); n != 1 {
		t.Errorf("%d connections, expected the one of the log", n)
	}
	if strings.HasPrefix(events.LiveSubject(events.Subject("p", "session", "s")), events.SubjectPrefix) {
		t.Error("what NATS clients see would be stored in the log")
	}
}
