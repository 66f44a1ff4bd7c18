package api

import (
	"net/http"
	"strings"

	"maestro/commands"
	"maestro/service"
	"maestro/service/wire"
)

// A read changes nothing and costs little, whoever makes a browser ask for it: with --auth off an image on any page can
// ask, where the browser does not say whose page it is. So a caller without a credential is not heard by a read, its
// refused reads are not recorded, and it starts no reading of the whole log unless it says that it is a program.

// longReads are the reads whose work grows with the log. Tests hold every other read to a few messages.
var longReads = map[string]bool{
	"GET /api/audit/export": true,
	"GET /api/audit/verify": true,
	"GET /api/audit/texts":  true,
	"GET /api/backup":       true,
	"GET /api/since":        true,
}

// reads reports whether the call is a read by its method.
func (c *call) reads() bool {
	return c.request.Method == http.MethodGet || c.request.Method == http.MethodHead
}

// routeOf gives the route of a request as the mux names it; a command's is its path.
func (s *server) routeOf(r *http.Request) string {
	if r.Method == http.MethodPost && strings.HasPrefix(r.URL.Path, commandsPath) {
		return r.Method + " " + r.URL.Path
	}
	_, route := s.mux.Handler(r)
	return route
}

// checkLongRead refuses a long read to a caller without a credential that could be a browser. No page of another origin
// can set the header that it asks for.
func (s *server) checkLongRead(r *http.Request, c *call) error {
	if !c.Anonymous || !c.reads() || r.Header.Get(wire.HeaderClient) != "" {
		return nil
	}
	if !longReads[s.routeOf(r)] {
		return nil
	}
	return &service.Problem{
		Kind:    service.KindNotAllowed,
		Code:    string(commands.CodeNotAllowed),
		Message: "This read needs a Maestro-Client header",
		Why:     "it reads the whole log, and a caller without a token could be any page in a browser",
		Next:    "send `Maestro-Client: <name>`, or a token",
	}
}
