package api

import (
	"encoding/json"
	"net/http"
	"reflect"

	"maestro/service/wire"
)

// answers registers a route that shows a value in a form of its own, with its wrapper.
func answers[T any](
	s *server,
	pattern, summary string,
	see func(r *http.Request) (T, error),
	within ...func(http.HandlerFunc) http.HandlerFunc,
) {
	serve := func(w http.ResponseWriter, r *http.Request) {
		value, err := see(r)
		if err != nil {
			s.fail(w, r, err)
			return
		}
		s.show(w, r, value)
	}
	for _, wrap := range within {
		serve = wrap(serve)
	}
	if s.shapes == nil {
		s.shapes = map[string]reflect.Type{}
	}
	s.shapes[pattern] = reflect.TypeFor[T]()
	s.handle(pattern, summary, serve)
}

// show answers with a value from a route of answers.
func (s *server) show(w http.ResponseWriter, r *http.Request, value any) {
	body, err := json.Marshal(value)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	header := w.Header()
	header["Content-Type"] = s.jsonType
	header[wire.HeaderSequence] = []string{sequenceText(s.Head())}
	s.write(w, append(body, '\n'))
}
