package natslive

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats.go"

	"maestro/events"
	"maestro/service"
	"maestro/service/wire"
)

// A client gets every acknowledged event, byte for byte, in the order of the log, whoever writes meanwhile.
func TestFollowsTheLog(t *testing.T) {
	w := newWorld(t, nil)
	c := w.connect(adminToken)
	s := c.follow("maestro.live.>")
	project := w.make("project:create", `{"name":"Shop"}`)
	const writers, each = 8, 40
	var writing sync.WaitGroup
	for n := range writers {
		writing.Go(func() {
			for i := range each {
				if _, err := w.try("task:create",
					fmt.Sprintf(`{"project":%q,"title":"Task %d of %d"}`, project, i, n)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writing.Wait()
	for _, stored := range w.log.all() {
		m := c.next(s)
		if m.Subject != events.LiveSubject(stored.Subject) || string(m.Data) != string(stored.Body) {
			t.Fatalf("event %d: got %s %s", stored.Sequence, m.Subject, m.Data)
		}
		at, err := service.ParsePosition(m.Header.Get(HeaderPosition))
		if err != nil || at.Sequence != stored.Sequence {
			t.Fatalf("event %d has the position %q: %v", stored.Sequence, m.Header.Get(HeaderPosition), err)
		}
	}
	if n, _, _ := s.Pending(); n != 0 {
		t.Errorf("%d messages too many", n)
	}
}

// Nobody sees an event that was refused, that the log did not take, or that it has not acknowledged yet.
func TestShowsOnlyWhatWasAcknowledged(t *testing.T) {
	w := newWorld(t, nil)
	c := w.connect(adminToken)
	s := c.follow("maestro.live.>")
	if _, err := w.try("project:delete", `{"id":"proj_none"}`); err == nil {
		t.Fatal("not refused")
	}
	full := errors.New("the log takes nothing")
	w.log.fail(func() error { return errors.Join(full, events.ErrFull) })
	if _, err := w.try("project:create", `{"name":"Lost"}`); err == nil {
		t.Fatal("the log took it")
	}
	appending, acknowledge := make(chan struct{}), make(chan struct{})
	w.log.fail(func() error {
		close(appending)
		<-acknowledge
		return nil
	})
	created := make(chan error)
	go func() {
		_, err := w.try("project:create", `{"name":"Slow"}`)
		created <- err
	}()
	<-appending
	if err := c.Flush(); err != nil {
		t.Fatal(err)
	}
	if n, _, _ := s.Pending(); n != 0 {
		t.Errorf("%d messages before the acknowledgement", n)
	}
	close(acknowledge)
	if err := <-created; err != nil {
		t.Fatal(err)
	}
	if m := c.next(s); !strings.Contains(string(m.Data), `"Slow"`) {
		t.Errorf("got %s", m.Data)
	}
}

// A token is shown the same events, without the same things, as by the live views.
func TestShowsWhatTheLiveViewsShow(t *testing.T) {
	w := newWorld(t, nil)
	shop, other := w.make("project:create", `{"name":"Shop"}`), w.make("project:create", `{"name":"Other"}`)
	tokens := map[string]string{
		"admin":   adminToken,
		"auditor": w.token(`{"name":"ann","kind":"auditor"}`),
		"shop":    w.token(`{"name":"rob","kind":"read-only","projectIds":["` + shop + `"]}`),
		"other":   w.token(`{"name":"eve","kind":"read-only","projectIds":["` + other + `"]}`),
		"both":    w.token(`{"name":"bob","kind":"read-only","projectIds":["` + shop + `","` + other + `"]}`),
	}
	from := len(w.log.all())
	clients, following := map[string]*client{}, map[string][]*nats.Subscription{}
	for who, token := range tokens {
		clients[who] = w.connect(token)
		switch who {
		case "admin", "auditor":
			following[who] = append(following[who], clients[who].follow("maestro.live.>"))
		default:
			for _, p := range map[string][]string{"shop": {shop}, "other": {other}, "both": {shop, other}}[who] {
				following[who] = append(following[who], clients[who].follow(events.LiveSubjects(p)))
			}
		}
	}
	task := w.make("task:create", `{"project":"`+shop+`","title":"In the shop"}`)
	w.make("task:create", `{"project":"`+other+`","title":"Elsewhere"}`)
	session := w.make("session:spawn", `{"project":"`+shop+`","taskIds":["`+task+`"],"context":{"hint":"CONTEXT"}}`)
	w.do("session:update", `{"sessionId":"`+session+`","env":{"KEY":"ENVIRONMENT"}}`)
	w.do("session:message", `{"sessionId":"`+session+`","text":"MAIL"}`)
	w.token(`{"name":"new","kind":"auditor"}`)
	w.make("task:create", `{"project":"`+shop+`","title":"last of the shop"}`)
	w.make("task:create", `{"project":"`+other+`","title":"last elsewhere"}`)
	for who, token := range tokens {
		want := w.liveEvents(token, from)
		if len(want) == 0 {
			t.Fatalf("%s: the live views show nothing", who)
		}
		got := map[string]string{}
		shown := 0
		for _, text := range want {
			var e struct{ Partitionkey string }
			if err := json.Unmarshal([]byte(text), &e); err != nil {
				t.Fatal(err)
			}
			s := following[who][0]
			if who == "both" && e.Partitionkey == other {
				s = following[who][1]
			}
			m := clients[who].next(s)
			got[string(m.Data)], shown = "", shown+1
			if string(m.Data) != text {
				t.Errorf("%s: got %s\nwant %s", who, m.Data, text)
			}
		}
		for _, s := range following[who] {
			if n, _, _ := s.Pending(); n != 0 {
				t.Errorf("%s: %d messages too many", who, n)
			}
		}
		all := strings.Join(want, "\n")
		if reads := who == "admin" || who == "auditor"; strings.Contains(all, "ENVIRONMENT") != reads {
			t.Errorf("%s: the environment is shown: %v", who, !reads)
		}
	}
}

// liveEvents returns the events that the live views show to a token after a sequence.
func (w *world) liveEvents(token string, after int) (shown []string) {
	w.Helper()
	c, err := w.Authenticate(token)
	if err != nil {
		w.Fatal(err)
	}
	r, err := w.Live(w.Context(), c, &wire.LiveFilter{After: fmt.Sprint(after), Follow: "false"})
	if err != nil {
		w.Fatal(err)
	}
	defer r.Close()
	for {
		m, err := r.Next(w.Context())
		if errors.Is(err, io.EOF) {
			return shown
		}
		if err != nil {
			w.Fatal(err)
		}
		var frame struct{ Event json.RawMessage }
		if m.Kind != wire.LiveKindFrame {
			continue
		}
		if err := json.Unmarshal(m.Data, &frame); err != nil {
			w.Fatal(err)
		}
		if frame.Event != nil {
			shown = append(shown, string(frame.Event))
		}
	}
}
