package api

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"maestro/api/compat"
	"maestro/api/mcp"
	"maestro/api/route"
	"maestro/commands"
	"maestro/internal/safetext"
	"maestro/service"
	"maestro/service/wire"
)

// Config configures the API. Service is required.
type Config struct {
	Service *service.Service
	// Warnings returns what /readyz says besides that the server is ready; nil if there is nothing to say.
	Warnings func() []wire.Warning
	// AuthOff admits loopback callers without a credential, as the user or as the session that they name.
	AuthOff bool
	// AllowedHosts are names, in addition to the loopback ones, by which the server is called; with or without a port.
	AllowedHosts []string
	// AllowOrigins are the origins, in addition to the server's own, whose pages may call it: "https://host:port".
	AllowOrigins []string
	Version      string
	// Meter is told of every answer, and Metrics shows what was measured; nil if nobody measures.
	Meter   Meter
	Metrics http.Handler
	// Ready returns why refusals or long texts cannot be written now, or nil; Ready itself may be nil.
	Ready func() error
}

// server is the handler that New returns.
type server struct {
	*service.Service
	Config
	hosts   map[string]bool
	origins map[string]bool
	mux     *http.ServeMux
	// queries are the reads by their patterns on the mux.
	queries map[string]service.Query
	// table describes the routes that api/route registers.
	table route.Table
	// shapes are the answer types of other routes, by pattern.
	shapes map[string]reflect.Type
	// sockets are the WebSockets of older clients.
	sockets *compat.Sockets
	// parameters are those of the routes, by pattern. They are found when the first query comes.
	parameters func() map[string]parameters
	// besides are the other routes.
	besides  []Documented
	started  time.Time
	buffers  bufferPool
	encoders encoders
	bodies   bodies
	// catalogue is what callers may use over the Model Context Protocol, and mcp serves it.
	catalogue *mcp.Catalogue
	mcp       http.Handler
	// handler is the server with its log of requests.
	handler http.Handler
	// Header values of every answer, allocated once.
	noStore, noSniff, jsonType []string
	// cookieBase is the name of the cookie of a login, without its prefix.
	cookieBase string
}

// New returns the HTTP handler of everything under /api and of the health checks.
func New(config Config) (http.Handler, error) {
	if config.Service == nil {
		return nil, errors.New("api: New needs a Service")
	}
	s := &server{
		Service:  config.Service,
		Config:   config,
		mux:      http.NewServeMux(),
		started:  config.Service.Now(),
		hosts:    setOf(config.AllowedHosts),
		origins:  setOf(config.AllowOrigins),
		noStore:  []string{"no-store"},
		noSniff:  []string{"nosniff"},
		jsonType: []string{"application/json; charset=utf-8"},
	}
	s.sockets = compat.NewSockets(config.Service)
	s.cookieBase = s.CookieName()
	if s.Meter == nil {
		s.Meter = unmetered{}
	}
	s.bodies.cutAt(s.Stopping)
	s.routes()
	s.parameters = sync.OnceValue(s.parametersOf)
	s.handler = identified(s)
	return s.handler, nil
}

func setOf(words []string) map[string]bool {
	set := make(map[string]bool, len(words))
	for _, word := range words {
		set[strings.ToLower(word)] = true
	}
	return set
}

// routes registers every route.
func (s *server) routes() {
	s.nativeRoutes()
	s.newMCP() // of our own clients' routes
	s.compatRoutes()
	s.mux.HandleFunc("/", s.unknown)
}

