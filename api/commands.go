package api

import (
	"bytes"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"maestro/internal/safetext"
	"maestro/service"
	"maestro/service/wire"
)

// command is POST /api/commands/<id>, which serves nearly all calls: it uses no router, no framework, and no reflection
// except Parse's.
//
// ?dryRun=true tries the command without executing it; of task:complete, ?after=<taskId>,<taskId> tries it after those
// tasks. ?ifFinished=true and ?ifNew=true let a session end, or ask, only if that is what it means.
// ?wait=25s, for queue:start, waits until there is an item.
// ?tree=true applies session:kill, or token:revoke of a session, to the living sessions below it too.
// ?all=true applies session:message to a whole team.
func (s *server) command(w http.ResponseWriter, r *http.Request, c *call, id string) {
	buffer := s.buffers.get()
	defer s.buffers.put(buffer)
	var o service.Options
	var answer service.Done
	var err error
	if r.URL.RawQuery != "" {
		o, err = optionsOf(r.URL.RawQuery)
	}
	if err == nil {
		answer, err = s.doCommand(r, c, id, o, buffer)
	}
	if err != nil {
		s.failed(w, r, c.Caller, err)
		return
	}
	said := answer.Wire(o.DryRun)
	buffer.Reset()
	buffer.Grow(len(said.Event) + 256)
	b, err := said.AppendJSON(buffer.AvailableBuffer())
	if err != nil {
		s.failed(w, r, c.Caller, err)
		return
	}
	b = append(b, '\n')
	header := w.Header()
	header["Content-Type"] = s.jsonType
	values := [2]string{strconv.Itoa(len(b)), sequenceText(said.Sequence)}
	header["Content-Length"], header[wire.HeaderSequence] = values[:1:1], values[1:]
	if said.Retried {
		header[wire.HeaderRetried] = []string{"true"}
	}
	s.write(w, b)
}

// optionsOf parses the query of a command. It refuses unknown parameters: a misspelt dry run must not be executed.
func optionsOf(raw string) (o service.Options, err error) {
	query, err := url.ParseQuery(raw)
	if err != nil {
		return o, unreadableQuery(err)
	}
	for _, name := range slices.Sorted(maps.Keys(query)) {
		value := query.Get(name)
		switch name {
		case "dryRun":
			o.DryRun, err = isTrue(name, value)
		case "tree":
			o.Tree, err = isTrue(name, value)
		case "all":
			o.All, err = isTrue(name, value)
		case "ifFinished":
			o.IfFinished, err = isTrue(name, value)
		case "ifNew":
			o.IfNew, err = isTrue(name, value)
		case "after":
			if value != "" {
				o.After = strings.Split(value, ",")
			}
		case "wait":
			o.Wait, err = service.ParseWait(value)
		default:
			err = service.InvalidRequest("", "a command takes no option '"+safetext.Printable(name)+
				"' in its query; it takes after, all, dryRun, ifFinished, ifNew, tree and wait")
		}
		if err != nil {
			return o, err
		}
	}
	return o, nil
}

func isTrue(name, text string) (bool, error) {
	if text != "true" && text != "false" {
		return false, service.InvalidRequest("", name+" is true or false, not '"+safetext.Printable(text)+"'")
	}
	return text == "true", nil
}

// doCommand checks what only HTTP knows, and leaves the rest to the service. It reads the body into the buffer.
func (s *server) doCommand(
	r *http.Request, c *call, id string, o service.Options, buffer *bytes.Buffer,
) (service.Done, error) {
	if contentType := r.Header.Get("Content-Type"); !isJSON(contentType) {
		return service.Done{}, notJSON(contentType)
	}
	var err error
	if c.Meta, err = metadataOf(r.Header); err != nil {
		return service.Done{}, err
	}
	return s.Do(r.Context(), c.Caller, service.Call{
		ID:      id,
		Length:  r.ContentLength,
		Options: o,
		Drop:    func() { drain(r, maxRequest) },
		Body: func() ([]byte, error) {
			err := readBody(r, buffer)
			return buffer.Bytes(), err
		},
	})
}
