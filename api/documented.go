package api

import (
	"net/http"
	"slices"
	"strings"

	"maestro/service"
)

// Documented is the documentation of a route.
type Documented struct {
	Method, Path, Summary string
	// Rows are the rows of the permission table that permit the call: one of them, depending on the request.
	Rows []string
	// Past says that the route takes `at`.
	Past bool

	name string // of a read
	row  string // of a write, if it has one of its own
}

// handle registers a route with an answer in a form of its own, besides those that register their documentation.
func (s *server) handle(pattern, summary string, answer http.HandlerFunc) {
	s.mux.HandleFunc(pattern, answer)
	method, path, _ := strings.Cut(pattern, " ")
	s.besides = append(s.besides, Documented{Method: method, Path: path, Summary: summary})
}

// Routes returns the routes of our own clients, by path, and those of older clients.
func Routes() (native, compat []Documented) {
	s := &server{mux: http.NewServeMux()}
	s.nativeRoutes()
	native = append(s.documented(), Documented{
		Method:  http.MethodPost,
		Path:    commandsPath + "{id}",
		Summary: "Run a command: the only route that writes to the log",
	}, Documented{
		Method:  http.MethodPost,
		Path:    manifestsPath,
		Summary: "Store a manifest, and return its digest, which commands name",
		Rows:    []string{service.RowOfManifest},
	})
	s.besides, s.table.Routes = nil, nil
	s.compatRoutes()
	for _, route := range s.documented() {
		same := func(own Documented) bool { return own.Method == route.Method && own.Path == route.Path }
		if !slices.ContainsFunc(native, same) {
			compat = append(compat, route)
		}
	}
	for _, routes := range [][]Documented{native, compat} {
		slices.SortFunc(routes, func(a, b Documented) int {
			return strings.Compare(a.Path+" "+a.Method, b.Path+" "+b.Method)
		})
	}
	return native, compat
}

func (s *server) documented() []Documented {
	routes := slices.Clone(s.besides)
	for _, r := range s.table.Routes {
		routes = append(routes, Documented{
			Method:  r.Method,
			Path:    r.Path,
			Summary: r.Summary,
			name:    r.Name,
			row:     r.Row,
		})
	}
	for i, r := range routes {
		routes[i].Rows, routes[i].Past = rowsOf(r), service.Query(r.name).HasPast()
	}
	return routes
}