// nativeRoutes registers the routes of our own clients; each line corresponds to a file.
func (s *server) nativeRoutes() {
	s.queries = maps.Clone(plainQueries)
	describe(&s.table)
	s.healthRoutes()
	s.identityRoutes()
	s.whoamiRoutes()
	s.projectRoutes()
	s.taskRoutes()
	s.sessionRoutes()
	s.runnerRoutes()
	s.sharedRoutes()
	s.manifestRoutes()
	s.templateRoutes()
	s.heartbeatRoutes()
	s.timelineRoutes()
	s.queueRoutes()
	s.inputRoutes()
	s.tokenRoutes()
	s.webhookRoutes()
	s.whyRoutes()
	s.sinceRoutes()
	s.eventRoutes()
	s.histogramRoutes()
	s.blobRoutes()
	s.auditRoutes()
	s.liveRoutes()
	s.denialRoutes()
	s.backupRoutes()
	s.clockRoutes()
	s.loginRoutes()
	s.metricsRoutes()
	s.publishedRoutes()
}

const (
	// bodyWithin is the time limit for a body to arrive.
	bodyWithin = 30 * time.Second
	// endedBodyWithin is the same for a session that has ended: it sends only a few late reports.
	endedBodyWithin = 5 * time.Second
	// refusedBodyWithin bounds reading the rest of an unwanted body.
	refusedBodyWithin = 5 * time.Second
	// bodyPace is the minimum rate, in bytes a second, of a body that counts against the budgets, and stallWithin how
	// far it may fall behind.
	bodyPace    = 64 << 10
	stallWithin = 5 * time.Second
)

// commandsPath is the path prefix of the one route of commands.
const commandsPath = "/api/commands/"

// ServeHTTP implements http.Handler.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body *stoppingBody
	if r.ContentLength != 0 {
		// A body that does not arrive must not hold the connection.
		body = &stoppingBody{ReadCloser: r.Body, server: s, to: w}
		body.within(bodyWithin)
		r.Body = body
		defer body.leave()
	}
	header := w.Header()
	withTLS(r)
	s.protect(header, r)
	if problem := s.checkOrigin(header, r); problem != nil {
		s.refuseNobody(w, r, problem)
		return
	}
	socket := compat.IsSocket(r)
	isAPI := socket || isAPI(r)
	if (!isAPI || r.Method == http.MethodOptions) && r.URL.Path != wire.IdentityPath {
		delayed(w, r, func(ctx context.Context) bool { return s.AwaitOpen(ctx, addressOf(r)) })
	}
	if r.Method == http.MethodOptions {
		s.options(header, r)
		w.WriteHeader(http.StatusNoContent)
		return
	}
	if !isAPI {
		s.route(w, r)
		return
	}
	c, err := s.identify(r)
	if err != nil {
		s.NoteUnauthenticated()
		s.refuseNobody(w, r, err)
		return
	}
	if r.Method == http.MethodGet {
		if notice := s.DamageNotice(); notice != "" {
			header[wire.HeaderDamage] = []string{notice}
		}
	}
	if c.ended != nil {
		request, done := untilLogout(r, c.ended)
		defer done()
		r = request
	}
	on := serving(r, c)
	if body != nil && c.Ended {
		body.within(endedBodyWithin)
	}
	if err := s.admit(c, r); err != nil {
		delayed(w, r, func(ctx context.Context) bool { return !s.DelayRejection(ctx, c.Caller) })
		s.fail(w, r, err)
		return
	}
	defer c.leave()
	if body != nil {
		body.arrived = func() error { return s.StillGood(c.Caller) }
	}
	if body == nil || c.Reads {
		on.begin()
	} else {
		body.busy, body.counted = on, c.admission
	}
	defer on.end()
	if err := s.heard(r.Context(), header, c); err != nil {
		s.fail(w, r, err)
		return
	}
	if err := saidOnce(r); err != nil {
		s.fail(w, r, err)
		return
	}
	isCommand := r.Method == http.MethodPost && strings.HasPrefix(r.URL.Path, commandsPath)
	if r.URL.RawQuery != "" && !isCommand && !socket && !isMCP(r) {
		if r, err = s.readQuery(r); err != nil {
			s.fail(w, r, err)
			return
		}
		c.request = r
	}
	if err := s.ask(r, c); err != nil {
		s.fail(w, r.WithContext(context.WithValue(r.Context(), callKey{}, c)), err)
		return
	}
	if socket {
		s.webSocket(w, r, c)
		return
	}
	if id, ok := strings.CutPrefix(r.URL.Path, commandsPath); ok && r.Method == http.MethodPost {
		s.command(w, r, c, id)
		return
	}
	if r.URL.Path == manifestsPath && r.Method == http.MethodPost { // its body may be longer than any other
		s.storeManifest(w, r.WithContext(context.WithValue(r.Context(), callKey{}, c)), c)
		return
	}
	if isMCP(r) {
		s.serveMCP(w, r, c)
		return
	}
	if err := s.prepare(w, r, c); err != nil {
		s.fail(w, r, err)
		return
	}
	r = r.WithContext(context.WithValue(r.Context(), callKey{}, c))
	c.Page = func() (service.PageOf, error) { return s.pageAsked(r) } // r knows its route by then
	out := &response{
		ResponseWriter: w,
		server:         s,
		request:        r,
		call:           c,
	}
	defer func() { c.admission.Sent(out.sent) }() // even for an answer that breaks off
	s.route(out, r)
	out.begin()
}

