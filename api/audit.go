package api

import (
	"context"
	"io"
	"net/http"

	"maestro/api/export"
	"maestro/api/route"
	"maestro/events"
	"maestro/service"
	"maestro/service/wire"
)

// flushEvery is how many bytes of an export are buffered before they are sent.
const flushEvery = 64 << 10

func (s *server) auditRoutes() {
	route.Read(s.mount(), route.Route{
		Path:    "/api/audit/head",
		Name:    "audit-head",
		Summary: "The log's head: sequence and hash, to be kept elsewhere",
	}, route.Bare(service.View.GetAuditHead))
	s.handle("GET /api/audit/export", "The log, one event per line", s.open(s.auditExport))
	answers(s, "GET /api/audit/verify", "Verify the log", s.auditVerify, s.open)
	answers(s, "GET /api/audit/texts", "Compare the long texts with their digests", s.auditTexts, s.open)
}

// auditExport streams the log, one line per message. For a single project, hashes replace the bodies of other projects'
// events.
func (s *server) auditExport(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	wanted := service.ExportQuery{Project: query.Get("project"), From: query.Get("from"), To: query.Get("to")}
	out := &counter{to: w}
	show := func(ctx context.Context, e *service.Export) error {
		header := w.Header()
		header.Set("Content-Type", "application/x-ndjson")
		header[wire.HeaderSequence] = []string{sequenceText(e.To)}
		return writeExport(ctx, out, e)
	}
	if err := s.Export(r.Context(), callOf(r.Context()).Caller, wanted, show); err != nil {
		s.breakOff(w, r, out.written > 0, err)
	}
}

// writeExport writes the lines of an export, many at once.
func writeExport(ctx context.Context, out io.Writer, e *service.Export) error {
	buffer := make([]byte, 0, flushEvery+events.MaxBody)
	send := func() error {
		_, err := out.Write(buffer)
		buffer = buffer[:0]
		return err
	}
	err := e.Read(ctx, func(line service.Exported) error {
		if line.Withheld {
			buffer = export.AppendWithheld(buffer, line.Sequence, line.Hash, line.PrevHash, line.Digest)
		} else {
			buffer = export.Append(buffer, line.Message, line.Hash)
		}
		if len(buffer) < flushEvery {
			return ctx.Err()
		}
		return send()
	})
	if err != nil {
		return err
	}
	return send()
}

// auditVerify verifies the whole log by deciding it again.
func (s *server) auditVerify(r *http.Request) (wire.Verdict, error) {
	return s.Verify(r.Context(), callOf(r.Context()).Caller, r.URL.Query().Get("from"))
}

// auditTexts verifies every long text that the log names against its digest.
func (s *server) auditTexts(r *http.Request) (wire.Texts, error) {
	return s.CheckTexts(r.Context(), callOf(r.Context()).Caller)
}
