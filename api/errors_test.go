package api_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"maestro/engine"
	"maestro/events"
	"maestro/service"
	"maestro/service/wire"
)

// brokenLog refuses every append with an error.
type brokenLog struct {
	memoryLog
	err error
}

func (l *brokenLog) Append(context.Context, uint64, []events.Message) error { return l.err }

func TestServerThatCannotWrite(t *testing.T) {
	for name, cause := range map[string]error{
		"a full disk":   events.ErrFull,
		"a damaged log": &events.DamageError{Sequence: 1, Why: "planted"},
	} {
		log := &brokenLog{err: cause}
		handler, err := engine.Open(t.Context(), engine.Config{Log: log, Now: time.Now, After: time.After})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(handler.Close)
		w := open(t, func(c *setup) { c.Handler, c.Log = handler, log })
		w.send(http.MethodGet, "/readyz", "", "").is(200)
		for _, r := range []reply{w.do(adminToken, "project:create", `{"name":"x"}`), w.send(http.MethodPost,
			"/api/projects", adminToken, `{"name":"x"}`)} {
			r.refused(503, "UNAVAILABLE", "no writes")
			if r.header.Get("Retry-After") == "" {
				t.Errorf("%s: no Retry-After", name)
			}
		}
		if r := w.send(http.MethodGet, "/readyz", "", "").refused(503, "UNAVAILABLE",
			""); !strings.Contains(r.text("why"), cause.Error()) {
			t.Errorf("%s: readyz says %s", name, r.body)
		}
		w.send(http.MethodGet, "/healthz", "", "").is(200)
		w.send(http.MethodGet, "/api/projects", adminToken, "").is(200)
	}
}

func TestInternalErrorsAreNotShown(t *testing.T) {
	log := &logOf{}
	w := open(t, func(c *setup) {
		c.Logger = slog.New(slog.NewTextHandler(log, nil))
		c.Backup = func(context.Context, io.Writer, events.Head) error { return errors.New("password=hunter2") }
	})
	r := w.send(http.MethodGet, "/api/backup", adminToken, "").refused(500, "INTERNAL_ERROR", "")
	if strings.Contains(string(r.body), "hunter2") {
		t.Errorf("an inner error is shown: %s", r.body)
	}
	id := r.header.Get(wire.HeaderRequestID)
	if want := "look for request " + id + " in the server's log"; id == "" || !strings.Contains(r.text("next"), want) {
		t.Errorf("the answer does not say %q: %s", want, r.body)
	}
	if got := log.String(); !strings.Contains(got, "request="+id) || !strings.Contains(got, "hunter2") {
		t.Errorf("the log lacks request %s, or its reason:\n%s", id, got)
	}
}

func TestBrokenStreamIsDetected(t *testing.T) {
	w := open(t, func(c *setup) {
		c.Backup = func(_ context.Context, out io.Writer, _ events.Head) error {
			_, err := out.Write(make([]byte, 1<<20))
			return errors.Join(err, errors.New("the disk went away"))
		}
	})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.url+"/api/backup", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+adminToken)
	resp, err := w.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if _, err := io.Copy(io.Discard, resp.Body); err == nil {
		t.Error("a partial backup looks complete")
	}
}

func TestNewRefusesInvalidConfig(t *testing.T) {
	handler, err := engine.Open(t.Context(), engine.Config{Log: &memoryLog{}, Now: time.Now, After: time.After})
	if err != nil {
		t.Fatal(err)
	}
	defer handler.Close()
	for name, config := range map[string]service.Config{
		"nothing":     {},
		"no log":      {Handler: handler, Keys: service.Keys{AdminToken: []byte("a"), ServerKey: []byte("b")}},
		"no token":    {Handler: handler, Log: &memoryLog{}, Keys: service.Keys{ServerKey: []byte("b")}},
		"no key":      {Handler: handler, Log: &memoryLog{}, Keys: service.Keys{AdminToken: []byte("a")}},
		"a dead link": {Log: &memoryLog{}},
	} {
		if _, err := service.New(config); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}
