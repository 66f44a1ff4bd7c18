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
	s.handle("GET /api/audit/export", "The log, or one project's part of it, one event per line",
		s.open(s.auditExport))
	answers(s, "GET /api/audit/verify", "Verify the log", s.auditVerify, s.open)
	answers(s, "GET /api/audit/texts", "Compare the long texts with their digests", s.auditTexts, s.open)
}

// auditExport streams the log, one line per message, and then the long texts, if they are wanted. For a single project,
// hashes replace the bodies of other projects' events.
func (s *server) auditExport(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	wanted := service.ExportQuery{
		Project: query.Get("projectId"),
		From:    query.Get("from"),
		To:      query.Get("to"),
		Texts:   query.Get("texts"),
	}
	out := &counter{to: w}
	show := func(ctx context.Context, e *service.Export) error {
		header := w.Header()
		header.Set("Content-Type", "application/x-ndjson")
		header[wire.HeaderSequence] = []string{sequenceText(e.To)}
		return writeExport(ctx, out, e)
	}
	if err := s.Export(r.Context(), callOf(r.Context()).Caller, wanted, show); err != nil {
		s.breakOff(w, r, out.written > 0, out.lost, err)
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
	full := func() error {
		if len(buffer) < flushEvery {
			return ctx.Err()
		}
		return send()
	}
	var head events.Head
	err := e.Read(ctx, func(line service.Exported) error {
		head = events.Head{Sequence: line.Sequence, Hash: line.Hash}
		if line.Withheld {
			buffer = export.AppendWithheld(buffer, line.Sequence, line.Hash, line.PrevHash, line.Digest)
		} else {
			buffer = export.Append(buffer, line.Message, line.Hash)
		}
		return full()
	})
	end := export.End{Head: head}
	if err == nil && e.HasTexts() {
		texts := 0
		end.Texts = &texts
		err = e.ReadTexts(ctx, func(text service.ExportedText) error {
			texts++
			switch {
			case text.Redacted:
				buffer = export.AppendRedacted(buffer, text.Digest)
			case text.Lost != "":
				buffer = export.AppendLost(buffer, text.Digest, text.Lost)
			default:
				buffer = export.AppendText(buffer, text.Digest, text.Content)
			}
			return full()
		})
	}
	if err != nil {
		return err
	}
	if head.Sequence > 0 { // the export of nothing is empty
		buffer = export.AppendEnd(buffer, end)
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
