package api

import (
	"context"
	"net"
	"net/http"
	"strings"

	"maestro/api/compat"
	"maestro/service"
	"maestro/service/wire"
)

// call is a request with a known caller.
type call struct {
	*service.Caller

	request *http.Request
	body    []byte
	// admission is what the call uses of its limits.
	admission *service.Admission
	// ended ends with the login of a browser; nil if the caller showed a token.
	ended context.Context
}

// leave ends what the call uses of its limits, unless it has ended already.
func (c *call) leave() {
	if c.admission != nil {
		c.admission.Leave()
	}
}

type callKey struct{}

func newCall(caller *service.Caller, r *http.Request) *call {
	caller.Scheme, caller.Host = schemeOf(r), r.Host
	caller.Paged = r.URL.RawQuery != "" && r.URL.Query().Has("cursor")
	caller.Verb, caller.Target = r.Method, r.URL.Path
	caller.Reads = r.Method == http.MethodGet || r.Method == http.MethodHead
	caller.Program = r.Header.Get(wire.HeaderClient) != ""
	caller.UnknownIsEmpty = !caller.Program && compat.UnknownIsEmpty(r.URL.Path)
	return &call{Caller: caller, request: r}
}

// identify determines the caller from the credential alone.
func (s *server) identify(r *http.Request) (*call, error) {
	values := r.Header["Authorization"]
	if compat.IsSocket(r) && len(values) == 0 {
		if token := compat.SocketToken(r.Header); token != "" {
			values = []string{"Bearer " + token}
		}
	}
	if len(values) == 0 {
		if s.AuthOff && fromLoopback(r.RemoteAddr) {
			return s.anonymous(r), nil
		}
		if _, ok := s.secretOf(r); ok {
			return s.identifyLogin(r)
		}
		return nil, service.NotAuthenticated("A token is required", "the request has no Authorization header", false)
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	token = strings.TrimSpace(token)
	if len(values) > 1 || !strings.EqualFold(scheme, "Bearer") || token == "" {
		return nil, service.NotAuthenticated("The Authorization header is not a Bearer token",
			"one header with one token is expected", true)
	}
	caller, err := s.AuthenticateFrom(token, r.RemoteAddr)
	if err != nil {
		return nil, err
	}
	return newCall(caller, r), nil
}

// identifyLogin determines the caller from the cookie of a login.
func (s *server) identifyLogin(r *http.Request) (*call, error) {
	caller, ended, err := s.loggedIn(r)
	if err != nil {
		return nil, err
	}
	c := newCall(caller, r)
	c.ended = ended
	return c, nil
}

// anonymous identifies a caller without a credential by the path: below a session's queue, timeline or events it is
// that session, elsewhere the user, as on a WebSocket, whose path says nothing.
func (s *server) anonymous(r *http.Request) *call {
	if compat.IsSocket(r) {
		return newCall(s.Anonymous(""), r)
	}
	return newCall(s.Anonymous(compat.SessionOf(r.URL.Path)), r)
}

func fromLoopback(remote string) bool {
	host, _, err := net.SplitHostPort(remote)
	return err == nil && isLoopback(host)
}
