package api

import (
	"net/http"
	"strconv"

	"maestro/commands"
	"maestro/events"
)

// command is POST /api/commands/<id>, which nearly all calls are: no router, no framework, no reflection but Parse's.
func (s *server) command(w http.ResponseWriter, r *http.Request, by commands.Actor, id string) {
	answer, err := s.doCommand(r, by, id)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	b := make([]byte, 0, len(answer.Event)+256)
	b = append(b, `{"sequence":`...)
	sequence := strconv.FormatUint(answer.Sequence, 10)
	b = append(b, sequence...)
	b = append(b, `,"event":`...)
	if answer.Event == nil {
		b = append(b, "null"...)
	} else {
		b = append(b, answer.Event...)
	}
	if token := s.tokenOf(answer.Data); token != "" {
		// A token needs no escape: ids and base64url do not.
		b = append(b, `,"token":"`...)
		b = append(b, token...)
		b = append(b, '"')
	}
	b = append(b, '}', '\n')
	header := w.Header()
	header["Content-Type"] = s.jsonType
	header["Content-Length"] = []string{strconv.Itoa(len(b))}
	header["Maestro-Sequence"] = []string{sequence}
	if answer.Retried {
		header["Maestro-Retried"] = []string{"true"}
	}
	s.write(w, b)
}

func (s *server) doCommand(r *http.Request, by commands.Actor, id string) (commands.Answer, error) {
	if contentType := r.Header.Get("Content-Type"); !isJSON(contentType) {
		return commands.Answer{}, notJSON(contentType)
	}
	meta, err := metadataOf(r.Header)
	if err != nil {
		return commands.Answer{}, err
	}
	buffer := s.buffers.get()
	defer s.buffers.put(buffer)
	if err := readBody(r, buffer); err != nil {
		return commands.Answer{}, err
	}
	command, err := commands.Parse(id, buffer.Bytes())
	if err != nil {
		return commands.Answer{}, err
	}
	return s.Handler.Do(r.Context(), commands.Request{
		By: by, Command: command, Key: meta.key, OccurredAt: meta.occurredAt, TraceParent: meta.traceParent,
	})
}

// tokenOf gives the secret of the session that a command made; "" if it made none. It is made from the event, so that a
// retry answers the same.
func (s *server) tokenOf(data events.Data) string {
	switch d := data.(type) {
	case *events.SessionSpawned:
		return SessionToken(s.Keys.ServerKey, d.SessionID, FirstGeneration)
	case *events.SessionRegistered:
		if d.Created != nil {
			return SessionToken(s.Keys.ServerKey, d.SessionID, FirstGeneration)
		}
	}
	return ""
}
