package compat

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
	"golang.org/x/time/rate"

	"maestro/events"
	"maestro/service"
)

const (
	// heardMost bounds a message of a client: it only sends pings.
	heardMost = 4 << 10
	// heardEvery is how often a client may send a message, heardAtOnce how many it may send at once. Those that come
	// faster are read later, so that a client that floods the server only fills its own connection.
	heardEvery, heardAtOnce = 100 * time.Millisecond, 50
	// goodbye is how long a client may take to answer the end of its connection, and to read what is left when the
	// server stops.
	goodbye = 500 * time.Millisecond
	// reasonMost bounds the reason of an end, in bytes: the protocol has room for 123.
	reasonMost = 123
)

// SocketProtocol is the subprotocol that a client offers together with its token, because it may not accept one that
// tells the token. tokenProtocol precedes the token.
const (
	SocketProtocol = "maestro"
	tokenProtocol  = "maestro.token."
)

// SocketQuery is the query that a WebSocket asks.
const SocketQuery service.Query = "live"

// IsSocket reports whether a request asks for a WebSocket, on whatever path.
func IsSocket(r *http.Request) bool {
	return r.Method == http.MethodGet && names(r.Header["Connection"], "upgrade") &&
		names(r.Header["Upgrade"], "websocket")
}

// names reports whether a header, which is a list, names a token.
func names(header []string, token string) bool {
	for _, line := range header {
		for name := range strings.SplitSeq(line, ",") {
			if strings.EqualFold(strings.TrimSpace(name), token) {
				return true
			}
		}
	}
	return false
}

// SocketToken returns the token that a page offers as a subprotocol, because it cannot set the Authorization header. It
// is in no address, which would be logged and remembered. "" if there is none.
func SocketToken(header http.Header) string {
	for _, line := range header["Sec-Websocket-Protocol"] {
		for name := range strings.SplitSeq(line, ",") {
			if token, ok := strings.CutPrefix(strings.TrimSpace(name), tokenProtocol); ok {
				return token
			}
		}
	}
	return ""
}

// Sockets are the WebSockets of older clients. Each client is sent what its caller may watch, from its connection on.
type Sockets struct {
	compat
	open atomic.Int64

	placing sync.Mutex
	// placed is the session whose manifest was put in place last.
	placed string
}

// NewSockets returns the WebSockets of a server.
func NewSockets(served *service.Service) *Sockets { return &Sockets{compat: compat{Service: served}} }

// SocketsStatus is the answer of /ws-status.
type SocketsStatus struct {
	ConnectedClients int            `json:"connectedClients"`
	Clients          []SocketStatus `json:"clients"`
}

// SocketStatus is the state of a client's connection.
type SocketStatus struct {
	ReadyState     int    `json:"readyState"`
	ReadyStateText string `json:"readyStateText"`
}

// SocketsRoute is the route of the clients' number, SocketsSummary says what it answers. Like /health, it needs no
// caller.
const (
	SocketsRoute   = "GET /ws-status"
	SocketsSummary = "How many WebSockets are open"
)

// Status says how many clients are connected.
func (s *Sockets) Status() SocketsStatus {
	status := SocketsStatus{Clients: []SocketStatus{}}
	for range s.open.Load() {
		status.Clients = append(status.Clients, SocketStatus{1, "OPEN"})
	}
	status.ConnectedClients = len(status.Clients)
	return status
}

// place puts a session's manifest in place, once for all clients.
func (s *Sockets) place(ctx context.Context, session string) {
	s.placing.Lock()
	defer s.placing.Unlock()
	if s.placed != session {
		s.EnsureManifest(ctx, session)
		s.placed = session
	}
}

// Serve sends a caller what it may watch, until the client or the server ends the connection, or the caller may not
// watch any more. It returns an error if the connection was not opened: nothing has been answered then.
//
// The watch begins before the client knows that it is connected, so that the client misses nothing.
func (s *Sockets) Serve(w http.ResponseWriter, r *http.Request, c *service.Caller) error {
	watch, err := s.WatchNow(r.Context(), c, service.WatchFilter{}, func(service.View) error { return nil })
	if err != nil {
		return err
	}
	defer watch.Close()
	slow := rate.NewLimiter(rate.Every(heardEvery), heardAtOnce)
	wait := func(ctx context.Context, _ []byte) bool { return slow.Wait(ctx) == nil }
	s.open.Add(1) // before the client knows that it is connected
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{
		Subprotocols: []string{SocketProtocol},
		// The server checks the Origin of every request, before it knows the caller.
		InsecureSkipVerify: true,
		OnPingReceived:     wait,
		OnPongReceived:     func(ctx context.Context, data []byte) { wait(ctx, data) },
	})
	if err != nil { // the library has answered
		s.open.Add(-1)
		s.Logger.Debug("a WebSocket was not opened", "why", err)
		return nil
	}
	conn.SetReadLimit(heardMost)
	(&socket{s, conn, c, watch}).serve(r.Context(), slow)
	return nil
}

