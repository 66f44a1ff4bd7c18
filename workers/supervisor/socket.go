package supervisor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"maestro/api/client"
	"maestro/service/wire"
	"maestro/workers/blank"
	"maestro/workers/outbox"
	"maestro/workers/processes"
	"maestro/workers/socket"
)

// The limits of what an agent's programs send.
const (
	maxBody     = outbox.MaxBody
	headsWithin = 10 * time.Second
)

// gate serves the agent's socket: its maestro commands go on to the server with the session's token, its tool calls are
// decided here.
type gate struct {
	calls  *calls
	keeper *keeper
	// hook decides about tool calls; nil if no agent asks.
	hook http.HandlerFunc
	// heard is called for each request, ended if the socket cannot be served any more.
	heard func()
	ended func(error)
	// settled waits until the server knows which mail the agent has; nil if nobody gives it any.
	settled func(ctx context.Context)
	// blank removes secrets from what the agent says: the log keeps it for good.
	blank  func() *blank.Secrets
	logger *slog.Logger
}

// peerKey is the key of a connection's Peer in the context of its requests.
type peerKey struct{}

// connKey is the key of a connection in the context of its requests.
type connKey struct{}

// serve answers on a listener until ctx ends.
func (g *gate) serve(ctx context.Context, listener net.Listener) error {
	mux := http.NewServeMux()
	if g.hook != nil {
		mux.HandleFunc("POST "+wire.HookPath, hooked(mostHooked, atOnce(mostAtOnce, g.hook)))
	}
	mux.HandleFunc("POST /api/commands/{id}", atOnce(mostAtOnce, g.command))
	forward := atOnce(mostAtOnce, g.forward)
	mux.HandleFunc("/api/", forward)
	mux.HandleFunc("POST /mcp", forward)
	for _, open := range []string{wire.IdentityPath, "/readyz", "/livez"} { // `maestro doctor` asks for them
		mux.HandleFunc("GET "+open, forward)
	}
	few := newFewConnections(listener, mostConnections)
	server := g.server(ctx, few, g.onlyOwn(mux))
	stopped := make(chan struct{})
	defer context.AfterFunc(ctx, func() {
		defer close(stopped)
		_ = server.Close() // its connections belong to processes that have ended
	})()
	err := server.Serve(few)
	if ctx.Err() != nil {
		<-stopped
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("serve the agent's socket: %w", err)
}

// server returns a server for a listener, whose requests end with ctx.
func (g *gate) server(ctx context.Context, few *fewConnections, handler http.Handler) *http.Server {
	return &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: headsWithin,
		IdleTimeout:       idleWithin, // and no ReadTimeout: a request that waits for its turn is not read
		ConnState:         few.became,
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ConnContext: func(ctx context.Context, conn net.Conn) context.Context {
			if unix, ok := conn.(*net.UnixConn); ok {
				ctx = context.WithValue(ctx, connKey{}, unix)
				if peer, err := socket.PeerOf(unix); err == nil {
					return context.WithValue(ctx, peerKey{}, peer)
				}
			}
			return ctx
		},
		ErrorLog: slog.NewLogLogger(g.logger.Handler(), slog.LevelDebug),
	}
}

// onlyOwn refuses every process that is not below this one: a socket is a name in the file system, and other agents run
// as the same user.
func (g *gate) onlyOwn(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		peer, ok := r.Context().Value(peerKey{}).(socket.Peer)
		if !ok || peer.UID != os.Geteuid() || !processes.IsBelow(peer.PID, os.Getpid()) {
			g.logger.Warn("a process that is not the agent's used its socket", "pid", peer.PID)
			refuse(w, http.StatusForbidden, wire.Problem{
				Code:    "NOT_ALLOWED",
				Message: "This socket belongs to another session's agent",
				Why:     "it serves only the processes that this agent started",
				Next:    "unset MAESTRO_SOCKET; a session's own processes get theirs from `maestro session exec`",
			})
			return
		}
		g.heard()
		next.ServeHTTP(w, r)
	})
}

// holdsSecret reports whether a read's answer has a secret, which an agent does not get.
func holdsSecret(path string) bool {
	return strings.HasPrefix(path, "/api/sessions/") && strings.HasSuffix(path, "credential")
}

// forward sends a request on to the server.
func (g *gate) forward(w http.ResponseWriter, r *http.Request) {
	if holdsSecret(r.URL.Path) {
		refuse(w, http.StatusForbidden, wire.Problem{
			Code:    "NOT_ALLOWED",
			Message: "An agent gets no secret of a session",
			Why:     "its supervisor has the secret of its own, and the runner those of the sessions that it spawns",
			Next:    "spawn the session with a runner, which launches it: `maestro session spawn --runner local`",
		})
		return
	}
	if body, ok := g.body(w, r); ok {
		g.settle(r)
		g.pass(w, r, body)
	}
}

