package api

import (
	"cmp"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"maestro/api/compat"
	"maestro/api/route"
	"maestro/service"
	"maestro/service/wire"
	"maestro/workers/manifest"
)

// Documented is the documentation of a route.
type Documented struct {
	Method, Path, Summary string
	// Name is unique among the routes of our own clients, and among those of older clients.
	Name string
	// Rows are the rows of the permission table that permit the call: one of them, depending on the request.
	Rows []string
	// Past says that the route takes `at`, and InPages that its list always comes in pages.
	Past, InPages bool
	// Public says that the route needs no token.
	Public bool

	Params []route.Param
	// Body is the type of the request's body, nil if it takes none.
	Body reflect.Type
	// Status is that of success, Media the type of its content, "" if it has none, and Answer the type that describes
	// JSON.
	Status int
	Media  string
	Answer reflect.Type

	row   string // of a write, if it has one of its own
	older bool   // only older clients call it
}

// JSON is the type of most contents.
const JSON = "application/json"

// handle registers a route with an answer in a form of its own, besides those that register their documentation.
func (s *server) handle(pattern, summary string, answer http.HandlerFunc) {
	s.mux.HandleFunc(pattern, answer)
	s.document(pattern, summary)
}

func (s *server) document(pattern, summary string) {
	method, path, _ := strings.Cut(pattern, " ")
	s.besides = append(s.besides, Documented{Method: method, Path: path, Summary: summary})
}

// Aliases returns, for each type that is created while it is written, and for each that has more members for older
// clients, the type that describes it.
func Aliases() map[reflect.Type]reflect.Type {
	s := &server{mux: http.NewServeMux()}
	s.routes()
	route.Describe[compat.SessionBody, wire.Session](&s.table)
	route.Describe[compat.SessionQueue, wire.SessionQueue](&s.table)
	return s.table.Alias
}

// Routes returns the routes of our own clients, by path, and those of older clients.
func Routes() (native, compat []Documented) {
	s := &server{mux: http.NewServeMux()}
	s.nativeRoutes()
	native = append(s.documented(), Documented{
		Method:  http.MethodPost,
		Path:    commandsPath + "{id}",
		Summary: "Run a command: the only route that writes to the log",
		Name:    "command",
		Status:  http.StatusOK,
		Media:   JSON,
		Answer:  reflect.TypeFor[wire.Done](),
	}, Documented{
		Method:  http.MethodPost,
		Path:    manifestsPath,
		Summary: "Store a manifest, and return its digest, which commands name",
		Name:    "manifest-store",
		Rows:    []string{service.RowOfManifest},
		Body:    reflect.TypeFor[manifest.Manifest](),
		Status:  http.StatusOK,
		Media:   JSON,
		Answer:  reflect.TypeFor[wire.StoredManifest](),
	}, Documented{
		Method:  http.MethodPost,
		Path:    wire.MCPPath,
		Summary: mcpSummary,
		Name:    "mcp",
		Body:    reflect.TypeFor[map[string]any](),
		Status:  http.StatusOK,
		Media:   JSON,
		Answer:  reflect.TypeFor[map[string]any](),
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
	var routes []Documented
	for _, r := range s.besides {
		routes = append(routes, s.withForm(r))
	}
	for _, r := range s.table.Routes {
		routes = append(routes, Documented{
			Method:  r.Method,
			Path:    r.Path,
			Summary: r.Summary,
			Name:    r.Name,
			Params:  r.Params,
			Body:    typeOf(r.Body),
			Status:  cmp.Or(r.Status, http.StatusOK),
			Media:   JSON,
			Answer:  r.Answer,
			row:     r.Row,
			older:   r.Older,
		})
	}
	for i, r := range routes {
		query := service.Query("")
		if r.Method == http.MethodGet {
			query = service.Query(r.Name)
		}
		routes[i].Rows, routes[i].Past, routes[i].InPages = rowsOf(r), query.HasPast(), query.InPages()
		routes[i].Public = !needsCaller(r.Path) || published[r.Method+" "+r.Path]
	}
	return routes
}

// typeOf returns the type of an example; nil for none.
func typeOf(example any) reflect.Type {
	if example == nil {
		return nil
	}
	return reflect.TypeOf(example)
}
