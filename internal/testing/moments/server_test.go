package moments

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"maestro/api"
	"maestro/bus"
	"maestro/engine"
	"maestro/events"
	"maestro/internal/server/witness"
	"maestro/internal/testing/simlog"
	"maestro/projections"
	"maestro/service"
	"maestro/service/wire"
)

const adminToken = "moments"

// server is a server on a log.
type server struct {
	handler *engine.Handler
	api     http.Handler
	close   func()
}

// openServer connects the parts of a server as serve does, without a network.
func openServer(t testing.TB, config engine.Config, now func() time.Time) *server {
	t.Helper()
	config.Now, config.After, config.Logger = time.Now, time.After, slog.New(slog.DiscardHandler)
	handler, err := engine.Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	served, err := service.New(service.Config{
		Handler: handler,
		Log:     config.Log,
		Keys:    service.Keys{AdminToken: []byte(adminToken), ServerKey: []byte("server key")},
		Now:     now,
	})
	if err != nil {
		t.Fatal(err)
	}
	routes, err := api.New(api.Config{Service: served, Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	return &server{handler, routes, handler.Close}
}

// answer is the whole of an answer that a reader sees. Of a refusal, the reason and the advice differ: a read of a
// moment names another moment.
func (s *server) answer(path string) string {
	r := httptest.NewRequest(http.MethodGet, "http://localhost"+path, http.NoBody)
	r.Header.Set("Authorization", "Bearer "+adminToken)
	w := httptest.NewRecorder()
	s.api.ServeHTTP(w, r)
	body := w.Body.String()
	if w.Code != http.StatusOK {
		body, _, _ = strings.Cut(body, `,"why":`)
	}
	return fmt.Sprint(w.Code, " ", w.Header().Get(wire.HeaderSequence), " ", w.Header().Get(wire.HeaderNext), " ", body)
}

// store is a log in a directory, with its snapshots.
type store struct {
	*bus.Bus

	snapshots engine.Snapshots
}

func openStore(t testing.TB, dir string, prunes bool) *store {
	t.Helper()
	b, err := bus.Open(t.Context(), bus.Options{Dir: filepath.Join(dir, "store"), Durability: bus.Interval})
	if err != nil {
		t.Fatal(err)
	}
	pictures, err := bus.OpenSnapshots(filepath.Join(dir, "snapshots"))
	if err != nil {
		t.Fatal(err)
	}
	stored := witness.Snapshots{Dir: pictures, Firm: b.Firm}
	if prunes {
		return &store{b, stored}
	}
	return &store{b, unpruned{stored}}
}

// unpruned keeps all snapshots. A server keeps one for every 50,000 events, which a short log does not have.
type unpruned struct{ witness.Snapshots }

func (s unpruned) Save(_ context.Context, snapshot events.Snapshot) error {
	return s.Dir.Save(snapshot)
}

// endedAt is a log as it was when an event was its last.
type endedAt struct {
	engine.Log

	head uint64
}

func (l endedAt) Append(context.Context, uint64, []events.Message) error { return events.ErrReadOnly }

func (l endedAt) Sync(context.Context) (uint64, error) { return l.head, nil }

func (l endedAt) Read(ctx context.Context, from, to uint64, yield func(events.Message) error) error {
	return l.Log.Read(ctx, from, min(to, l.head), yield)
}

// serverAt opens a server on a log that ends where a fold of it stands, and whose time stands still there.
func serverAt(t testing.TB, log engine.Log, state *projections.State, encoded []byte) *server {
	t.Helper()
	snapshots := simlog.NewSnapshots(nil)
	err := snapshots.Save(t.Context(), events.Snapshot{
		Head:    state.Head(),
		Genesis: state.Genesis(),
		Format:  projections.Format,
		State:   encoded,
	})
	if err != nil {
		t.Fatal(err)
	}
	then := state.At()
	ended := endedAt{log, state.Head().Sequence}
	return openServer(t, engine.Config{Log: ended, Snapshots: snapshots}, func() time.Time { return then })
}