// socket is one open WebSocket.
type socket struct {
	*Sockets
	conn   *websocket.Conn
	caller *service.Caller
	watch  *service.Watch
}

// serve sends events and answers pings until the connection ends. The end of the call's context, which is that of a
// browser's login, does not cut the connection off: the client is told why it ends.
func (s *socket) serve(call context.Context, slow *rate.Limiter) {
	ctx, hangUp := context.WithCancel(context.WithoutCancel(call))
	defer hangUp()
	defer context.AfterFunc(s.Stopping, func() { time.AfterFunc(goodbye, hangUp) })()
	left, leave := context.WithCancel(ctx)
	defer context.AfterFunc(call, leave)()
	heard := make(chan struct{})
	go func() {
		defer close(heard)
		defer leave()
		s.hear(ctx, slow)
	}()
	err := s.send(ctx, left)
	if ended := s.caller.EndReason(call); ended != nil { // the client did not leave
		err = ended
	}
	s.open.Add(-1)
	code, reason := s.farewell(err)
	impatient := time.AfterFunc(goodbye, hangUp) // the end of the reader's context closes the connection
	if err := s.conn.Close(code, reason); err != nil {
		s.Logger.Debug("a WebSocket ended", "why", err)
	}
	impatient.Stop()
	hangUp()
	<-heard
}

// hear reads what the client sends until it leaves: it answers pings and ignores everything else.
func (s *socket) hear(ctx context.Context, slow *rate.Limiter) {
	for slow.Wait(ctx) == nil {
		_, said, err := s.conn.Read(ctx)
		if err != nil {
			return
		}
		var message struct {
			Type string `json:"type"`
		}
		if json.Unmarshal(said, &message) != nil || message.Type != "ping" {
			continue
		}
		if s.write(ctx, pong{"pong", events.Millis(s.Now().UnixMilli())}) != nil {
			return
		}
	}
}

// pong is the answer to a ping.
type pong struct {
	Type      string        `json:"type"`
	Timestamp events.Millis `json:"timestamp"`
}

// errLeft says that the client left, or does not read what it is sent.
var errLeft = errors.New("the client left")

// send sends the events of the watch until left, which ends when the client leaves.
func (s *socket) send(ctx, left context.Context) error {
	for {
		frame, err := s.watch.Next(left)
		if err == nil {
			err = s.tell(left, &frame, func(event socketEvent) error { return s.write(ctx, event) })
		}
		if left.Err() != nil {
			return errLeft
		}
		if err != nil {
			return err
		}
	}
}

// write sends one message. The connection bounds how long the client may take to read it.
func (s *socket) write(ctx context.Context, message any) error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(message); err != nil {
		return err
	}
	if err := s.conn.Write(ctx, websocket.MessageText, bytes.TrimSuffix(text.Bytes(), []byte("\n"))); err != nil {
		return fmt.Errorf("%w: %w", errLeft, err)
	}
	return nil
}

// farewell returns the code and the reason with which a connection ends.
func (s *socket) farewell(err error) (websocket.StatusCode, string) {
	if errors.Is(err, errLeft) {
		return websocket.StatusNormalClosure, ""
	}
	if errors.As(err, new(*service.RestartError)) {
		return websocket.StatusTryAgainLater, "the client reads too slowly: connect again, and read everything again"
	}
	p := s.ProblemOf(s.caller, err, service.CallName{What: "the WebSocket"})
	reason, _ := events.Beginning(p.Message, reasonMost)
	switch p.Kind { //nolint:exhaustive // any other is the server's fault
	case service.KindUnauthenticated, service.KindNotAllowed:
		return websocket.StatusPolicyViolation, reason
	case service.KindUnavailable:
		return websocket.StatusGoingAway, reason
	case service.KindBusy, service.KindTooLarge:
		return websocket.StatusTryAgainLater, reason
	}
	return websocket.StatusInternalError, cmp.Or(reason, "an internal error")
}
