package api

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"os"
	"time"

	"maestro/service"
	"maestro/service/wire"
)

// liveBeat is how often a reader of the live views is sent something, if nothing happens.
const liveBeat = 2 * time.Second

func (s *server) liveRoutes() {
	s.handle("GET /api/live", "The live views, as server-sent events", s.open(s.live))
}

// live sends the live views as server-sent events: parts of a snapshot, then frames. The id of a message is the
// position after it, with which a client that reconnects continues.
func (s *server) live(w http.ResponseWriter, r *http.Request) {
	c := callOf(r.Context())
	reader, err := s.Live(r.Context(), c.Caller, liveFilter(r))
	if err != nil {
		s.failed(w, r, c.Caller, err)
		return
	}
	defer reader.Close()
	header := w.Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("Cache-Control", "no-store")
	header.Set("X-Accel-Buffering", "no")
	send := &liveWriter{to: w, flush: http.NewResponseController(w).Flush}
	for err == nil {
		err = send.next(r.Context(), reader)
	}
	if errors.Is(err, os.ErrDeadlineExceeded) { // of a write
		reader.Unread()
	}
}

// liveFilter reads the query. A client that reconnects names its position in a header.
func liveFilter(r *http.Request) *wire.LiveFilter {
	query := r.URL.Query()
	return &wire.LiveFilter{
		ProjectID: query.Get("project"),
		Session:   query.Get("session"),
		Task:      query.Get("task"),
		Kinds:     query.Get("kinds"),
		Follow:    query.Get("follow"),
		After:     cmp.Or(r.Header.Get("Last-Event-ID"), query.Get("after")),
	}
}

// liveTogether is how many bytes of messages that come together are sent at once.
const liveTogether = 32 << 10

// liveWriter writes server-sent events.
type liveWriter struct {
	to     http.ResponseWriter
	flush  func() error
	buffer []byte
}

// next writes the next message, or a heartbeat if there is none for a while. Messages that come together are sent
// together.
func (w *liveWriter) next(ctx context.Context, reader *service.LiveReader) error {
	waiting, cancel := ctx, func() {}
	if !reader.HasNext() {
		waiting, cancel = context.WithTimeout(ctx, liveBeat)
	}
	message, err := reader.Next(waiting)
	cancel()
	switch {
	case err == nil && message.Kind == wire.LiveKindAt:
		w.buffer = appendField(w.buffer, "id", message.String())
	case err == nil:
		if message.Kind != wire.LiveKindSnapshot {
			w.buffer = appendField(w.buffer, "id", message.String())
		}
		w.buffer = appendField(w.buffer, "event", message.Kind)
		w.buffer = append(append(append(w.buffer, "data: "...), message.Data...), '\n')
	case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
		w.buffer = append(w.buffer, ": nothing new\n"...)
	default:
		return err
	}
	w.buffer = append(w.buffer, '\n')
	if reader.HasNext() && len(w.buffer) < liveTogether {
		return nil
	}
	_, err = w.to.Write(w.buffer)
	w.buffer = w.buffer[:0]
	if err != nil || reader.HasNext() {
		return err
	}
	return w.flush()
}

func appendField(b []byte, name, value string) []byte {
	return append(append(append(append(b, name...), ": "...), value...), '\n')
}
