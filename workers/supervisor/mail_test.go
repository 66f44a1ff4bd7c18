package supervisor

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"maestro/api/client"
	"maestro/commands"
	"maestro/events"
	"maestro/service/wire"
)

// What an agent says waits until it is known whether the agent has its mail, but not for long.
func TestMailSettles(t *testing.T) {
	for name, test := range map[string]struct {
		// ends lets the wait end.
		ends func(handed func(context.Context, bool))
		took time.Duration
	}{
		"once it is known": {func(handed func(context.Context, bool)) { handed(context.Background(), false) }, 0},
		"after a while":    {func(func(context.Context, bool)) { <-time.After(settlesWithin) }, settlesWithin},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newMailbox(&calls{after: time.After}, "s", slog.New(slog.DiscardHandler), nil, nil)
				m.settled(t.Context()) // nobody is given any
				m.came([]wire.Mail{{ID: "input_1", Text: "main"}})
				_, handed := m.take()
				began, settled := time.Now(), make(chan struct{})
				go func() {
					defer close(settled)
					m.settled(t.Context())
				}()
				synctest.Wait()
				select {
				case <-settled:
					t.Fatal("it did not wait")
				default:
				}
				test.ends(handed)
				<-settled
				if took := time.Since(began); took != test.took {
					t.Errorf("it took %s", took)
				}
			})
		})
	}
}

// The answers to the supervisor's own questions are not for the agent. The server hears that they were read when the
// agent starts, and not before: what a session confirms makes it running.
func TestAnswersToTheSupervisorItself(t *testing.T) {
	var confirmed []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body commands.ReceiveInput
		err := json.NewDecoder(r.Body).Decode(&body)
		if err != nil || !strings.HasSuffix(r.URL.Path, "input:received") {
			t.Errorf("%s: %v", r.URL.Path, err)
		}
		confirmed = append(confirmed, body.InputID)
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{}`))
	}))
	defer server.Close()
	c := &calls{after: time.After, session: client.New(server.URL, "")}
	m := newMailbox(c, "s", slog.New(slog.DiscardHandler), nil, nil)
	m.came([]wire.Mail{
		{ID: "input_1", Text: events.PreflightRetry, Run: 1},
		{ID: "input_2", Text: events.PreflightRetry, Run: 2},
		{ID: "message_1", Text: "Go on"},
	})
	for range 2 { // it stays until it is confirmed
		if mail, ok := m.answer("input_2"); !ok || mail.Text != events.PreflightRetry {
			t.Fatalf("the answer is %+v", mail)
		}
	}
	if len(confirmed) > 0 {
		t.Errorf("%q are confirmed before the agent starts", confirmed)
	}
	text, handed := m.take()
	if !strings.Contains(text, "Go on") || strings.Contains(text, events.PreflightRetry) {
		t.Errorf("the agent gets %q", text)
	}
	handed(t.Context(), false)
	m.confirmOwn(t.Context())
	if want := []string{"input_1", "input_2"}; !slices.Equal(confirmed, want) {
		t.Errorf("%q are confirmed, want %q", confirmed, want)
	}
}

// While mail is unread, the session is looked at before its mail is asked for again: to ask once it has ended is
// refused.
func TestMailIsNotAskedForAfterEnd(t *testing.T) {
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(wire.Mailbox{Mail: []wire.Mail{{ID: "message_1", Text: "Go on"}}})
	}))
	defer server.Close()
	passed := make(chan time.Time)
	close(passed)
	c := &calls{after: func(time.Duration) <-chan time.Time { return passed }, session: client.New(server.URL, "")}
	over, looks := make(chan struct{}), 0
	m := newMailbox(c, "s", slog.New(slog.DiscardHandler), func(context.Context) {
		if looks++; looks == 2 {
			close(over)
		}
	}, over)
	m.run(t.Context())
	if asked != 2 || looks != 2 {
		t.Errorf("it asked %d times and looked %d times", asked, looks)
	}
}
