package api

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"maestro/commands"
	"maestro/events"
	"maestro/internal/safetext"
	"maestro/service"
	"maestro/service/wire"
)

const (
	// maxDrained is how much of an oversized body is read and discarded, so that its sender reads the answer.
	maxDrained = 32 << 20
)

// maxRequest is the maximum body of a command or an older route.
const maxRequest = commands.MaxRequest

// bufferPool lends buffers for bodies and answers.
type bufferPool struct{ pool sync.Pool }

func (p *bufferPool) get() *bytes.Buffer {
	if b, ok := p.pool.Get().(*bytes.Buffer); ok {
		b.Reset()
		return b
	}
	return new(bytes.Buffer)
}

func (p *bufferPool) put(b *bytes.Buffer) {
	const most = 64 << 10
	if b.Cap() <= most {
		p.pool.Put(b)
	}
}

// readBody reads a whole JSON body into the buffer.
func readBody(r *http.Request, into *bytes.Buffer) error {
	if r.ContentLength > maxRequest {
		return tooLarge(r)
	}
	_, err := into.ReadFrom(io.LimitReader(r.Body, maxRequest+1))
	if err == nil && into.Len() <= maxRequest {
		return nil
	}
	switch {
	case errors.Is(err, service.ErrStopping), errors.As(err, new(*service.Problem)):
		return err
	case err != nil:
		return &service.Problem{
			Kind:    service.KindInvalid,
			Code:    string(commands.CodeInvalid),
			Message: "The body is truncated",
			Why:     "the connection delivered fewer bytes than announced",
			Next:    "send it again with the same key",
		}
	}
	return tooLarge(r)
}

// drain reads and discards an unwanted body, so that its sender reads the answer. It does not matter whether all of it
// arrives.
func drain(r *http.Request, most int64) {
	if body, ok := r.Body.(*stoppingBody); ok {
		body.unwanted()
	}
	_, _ = io.CopyN(io.Discard, r.Body, most)
}

func tooLarge(r *http.Request) error {
	drain(r, maxDrained)
	return &service.Problem{
		Kind:    service.KindTooLarge,
		Code:    string(commands.CodeTooLarge),
		Message: "The body is larger than 1 MiB",
		Why:     "a request has at most 1 MiB",
		Next:    "shorten it, or split it",
	}
}

// isJSON reports whether the Content-Type is JSON's.
func isJSON(contentType string) bool {
	if contentType == "application/json" {
		return true
	}
	media, _, err := mime.ParseMediaType(contentType)
	return err == nil && strings.EqualFold(media, "application/json")
}

func notJSON(contentType string) error {
	message := "The Content-Type must be application/json, not '" + safetext.Printable(contentType) + "'"
	if contentType == "" {
		message = "The Content-Type must be application/json, and there is none"
	}
	return &service.Problem{
		Kind:    service.KindWrongFormat,
		Code:    "UNSUPPORTED_MEDIA_TYPE",
		Message: message,
		Why:     "bodies are JSON",
		Next:    "send `Content-Type: application/json`",
	}
}

// metadataOf reads the headers of a write; it generates a key if there is none.
func metadataOf(header http.Header) (service.Meta, error) {
	m := service.Meta{Key: header.Get(wire.HeaderKey)}
	if m.Key == "" {
		if _, given := header[wire.HeaderKey]; given {
			return m, service.InvalidRequest("", wire.HeaderKey+" is empty")
		}
		m.Key = uuid.NewString()
	} else {
		m.Named = true
	}
	if text := header.Get(wire.HeaderOccurredAt); text != "" {
		at, err := time.Parse(time.RFC3339Nano, text)
		if err != nil || at.UTC().Year() < 1970 || at.UTC().Year() > 9999 {
			return m, service.InvalidRequest(
				"",
				wire.HeaderOccurredAt+" must be an RFC 3339 time, not '"+safetext.Printable(text)+"'",
			)
		}
		m.OccurredAt, m.Kept = at, true
	}
	m.TraceParent = traceParentOf(header[wire.HeaderTraceParent])
	return m, nil
}

// traceParentOf returns the W3C trace context of a write, "" if the caller sent none. The standard requires to begin a
// new trace in place of one that is not valid.
func traceParentOf(given []string) string {
	if len(given) == 0 {
		return ""
	}
	if len(given) == 1 {
		if known := events.TraceParent(given[0]); known != "" {
			return known
		}
	}
	var id [24]byte
	_, _ = rand.Read(id[:]) // it never fails
	return fmt.Sprintf("00-%x-%x-00", id[:16], id[16:])
}

// prepare does the common first steps of every route under /api except the commands': it reads a write's headers and
// body, and waits until a read's sequence is reached.
func (s *server) prepare(w http.ResponseWriter, r *http.Request, c *call) error {
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		query := r.URL.Query()
		if err := s.waitFor(r.Context(), c, query.Get("minSeq")); err != nil || !query.Has("at") {
			return err
		}
		return refusedToPage(s.LookBack(r.Context(), c.Caller, query.Get("at")))
	case http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete:
	default:
		return nil
	}
	var err error
	if c.Meta, err = metadataOf(r.Header); err != nil {
		return err
	}
	var body bytes.Buffer
	if err := readBody(r, &body); err != nil {
		return err
	}
	if contentType := r.Header.Get("Content-Type"); body.Len() > 0 && !isJSON(contentType) {
		return notJSON(contentType)
	}
	c.body = body.Bytes()
	return nil
}

// waitFor waits until the views have reached the sequence that a reader requires.
func (s *server) waitFor(ctx context.Context, c *call, minSeq string) error {
	if minSeq == "" {
		return nil
	}
	sequence, err := strconv.ParseUint(minSeq, 10, 64)
	if err != nil {
		return service.InvalidRequest("", "minSeq must be a sequence, not '"+safetext.Printable(minSeq)+"'")
	}
	return s.AwaitSequence(ctx, c.Caller, sequence)
}
