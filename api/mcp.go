package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"maestro/api/mcp"
	"maestro/api/route"
	"maestro/commands"
	"maestro/service"
	"maestro/service/wire"
)

// /mcp is the Model Context Protocol over the same routes: each call of a tool is a request of its own, with the
// caller's credential, that goes through everything that a request over the network goes through.

// mcpSummary describes the route.
const mcpSummary = "The Model Context Protocol: tools are the caller's commands, resources its reads"

// mcpServerKey is the key of a request's *sdk.Server.
type mcpServerKey struct{}

// newMCP prepares the route. It keeps no sessions: nothing can be resumed by whoever guesses an id.
func (s *server) newMCP() {
	s.catalogue = mcp.New(s.Version, s.mcpRoutes())
	s.mcp = sdk.NewStreamableHTTPHandler(func(r *http.Request) *sdk.Server {
		server, _ := r.Context().Value(mcpServerKey{}).(*sdk.Server)
		return server
	}, &sdk.StreamableHTTPOptions{
		Stateless:    true,
		JSONResponse: true,
		// checkOrigin did so already, for the names that this server was given.
		DisableLocalhostProtection: true,
		MaxRequestBodyBytes:        maxRequest,
	})
}

// mcpRoutes returns the reads that tools and resources are made of.
func (s *server) mcpRoutes() (routes []mcp.Route) {
	for _, r := range s.table.Routes {
		if r.Method != http.MethodGet {
			continue
		}
		routes = append(routes, mcp.Route{
			Method:  r.Method,
			Path:    r.Path,
			Name:    r.Name,
			Summary: r.Summary,
			Rows:    service.Query(r.Name).Rows(),
			Params:  r.Params,
		})
	}
	for _, r := range s.besides {
		pattern := r.Method + " " + r.Path
		route := mcp.Route{
			Method:  r.Method,
			Path:    r.Path,
			Summary: r.Summary,
			Rows:    rowsOf(r),
			Params: slices.DeleteFunc(s.withForm(r).Params, func(p route.Param) bool {
				return p.In == "header"
			}),
		}
		switch {
		case plainQueries[pattern] != "":
			route.Name = string(plainQueries[pattern])
		case pattern == generatePattern:
			route.Name, route.Body = "manifest-generate", reflect.TypeFor[wire.NewManifest]()
		default:
			continue
		}
		routes = append(routes, route)
	}
	return routes
}

// serveMCP is POST /mcp. Once the body of a call is here, what it asks for counts in its place, and what is kept of the
// answers counts until its client has read them.
func (s *server) serveMCP(w http.ResponseWriter, r *http.Request, c *call) {
	if c.ended != nil {
		s.fail(w, r, loginOverMCP())
		return
	}
	var body bytes.Buffer
	err := readBody(r, &body)
	if err == nil {
		err = oneMessage(body.Bytes())
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	if code, why := notAMessage(body.Bytes()); code != 0 {
		w.Header()["Content-Type"] = s.jsonType
		w.WriteHeader(http.StatusBadRequest)
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":null,"error":{"code":%d,"message":%q}}`+"\n", code, why)
		return
	}
	c.admission.StepAside()
	kept := &unreadAnswers{admission: c.admission}
	defer kept.end()
	caller := mcp.Caller{Ask: s.asker(r, kept)}
	if c.By.Kind == commands.ActorSession {
		caller.Session, caller.Project = c.By.Name, c.By.Project
	}
	r.Body = http.NoBody
	inner := r.WithContext(context.WithValue(r.Context(), mcpServerKey{}, s.catalogue.Serve(caller)))
	inner.Body = readCloser{bytes.NewReader(body.Bytes())}
	s.mcp.ServeHTTP(w, inner)
}

// loginOverMCP refuses the login of a browser: no page of ours speaks the protocol, and one message may ask for much.
func loginOverMCP() error {
	return &service.Problem{
		Kind:    service.KindNotAllowed,
		Code:    "LOGIN_NOT_ALLOWED",
		Message: "The login of a browser is not valid at " + wire.MCPPath,
		Why:     "programs call it, and they have a token",
		Next:    "use a token: `Authorization: Bearer <token>`",
	}
}

// The codes of JSON-RPC for a body that is no message.
const (
	codeParseError     = -32700
	codeInvalidRequest = -32600
)

// notAMessage returns the code of JSON-RPC, and why, for a body that is no message; 0 for one that is. The protocol's
// library answers it in plain text, with the names of its own types.
func notAMessage(body []byte) (code int, why string) {
	if !json.Valid(body) {
		return codeParseError, "the body is not JSON"
	}
	var message struct {
		JSONRPC any             `json:"jsonrpc"`
		Method  any             `json:"method"`
		Result  json.RawMessage `json:"result"`
		Error   json.RawMessage `json:"error"`
	}
	if err := json.Unmarshal(body, &message); err != nil {
		return codeInvalidRequest, "a message is a JSON object"
	}
	if message.JSONRPC != "2.0" {
		return codeInvalidRequest, "jsonrpc must be the text 2.0"
	}
	if method, ok := message.Method.(string); message.Result == nil && message.Error == nil && (!ok || method == "") {
		return codeInvalidRequest, "a message needs a method"
	}
	return 0, ""
}

// oneMessage refuses a batch, which older versions of the protocol had: the answers of all its messages would be in
// memory at once.
func oneMessage(body []byte) error {
	if !bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("[")) {
		return nil
	}
	return &service.Problem{
		Kind:    service.KindInvalid,
		Code:    string(commands.CodeInvalid),
		Message: "The body is a list of messages, and it must be one",
		Why:     wire.MCPPath + " takes no batches",
		Next:    "send each message in a request of its own",
	}
}

