package api_test

import (
	"bufio"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"maestro/internal/server/metrics"
	"maestro/service/wire"
)

// eventStream is a reader of the live views that knows nothing but server-sent events.
type eventStream struct {
	*testing.T
	in *bufio.Reader
}

// streamOver asks for the live views over a connection.
func streamOver(t *testing.T, c net.Conn, lastID string) *eventStream {
	t.Helper()
	request := "GET /api/live HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + adminToken + "\r\n"
	if lastID != "" {
		request += "Last-Event-ID: " + lastID + "\r\n"
	}
	if _, err := io.WriteString(c, request+"\r\n"); err != nil {
		t.Fatal(err)
	}
	response, err := http.ReadResponse(bufio.NewReaderSize(c, 16), nil) // it reads no further than it must
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("the live views: %v, %v", response, err)
	}
	return &eventStream{t, bufio.NewReaderSize(response.Body, 16)}
}

// next returns the next message: its id, its kind and its data.
func (s *eventStream) next() (id, kind, data string) {
	s.Helper()
	for {
		line, err := s.in.ReadString('\n')
		if err != nil {
			s.Fatal(err)
		}
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch name {
		case "id":
			id = value
		case "event":
			kind = value
		case "data":
			data = value
		case "":
			if line == "\n" && id+kind != "" {
				return id, kind, data
			}
		}
	}
}

// A reader of the live views that stops reading is cut off in the middle of a message, and counted. No write waits for
// it, and after its last whole message it continues without a snapshot and without a gap.
func TestStalledReaderOfLiveViews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := openInside(t, measured(t, func(*metrics.Sources) {}))
		dial := serve(t, w.api, limitsOf(t))
		project := w.project()
		task := w.task(project)
		_, token := w.session(adminToken, project, task, ``)
		report := func(message string) {
			t.Helper()
			w.do(token, "report:progress", `{"message":"`+message+`","taskIds":["`+task+`"]}`).is(200)
		}
		shows := func(when string, figures ...string) {
			t.Helper()
			all := w.figures()
			for _, figure := range figures {
				if !slices.Contains(all, figure) {
					t.Errorf("%s, /metrics lacks %s", when, figure)
				}
			}
		}
		c := dial()
		s := streamOver(t, c, "")
		for kind := ""; kind != wire.LiveKindReady; {
			_, kind, _ = s.next()
		}
		report("the last that it reads")
		last, kind, data := s.next()
		if kind != wire.LiveKindFrame || !strings.Contains(data, "the last that it reads") {
			t.Fatalf("it reads %s %s", kind, data)
		}
		report("half of this")
		if _, err := io.ReadFull(s.in, make([]byte, 30)); err != nil { // and nothing more
			t.Fatal(err)
		}
		first := w.log.head() // of those that it does not have
		began := time.Now()
		for range 20 {
			report(strings.Repeat("x", 60<<10))
		}
		if waited := time.Since(began); waited > 0 {
			t.Errorf("reports waited for it for %s", waited)
		}
		shows("while it may still read",
			`maestro_streams{kind="live"} 1`, `maestro_streams_dropped_total{kind="live"} 0`)
		time.Sleep(time.Minute)
		shows("after a minute", `maestro_streams{kind="live"} 0`, `maestro_streams_dropped_total{kind="live"} 1`)
		if rest, err := io.ReadAll(c); err != nil || len(rest) > 0 {
			t.Errorf("its connection is open: it reads %d bytes, %v", len(rest), err)
		}
		report("after it was cut off")

		again := streamOver(t, dial(), last)
		if id, kind, data := again.next(); id != last || kind+data != "" {
			t.Errorf("it goes on with %s %s %s, want the position %s", id, kind, data, last)
		}
		for sequence := first; sequence <= w.log.head(); sequence++ {
			id, kind, data := again.next()
			var frame wire.LiveFrame
			if err := json.Unmarshal([]byte(data), &frame); err != nil {
				t.Fatal(err)
			}
			if kind != wire.LiveKindFrame || frame.Seq != sequence ||
				string(frame.Event) != string(w.log.messages[sequence-1].Body) {
				t.Errorf("it reads the %s %d at %s, want frame %d", kind, frame.Seq, id, sequence)
			}
		}
	})
}
