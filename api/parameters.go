package api

import (
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"maestro/api/compat"
	"maestro/internal/safetext"
	"maestro/service"
	"maestro/service/wire"
)

// parameters are what the query of a route may have.
type parameters struct {
	// names are those of its parameters, sorted.
	names []string
	// project is its name for the filter by project, "" if it has none, and alias the other one.
	project, alias string
	// older says that older clients call the route: what they send besides is ignored, as it always was.
	older bool
}

// projectNames are the two names of the filter by project.
var projectNames = []string{"project", "projectId"}

// parametersOf returns the parameters of each route by its pattern: what its documentation declares, and what is read
// for every route of its kind.
func (s *server) parametersOf() map[string]parameters {
	all := map[string]parameters{"POST " + manifestsPath: {}}
	for _, r := range s.documented() {
		pattern := r.Method + " " + r.Path
		p := parameters{older: r.older || compat.IsOlderRead(pattern)}
		add := func(name string) {
			if !slices.Contains(p.names, name) {
				p.names = append(p.names, name)
			}
		}
		for _, param := range r.Params {
			if param.In == "query" {
				add(param.Name)
			}
		}
		if r.Method == http.MethodGet {
			add("minSeq")
			if s.isList(r) {
				add("limit")
				add("cursor")
			}
		}
		for i, name := range projectNames {
			other := projectNames[1-i]
			if slices.Contains(p.names, name) && !slices.Contains(p.names, other) {
				p.project, p.alias = name, other
			}
		}
		slices.Sort(p.names)
		all[pattern] = p
	}
	return all
}

// isList reports whether the answers of a route can come in pages.
func (s *server) isList(r Documented) bool {
	answer := r.Answer
	if answer != nil && (answer.Implements(reflect.TypeFor[service.CutPage]()) ||
		answer.Implements(reflect.TypeFor[service.PageWithin]())) {
		return true
	}
	if as := s.table.Alias[answer]; as != nil {
		answer = as
	}
	return r.InPages || answer != nil && answer.Kind() == reflect.Slice
}

// readQuery refuses what the route of a request would ignore in its query: the answer would be another one than the
// client asked for. It returns the request with the route's own name for the filter by project.
func (s *server) readQuery(r *http.Request) (*http.Request, error) {
	query := r.URL.Query() // saidOnce has parsed it
	reads := r.Method == http.MethodGet || r.Method == http.MethodHead
	if !reads && query.Has("at") {
		p := service.InvalidRequest("", "A request that changes something takes no at")
		p.Why, p.Next = "at asks how something was, and nobody can change that", "leave at out"
		return r, p
	}
	_, pattern := s.mux.Handler(r)
	if r.URL.Path == manifestsPath && r.Method == http.MethodPost {
		pattern = "POST " + manifestsPath
	}
	known, ok := s.parameters()[pattern]
	if !ok {
		return r, nil // there is nothing
	}
	strict := !known.older || r.Header.Get(wire.HeaderClient) != ""
	for _, name := range slices.Sorted(maps.Keys(query)) {
		_, found := slices.BinarySearch(known.names, name)
		switch {
		case found, name == known.alias && name != "":
		case reads && name == "at": // a read that has no past says so
		case strict, asksForPast(name, known):
			return r, unknownParameter(r, name, known)
		}
	}
	if known.alias == "" || !query.Has(known.alias) {
		return r, nil
	}
	both := query.Has(known.project)
	if both && query.Get(known.project) != query.Get(known.alias) {
		p := service.InvalidRequest("", "project and projectId are the same filter, and the query has two projects")
		p.Why, p.Next = "the server cannot know which one you mean", "send one of them"
		return r, p
	}
	return withQuery(r, renamed(r.URL.RawQuery, known, both)), nil
}

// asksForPast reports whether a parameter that older clients' routes do not know is probably a misspelt at. The answer
// would show the present in place of the past.
func asksForPast(name string, known parameters) bool {
	return slices.Contains(known.names, "at") && safetext.Nearest(strings.ToLower(name), known.names) == "at" ||
		strings.EqualFold(name, "at")
}

func unknownParameter(r *http.Request, name string, known parameters) error {
	p := service.InvalidRequest("",
		r.Method+" "+safetext.Printable(r.URL.Path)+" takes no parameter '"+safetext.Printable(name)+"'")
	p.Why = "the server would ignore it, and the answer would not be what you asked for"
	if len(known.names) == 0 {
		p.Next = "leave it out: this route takes none"
		return p
	}
	p.Next = "use one of " + strings.Join(known.names, ", ")
	words := known.names
	if known.alias != "" {
		words = append(slices.Clip(words), known.alias)
	}
	if near := safetext.Nearest(name, words); near != "" {
		p.Next = "did you mean " + near + "? The route takes " + strings.Join(known.names, ", ")
	}
	return p
}

// renamed returns a query with the route's own name for the filter by project, or without the other name if it has
// both.
func renamed(raw string, known parameters, both bool) string {
	var pairs []string
	for pair := range strings.SplitSeq(raw, "&") {
		key, _, _ := strings.Cut(pair, "=")
		if name, err := url.QueryUnescape(key); err == nil && name == known.alias {
			if both {
				continue
			}
			pair = known.project + pair[len(key):]
		}
		pairs = append(pairs, pair)
	}
	return strings.Join(pairs, "&")
}

func withQuery(r *http.Request, raw string) *http.Request {
	changed := *r
	address := *r.URL
	address.RawQuery = raw
	changed.URL = &address
	return &changed
}