// body reads the body of a request, without secrets. It answers the request if it is too long.
func (g *gate) body(w http.ResponseWriter, r *http.Request) (body []byte, ok bool) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		refuse(w, http.StatusRequestEntityTooLarge, wire.Problem{
			Code: "TOO_LARGE", Message: "The command is longer than 1 MiB", Next: "shorten it, or split it",
		})
		return nil, false
	}
	return []byte(g.blank().Blank(string(body))), true
}

// pass sends a request on to the server and copies the answer, as it comes.
func (g *gate) pass(w http.ResponseWriter, r *http.Request, body []byte) {
	resp, err := g.calls.session.Forward(r, bytes.NewReader(body))
	if err != nil {
		g.calls.find()
		noAnswer(w, err)
		return
	}
	g.calls.noted(nil)
	defer func() { _ = resp.Body.Close() }()
	g.copy(w, resp)
}

// copy copies an answer as it comes, line by line, without secrets: an orchestrator gets none of the sessions that it
// spawns.
func (g *gate) copy(w http.ResponseWriter, resp *http.Response) {
	header := w.Header()
	for name, values := range resp.Header {
		if name != "Content-Length" { // what replaces a secret has another length
			header[name] = values
		}
	}
	w.WriteHeader(resp.StatusCode)
	flusher := http.NewResponseController(w)
	blanked := g.blank().Writer(w)
	defer func() { _ = blanked.Close() }() // nobody reads it any more, or it is complete
	buffer := make([]byte, 32<<10)
	for {
		n, err := resp.Body.Read(buffer)
		if n > 0 {
			if _, err := blanked.Write(buffer[:n]); err != nil {
				return // nobody reads it any more
			}
			_ = flusher.Flush() // a stream is followed as it comes
		}
		if err != nil {
			return
		}
	}
}

// settle lets what the agent says come after what it was told.
func (g *gate) settle(r *http.Request) {
	if g.settled != nil && r.Method == http.MethodPost {
		g.settled(r.Context())
	}
}

// command sends a command on, after those that wait. One that may wait is kept if the server cannot take it now.
func (g *gate) command(w http.ResponseWriter, r *http.Request) {
	body, ok := g.body(w, r)
	if !ok {
		return
	}
	g.settle(r)
	if r.Header.Get(wire.HeaderKeep) != "true" {
		if err := g.keeper.deliver(r.Context()); err != nil && notNow(err) {
			noAnswer(w, err)
			return
		}
		g.pass(w, r, body)
		return
	}
	g.keep(w, r, body)
}

// keep answers with the server's answer if there is one, and otherwise keeps the command.
func (g *gate) keep(w http.ResponseWriter, r *http.Request, body []byte) {
	err := g.keeper.deliver(r.Context())
	if err == nil {
		var resp *http.Response
		resp, err = g.calls.session.Forward(r, bytes.NewReader(body))
		if err == nil && !later(resp.StatusCode) {
			defer func() { _ = resp.Body.Close() }()
			g.copy(w, resp)
			return
		}
		if err == nil {
			_ = resp.Body.Close()
			err = fmt.Errorf("the server answered %s", resp.Status)
		}
	}
	g.calls.find()
	kept, failed := g.keeper.keep(r, body)
	if failed != nil {
		refuse(w, http.StatusInternalServerError, wire.Problem{
			Code:    "NOT_KEPT",
			Message: "The server does not answer, and the command was NOT kept",
			Why:     failed.Error(),
			Next:    "run it again once the server answers",
		})
		return
	}
	kept.Why = err.Error()
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusAccepted)
	_ = json.NewEncoder(w).Encode(kept) // whoever asked may be gone
}

// later reports whether a status says that the server cannot take a command now.
func later(status int) bool {
	return status == http.StatusBadGateway || status == http.StatusServiceUnavailable ||
		status == http.StatusGatewayTimeout
}

// noAnswer says that the server was not reached, or takes nothing now.
func noAnswer(w http.ResponseWriter, err error) {
	what := "The server does not answer"
	if !client.Unreached(err) && !unproven(err) {
		what = "The server takes no commands now"
	}
	refuse(w, http.StatusBadGateway, wire.Problem{
		Code:    wire.CodeNoServer,
		Message: what,
		Why:     err.Error(),
		Next:    "go on with what needs no server, and run the command again later; reports are kept",
	})
}

func refuse(w http.ResponseWriter, status int, problem wire.Problem) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	problem.IsError = true
	_ = json.NewEncoder(w).Encode(problem) // whoever asked may be gone
}
