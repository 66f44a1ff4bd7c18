package api

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"maestro/commands"
	"maestro/engine"
	"maestro/events"
	"maestro/projections"
	"maestro/service"
)

// command is POST /api/commands/<id>, which nearly all calls are: no router, no framework, no reflection but Parse's.
//
// ?dryRun=true answers what would happen, and nothing does. ?wait=25s, of queue:start, waits until there is an item.
// ?tree=true, of session:kill and of token:revoke of a session, does the same to the living sessions below it.
func (s *server) command(w http.ResponseWriter, r *http.Request, c *call, id string) {
	var o commandOptions
	answer, err := engine.Answer{}, error(nil)
	if r.URL.RawQuery != "" {
		o, err = commandOptionsOf(r.URL.Query())
	}
	if err == nil {
		answer, err = s.doCommand(r, c, id, o)
	}
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
	if o.dryRun {
		b = append(b, `,"dryRun":true`...)
	} else if token := s.tokenFor(c, id, answer); token != "" {
		// A token needs no escape: ids and base64url do not.
		b = append(b, `,"token":"`...)
		b = append(b, token...)
		b = append(b, '"')
	}
	b = c.below.appendTo(b)
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

// commandOptions are what the query of a command says.
type commandOptions struct {
	dryRun, tree bool
	wait         time.Duration
}

func commandOptionsOf(query url.Values) (o commandOptions, err error) {
	for name, option := range map[string]*bool{"dryRun": &o.dryRun, "tree": &o.tree} {
		switch text := query.Get(name); text {
		case "true":
			*option = true
		case "", "false":
		default:
			return o, service.InvalidRequest("", name+" is true or false, not '"+service.Printable(text)+"'")
		}
	}
	o.wait, err = service.ParseWait(query.Get("wait"))
	return o, err
}

func (s *server) doCommand(r *http.Request, c *call, id string, o commandOptions) (engine.Answer, error) {
	if contentType := r.Header.Get("Content-Type"); !isJSON(contentType) {
		return engine.Answer{}, notJSON(contentType)
	}
	meta, err := metadataOf(r.Header)
	if err != nil {
		return engine.Answer{}, err
	}
	if err := meta.checkKept(id); err != nil {
		return engine.Answer{}, err
	}
	c.meta = meta
	if err := s.permitEarly(c, id, r.ContentLength); err != nil {
		drain(r, maxRequest)
		return engine.Answer{}, s.refusedEarly(r.Context(), c, err, o.dryRun)
	}
	buffer := s.buffers.get()
	defer s.buffers.put(buffer)
	if err := readBody(r, buffer); err != nil {
		return engine.Answer{}, err
	}
	command, err := commands.ParseContext(r.Context(), id, buffer.Bytes())
	if err != nil {
		return engine.Answer{}, s.permissionFirst(r.Context(), c, id, o.dryRun, err)
	}
	if err := s.withManifest(r.Context(), c, command, o.dryRun); err != nil {
		return engine.Answer{}, err
	}
	if strings.HasPrefix(id, "template:") && s.Permit(c.Caller, id, "") == nil {
		if err := s.CheckTemplate(command); err != nil {
			return engine.Answer{}, err
		}
	}
	request := engine.Request{
		By:          c.By,
		Command:     command,
		Key:         meta.key,
		OccurredAt:  meta.occurredAt,
		TraceParent: meta.traceParent,
	}
	if err := checkTree(command, o); err != nil {
		return engine.Answer{}, err
	}
	if err := s.within(r.Context(), c, request, o.dryRun); err != nil {
		return engine.Answer{}, err
	}
	do := func() (engine.Answer, error) { return s.Handler.Do(r.Context(), request) }
	if o.dryRun {
		do = func() (engine.Answer, error) { return s.Handler.Try(request) }
	}
	answer, err := do()
	c.admission.unused(answer, err)
	if err == nil {
		c.below, err = s.below(r.Context(), request, o)
	}
	if o.dryRun {
		return answer, err
	}
	s.placeManifest(r.Context(), answer.Data)
	if start, ok := command.(*commands.StartItem); ok && o.wait > 0 && err == nil && answer.Event == nil {
		if err := s.waits(r.Context(), c); err != nil {
			return engine.Answer{}, err
		}
		return s.waitForItem(r.Context(), c, request, start, o.wait)
	}
	return answer, err
}

// waitForItem asks again for an item whenever there is one; several may wait, and one gets it.
func (s *server) waitForItem(
	ctx context.Context, c *call, request engine.Request, start *commands.StartItem, wait time.Duration,
) (engine.Answer, error) {
	session := start.SessionID
	if session == "" {
		session = c.By.Name
	}
	var project, queue string
	s.Handler.View(func(state *projections.State) {
		if x := state.Session(session); x != nil {
			project, queue = x.ProjectID, x.Queue
		}
	})
	until := time.Now().Add(wait)
	for {
		err := s.Await(ctx, c.Caller, time.Until(until), func(state *projections.State) bool {
			x, q := state.Session(session), state.Queue(project, queue)
			if x == nil || q == nil || state.Gone(session) != "" || state.Holds(x) != nil {
				return true
			}
			top, _ := state.Top(q)
			return top != nil
		}, engine.Key{
			Kind: projections.KindQueue,
			ID:   project + "/" + queue,
		}, engine.Key{Kind: projections.KindSession, ID: session})
		if err != nil {
			return engine.Answer{}, err
		}
		var held bool
		answer, err := s.Handler.Do(ctx, request)
		s.Handler.View(func(state *projections.State) {
			x := state.Session(session)
			held = x != nil && state.Holds(x) != nil
		})
		if err != nil || answer.Event != nil || held || time.Until(until) <= 0 {
			return answer, err
		}
	}
}

// tokenFor gives the secret that an answer shows. The caller of a retry is shown it only while it may use the command,
// in the project of its event.
func (s *server) tokenFor(c *call, id string, answer engine.Answer) string {
	token := s.tokenOf(answer.Data)
	if token == "" || !answer.Retried {
		return token
	}
	event, err := events.Decode(answer.Event)
	if err != nil || s.Permit(c.Caller, id, event.Project) != nil {
		return ""
	}
	return token
}

// tokenOf gives the secret of the session that a command made; "" if it made none. It is made from the event, so that a
// retry answers the same.
func (s *server) tokenOf(data events.Data) string {
	switch d := data.(type) {
	case *events.SessionSpawned:
		return service.SessionToken(s.Keys.ServerKey, d.SessionID, service.FirstGeneration)
	case *events.SessionRegistered:
		if d.Created != nil {
			return service.SessionToken(s.Keys.ServerKey, d.SessionID, service.FirstGeneration)
		}
	case *events.TokenCreated:
		return service.NamedToken(s.Keys.ServerKey, d.Name, d.Generation)
	case *events.TokenRevoked:
		if d.SessionID != "" {
			return service.SessionToken(s.Keys.ServerKey, d.SessionID, d.Generation)
		}
	}
	return ""
}
