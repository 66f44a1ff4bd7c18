package api

import (
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// Documented is what a route says of itself.
type Documented struct{ Method, Path, Summary string }

// handle registers a route that answers in a form of its own, beside those that document themselves.
func (s *server) handle(pattern, summary string, answer http.HandlerFunc) {
	s.mux.HandleFunc(pattern, answer)
	method, path, _ := strings.Cut(pattern, " ")
	s.besides = append(s.besides, Documented{method, path, summary})
}

// Routes gives the routes of our own clients, by path, and those of older clients.
func Routes() (native, compat []Documented) {
	s := &server{mux: http.NewServeMux()}
	s.huma = newHuma(s.mux, "")
	s.nativeRoutes()
	native = append(s.documented(), Documented{http.MethodPost, commandsPath + "{id}", "Do a command: the one route that writes"})
	s.besides = nil
	s.compatRoutes()
	for _, route := range s.documented() {
		if !slices.Contains(native, route) {
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
	for path, item := range s.huma.OpenAPI().Paths {
		for _, o := range []*huma.Operation{item.Get, item.Post, item.Put, item.Patch, item.Delete} {
			if o != nil {
				routes = append(routes, Documented{o.Method, path, o.Summary})
			}
		}
	}
	return routes
}
