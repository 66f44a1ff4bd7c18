package api

import (
	"net"
	"net/http"
	"strings"

	"maestro/commands"
	"maestro/projections"
	"maestro/service"
)

// call is a request whose caller is known.
type call struct {
	*service.Caller

	request *http.Request
	body    []byte
	// admission is what the call holds of its limits.
	admission admission
}

type callKey struct{}

func newCall(caller *service.Caller, r *http.Request) *call {
	caller.ServerURL = schemeOf(r) + "://" + r.Host
	caller.Paged = r.URL.Query().Has("cursor")
	caller.Operation, caller.Reads = nameOf(r), r.Method == http.MethodGet || r.Method == http.MethodHead
	return &call{Caller: caller, request: r}
}

// identify learns from the credential, and from nothing else, who calls.
func (s *server) identify(r *http.Request) (*call, error) {
	values := r.Header["Authorization"]
	if len(values) == 0 {
		if s.AuthOff && fromLoopback(r.RemoteAddr) {
			return s.anonymous(r), nil
		}
		return nil, service.NotAuthenticated("A token is required", "the request has no Authorization header", false)
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	token = strings.TrimSpace(token)
	if len(values) > 1 || !strings.EqualFold(scheme, "Bearer") || token == "" {
		return nil, service.NotAuthenticated("The Authorization header is not a Bearer token",
			"one header with one token is expected", true)
	}
	caller, err := s.Authenticate(token)
	if err != nil {
		return nil, err
	}
	c := newCall(caller, r)
	if c.By.Kind == commands.ActorUser && c.By.Name != commands.AdminName {
		s.Uses.Used(c.By.Name, c.By.Generation, s.Now(), r.RemoteAddr)
	}
	return c, nil
}

// anonymous judges a caller without a credential by the path: below a session's queue, timeline or events it is that
// session, elsewhere the user.
func (s *server) anonymous(r *http.Request) *call {
	c := newCall(&service.Caller{By: commands.Admin(commands.AuthnNone), Anonymous: true}, r)
	rest, ok := strings.CutPrefix(r.URL.Path, "/api/sessions/")
	if !ok {
		return c
	}
	id, below, _ := strings.Cut(rest, "/")
	below, _, _ = strings.Cut(below, "/")
	if below != "queue" && below != "timeline" && below != "events" {
		return c
	}
	// A session that never was, or was deleted, is left to the route, which says so.
	s.Handler.View(func(state *projections.State) {
		if x := state.Session(id); x != nil {
			c.By = commands.SessionActor(x.ProjectID, id, commands.AuthnNone)
			c.Root = state.Root(x.ProjectID)
		}
	})
	return c
}

func (s *server) projectOfSession(id string) (project string) {
	s.Handler.View(func(state *projections.State) { project = state.SessionProject(id) })
	return project
}

func fromLoopback(remote string) bool {
	host, _, err := net.SplitHostPort(remote)
	return err == nil && isLoopback(host)
}

// as gives the actor that a body says it speaks for: it must be the caller, unless the caller showed no credential.
// source is "session", "user" or "", as older clients say it.
func (c *call) as(s *server, source, session string) (commands.Actor, error) {
	switch {
	case c.Anonymous && source == "session" && session == "":
		return commands.Actor{}, service.InvalidRequest("/sessionId", "sessionId is required")
	case c.Anonymous && source == "session":
		return commands.SessionActor(s.projectOfSession(session), session, commands.AuthnNone), nil
	case c.Anonymous:
		return c.By, nil
	case c.By.Kind == commands.ActorSession:
		if (source != "" && source != "session") || (session != "" && session != c.By.Name) {
			return commands.Actor{}, c.otherIdentity(session)
		}
	case source == "session" || source == "" && session != "":
		return commands.Actor{}, c.otherIdentity(session)
	}
	return c.By, nil
}

func (c *call) otherIdentity(session string) error {
	named := "the user"
	if session != "" {
		named = "session " + service.Printable(session)
	}
	return &service.Problem{
		Kind:    service.KindNotAllowed,
		Code:    string(commands.CodeNotAllowed),
		Message: "The body speaks for " + named + ", and the credential is that of " + c.By.String(),
		Why:     "who acts is known from the credential alone",
		Next:    "use the credential of " + named + ", or leave updateSource and sessionId out",
	}
}