// refuseNobody refuses a call of an unknown caller. It counts against its address.
func (s *server) refuseNobody(w http.ResponseWriter, r *http.Request, why error) {
	s.refuse(w, r, nil, s.delayNobody(w, r, why))
}

// delayNobody counts a call of an unknown caller against its address, and returns why it is refused.
func (s *server) delayNobody(w http.ResponseWriter, r *http.Request, why error) error {
	delayed(w, r, func(ctx context.Context) bool {
		hangUp, over := s.AdmitNobody(ctx, addressOf(r))
		if over != nil {
			why = over
		}
		return hangUp
	})
	return why
}

// route handles the requests that the mux would answer with an HTML page: the mux redirects unclean paths.
func (s *server) route(w http.ResponseWriter, r *http.Request) {
	if !isClean(r.URL.EscapedPath()) {
		s.unknown(w, r)
		return
	}
	s.mux.ServeHTTP(w, r)
}

func isClean(path string) bool {
	return strings.HasPrefix(path, "/") && !strings.Contains(path, "//") && !strings.Contains(path+"/", "/./") &&
		!strings.Contains(path+"/", "/../")
}

// unknown answers unknown paths, and methods that a path does not support.
func (s *server) unknown(w http.ResponseWriter, r *http.Request) {
	allowed := s.methods(r)
	if len(allowed) == 0 {
		s.fail(w, r, &service.Problem{
			Kind:    service.KindNotFound,
			Code:    string(commands.CodeNotFound),
			Message: "There is nothing at " + safetext.Printable(r.URL.Path),
			Why:     "no route has this path",
			Next:    "check the path against the documentation",
		})
		return
	}
	w.Header().Set("Allow", strings.Join(allowed, ", "))
	s.fail(w, r, &service.Problem{
		Kind:    service.KindWrongMethod,
		Code:    "METHOD_NOT_ALLOWED",
		Message: safetext.Printable(r.URL.Path) + " does not take " + safetext.Printable(r.Method),
		Why:     "it takes " + strings.Join(allowed, ", "),
		Next:    "use one of those methods",
	})
}

// methods returns the methods that the path of a request supports.
func (s *server) methods(r *http.Request) []string {
	if strings.HasPrefix(r.URL.Path, commandsPath) {
		return []string{http.MethodGet, http.MethodPost}
	}
	if r.URL.Path == manifestsPath {
		return []string{http.MethodPost}
	}
	if r.URL.Path == wire.MCPPath {
		return []string{http.MethodPost}
	}
	if !isClean(r.URL.EscapedPath()) {
		return nil
	}
	var allowed []string
	probe := *r
	for _, method := range []string{
		http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
	} {
		probe.Method = method
		if _, pattern := s.mux.Handler(&probe); pattern != "" && pattern != "/" {
			allowed = append(allowed, method)
		}
	}
	return slices.Clip(allowed)
}

func sequenceText(sequence uint64) string { return strconv.FormatUint(sequence, 10) }