// unreadAnswers counts what is kept of the answers to a message until its client has read them. A request may outlast
// the message that it is made for.
type unreadAnswers struct {
	mu        sync.Mutex
	admission *service.Admission // nil once the message is answered
}

// answerCopies is how often an answer is in memory: as it is, and in the message made of it.
const answerCopies = 2

// hold counts n bytes more, or refuses them. A completed change is always answered.
func (u *unreadAnswers) hold(n int64, always bool) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	switch {
	case u.admission == nil:
		return errAnswered
	case always:
		u.admission.RenderAnyway(n * answerCopies)
		return nil
	}
	return u.admission.Render(n * answerCopies)
}

// free subtracts bytes that are not kept after all.
func (u *unreadAnswers) free(n int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.admission != nil && n > 0 {
		u.admission.Free(n * answerCopies)
	}
}

func (u *unreadAnswers) end() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.admission = nil
}

// readCloser is a body that is here.
type readCloser struct{ *bytes.Reader }

func (readCloser) Close() error { return nil }

// passed are the headers of a call that its requests have too. Its id leads from the log to all of them.
var passed = []string{
	"Authorization", "Origin", "Sec-Fetch-Site", wire.HeaderTraceParent, wire.HeaderRequestID,
}

// asker returns how a call makes requests: as its caller, on no connection of their own.
func (s *server) asker(of *http.Request, kept *unreadAnswers) func(context.Context, mcp.Request) mcp.Answer {
	apart := context.WithValue(of.Context(), connectionKey{}, nil)
	return func(until context.Context, asked mcp.Request) (answer mcp.Answer) {
		ctx, cancel := context.WithCancel(apart)
		defer cancel()
		defer context.AfterFunc(until, cancel)()
		out := &recorder{header: http.Header{}, kept: kept, always: asked.Method != http.MethodGet}
		target := asked.Path
		if len(asked.Query) > 0 {
			target += "?" + asked.Query.Encode()
		}
		r, err := http.NewRequestWithContext(ctx, asked.Method, target, bytes.NewReader(asked.Body))
		if err != nil {
			return mcp.Answer{Status: http.StatusNotFound, Header: out.header}
		}
		r.Host, r.RemoteAddr, r.TLS = of.Host, of.RemoteAddr, of.TLS
		for name, values := range asked.Header {
			r.Header[name] = values
		}
		for _, name := range passed {
			if values := of.Header[name]; values != nil {
				r.Header[name] = values
			}
		}
		// The model reads the whole answer, as people read that of the command line.
		r.Header.Set(wire.HeaderClient, "mcp")
		if len(asked.Body) > 0 {
			r.Header.Set("Content-Type", "application/json")
		}
		defer func() {
			if broken := recover(); broken != nil { // an answer that breaks off
				if err, ok := broken.(error); !ok || !errors.Is(err, http.ErrAbortHandler) {
					s.Logger.Error("a request failed", "call", nameOf(r), "why", fmt.Sprint(broken))
				}
				answer = mcp.Answer{Status: http.StatusInternalServerError, Header: out.header, Cut: out.cut}
			}
			switch {
			case out.over != nil:
				refused := &recorder{header: http.Header{}, kept: kept, always: true}
				s.refuse(refused, r, nil, out.over)
				answer = refused.answer()
			case out.cut:
				answer.Status = http.StatusOK
			}
		}()
		s.handler.ServeHTTP(out, r)
		return out.answer()
	}
}

// recorder keeps an answer, up to the longest that a model gets, and as long as its caller has room for it.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
	cut    bool
	kept   *unreadAnswers
	// always says that the answer must be given. over is why it cannot be.
	always bool
	over   error
}

// Header implements http.ResponseWriter.
func (r *recorder) Header() http.Header { return r.header }

// WriteHeader implements http.ResponseWriter.
func (r *recorder) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
	}
}

// Flush implements http.Flusher, for answers in parts. The model gets them together.
func (r *recorder) Flush() {}

// Write implements http.ResponseWriter. It fails once the answer is too long, so that nobody computes the rest.
func (r *recorder) Write(b []byte) (int, error) {
	r.WriteHeader(http.StatusOK)
	switch {
	case r.over != nil:
		return 0, r.over
	case r.cut || r.body.Len()+len(b) > mcp.MaxAnswer:
		r.cut = true
		r.drop()
		return 0, errTooLong
	}
	err := r.kept.hold(int64(len(b)), r.always)
	switch {
	case err == nil:
		return r.body.Write(b)
	case errors.Is(err, errAnswered):
		r.cut = true
	default:
		r.over = err
	}
	r.drop()
	return 0, err
}

// drop forgets an answer that is of no use.
func (r *recorder) drop() {
	r.kept.free(int64(r.body.Len()))
	r.body = bytes.Buffer{}
}

var (
	errTooLong  = errors.New("the answer is too long for a model")
	errAnswered = errors.New("its message is answered already")
)

func (r *recorder) answer() mcp.Answer {
	return mcp.Answer{
		Status: max(r.status, http.StatusOK),
		Header: r.header,
		Body:   r.body.Bytes(),
		Cut:    r.cut,
	}
}

// isMCP reports whether a request is one of the Model Context Protocol.
func isMCP(r *http.Request) bool { return r.Method == http.MethodPost && r.URL.Path == wire.MCPPath }

// isAPI reports whether a request needs a caller.
func isAPI(r *http.Request) bool { return needsCaller(r.URL.Path) && !isPublished(r) }

func needsCaller(path string) bool {
	return strings.HasPrefix(path, "/api/") || path == wire.MCPPath || path == metricsPath
}
