package api

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"hash"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"maestro/commands"
	"maestro/engine"
	"maestro/projections"
)

// Keys are the secrets that credentials are checked against.
type Keys struct {
	// AdminToken is the user's.
	AdminToken []byte
	// ServerKey is what the secrets of sessions are made from.
	ServerKey []byte
}

const sessionTokenPrefix = "mss_"

// FirstGeneration is the generation that a new session has; raising it revokes the session's token.
const FirstGeneration = 1

// SessionToken gives the secret of a session: it is made, never stored, so a retried spawn answers the same.
func SessionToken(serverKey []byte, id string, generation int) string {
	mac := hmac.New(sha256.New, serverKey)
	return signSession(mac, id, strconv.Itoa(generation))
}

func signSession(mac hash.Hash, id, generation string) string {
	// A hash never fails to write.
	_, _ = mac.Write([]byte("maestro session\x00" + id + "\x00" + generation))
	return sessionTokenPrefix + id + "." + generation + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// authenticator knows callers by their credentials.
type authenticator struct {
	admin   [sha256.Size]byte
	macs    *sync.Pool
	handler *engine.Handler
	now     func() time.Time
}

func newAuthenticator(keys Keys, handler *engine.Handler, now func() time.Time) authenticator {
	key := append([]byte(nil), keys.ServerKey...)
	return authenticator{
		admin: sha256.Sum256(keys.AdminToken), handler: handler, now: now,
		macs: &sync.Pool{New: func() any { return hmac.New(sha256.New, key) }},
	}
}

// UserTokenPrefix begins every token that stands for a user.
const UserTokenPrefix = "msu_"

// NamedToken gives the secret of a named token: like a session's it is made, never stored.
func NamedToken(serverKey []byte, name string, generation int) string {
	return signNamed(hmac.New(sha256.New, serverKey), name, strconv.Itoa(generation))
}

func signNamed(mac hash.Hash, name, generation string) string {
	// A hash never fails to write.
	_, _ = mac.Write([]byte("maestro token\x00" + name + "\x00" + generation))
	return UserTokenPrefix + name + "." + generation + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// call gives who a token stands for. A well-signed token of a session that is unknown or deleted is that session, which
// has no permissions; any other bad token is nobody.
func (a authenticator) call(token string) (*call, error) {
	sign := signSession
	rest, session := strings.CutPrefix(token, sessionTokenPrefix)
	if !session {
		sum := sha256.Sum256([]byte(token))
		if subtle.ConstantTimeCompare(sum[:], a.admin[:]) == 1 {
			return &call{by: commands.Admin(commands.AuthnToken)}, nil
		}
		sign = signNamed
		rest, _ = strings.CutPrefix(token, UserTokenPrefix)
	}
	parts := strings.Split(rest, ".")
	switch {
	case len(parts) != 3 && session:
		return nil, unauthenticated("The token is damaged", "a session's token has three parts", true)
	case len(parts) != 3:
		return nil, unauthenticated("The token is not one of this server's",
			"it is neither the admin token, nor a named one, nor a session's", true)
	}
	mac := a.macs.Get().(hash.Hash)
	mac.Reset()
	good := sign(mac, parts[0], parts[1])
	a.macs.Put(mac)
	if subtle.ConstantTimeCompare([]byte(good), []byte(token)) != 1 {
		return nil, unauthenticated("The token is not one of this server's", "its signature is wrong", true)
	}
	generation, err := strconv.Atoi(parts[1])
	if err != nil {
		return nil, unauthenticated("The token is damaged", "its generation is no number", true)
	}
	c := &call{}
	if session {
		err = a.session(c, parts[0], generation)
	} else {
		err = a.named(c, parts[0], generation)
	}
	return c, err
}

func (a authenticator) session(c *call, id string, generation int) error {
	var project string
	good := generation
	a.handler.View(func(s *projections.State) {
		project, c.answers = s.SessionProject(id), s.Undelivered(id)
		c.root = s.Root(project)
		if x := s.Session(id); x != nil {
			good, c.ended = x.Generation, x.Ended()
		}
	})
	if generation != good {
		return unauthenticated("The token was revoked", "the session has a newer one", true)
	}
	c.by = commands.SessionActor(project, id, commands.AuthnToken)
	c.by.Generation = generation
	return nil
}

func (a authenticator) named(c *call, name string, generation int) error {
	var token *projections.Token
	a.handler.View(func(s *projections.State) { token = s.Token(name) })
	if token == nil || !token.Live() || token.Generation != generation {
		return unauthenticated("The token was revoked", "the token '"+printable(name)+"' is no longer valid", true)
	}
	if token.Expired(a.now().UnixMilli()) {
		return expired(token.Name, token.ExpiresAt)
	}
	c.by, c.expires = tokenActor(token), token.ExpiresAt
	return nil
}

func expired(name string, at int64) *problem {
	return unauthenticated("The token has expired",
		"the token '"+printable(name)+"' expired at "+time.UnixMilli(at).UTC().Format(time.RFC3339), true)
}

func unauthenticated(message, why string, invalid bool) *problem {
	challenge := `Bearer realm="maestro"`
	if invalid {
		challenge += `, error="invalid_token"`
	}
	return &problem{
		status: http.StatusUnauthorized, Code: "UNAUTHENTICATED", Message: message, Why: why,
		Next: "send `Authorization: Bearer <token>`", headers: http.Header{"Www-Authenticate": {challenge}},
	}
}

// call is a request whose caller is known.
type call struct {
	by commands.Actor
	// root is the root of a session's project: what the project's quotas count against.
	root string
	// anonymous says that the caller showed no credential and needs none; then a body may name the session that it is.
	anonymous bool
	// ended says that the calling session had ended when it called.
	ended bool
	// expires is when its credential does, in milliseconds since 1970; 0 for never.
	expires int64
	// answers are the calling session's questions whose answers it was not yet shown.
	answers []string
	request *http.Request
	// below is what is answered about the sessions below the one that was ended or revoked.
	below belowBody
	body  []byte
	meta  metadata
	// admission is what the call holds of its limits.
	admission admission
}

type callKey struct{}

// readsAll reports whether the caller may read what belongs to no project.
func (c *call) readsAll() bool {
	return c.by.Kind == commands.ActorUser &&
		(c.by.Access == commands.AccessAdmin || c.by.Access == commands.AccessAuditor)
}

// identify learns from the credential, and from nothing else, who calls.
func (s *server) identify(r *http.Request) (*call, error) {
	values := r.Header["Authorization"]
	if len(values) == 0 {
		if s.AuthOff && fromLoopback(r.RemoteAddr) {
			return s.anonymous(r), nil
		}
		return nil, unauthenticated("A token is required", "the request has no Authorization header", false)
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	token = strings.TrimSpace(token)
	if len(values) > 1 || !strings.EqualFold(scheme, "Bearer") || token == "" {
		return nil, unauthenticated("The Authorization header is not a Bearer token",
			"one header with one token is expected", true)
	}
	c, err := s.auth.call(token)
	if err != nil {
		return nil, err
	}
	c.request = r
	if c.by.Kind == commands.ActorUser && c.by.Name != commands.AdminName {
		s.Uses.used(c.by.Name, c.by.Generation, s.Now(), r.RemoteAddr)
	}
	return c, nil
}

// anonymous judges a caller without a credential by the path: below a session's queue, timeline or events it is that
// session, elsewhere the user.
func (s *server) anonymous(r *http.Request) *call {
	c := &call{by: commands.Admin(commands.AuthnNone), anonymous: true, request: r}
	rest, ok := strings.CutPrefix(r.URL.Path, "/api/sessions/")
	if !ok {
		return c
	}
	id, below, _ := strings.Cut(rest, "/")
	below, _, _ = strings.Cut(below, "/")
	if below != "queue" && below != "timeline" && below != "events" {
		return c
	}
	// A session that never was, or was deleted, is left to the route, which says so.
	s.Handler.View(func(state *projections.State) {
		if x := state.Session(id); x != nil {
			c.by = commands.SessionActor(x.ProjectID, id, commands.AuthnNone)
			c.root = state.Root(x.ProjectID)
		}
	})
	return c
}

func (s *server) projectOfSession(id string) (project string) {
	s.Handler.View(func(state *projections.State) { project = state.SessionProject(id) })
	return project
}

func fromLoopback(remote string) bool {
	host, _, err := net.SplitHostPort(remote)
	return err == nil && isLoopback(host)
}

// as gives the actor that a body says it speaks for: it must be the caller, unless the caller showed no credential.
// source is "session", "user" or "", as older clients say it.
func (c *call) as(s *server, source, session string) (commands.Actor, error) {
	switch {
	case c.anonymous && source == "session" && session == "":
		return commands.Actor{}, routeInvalid("/sessionId", "sessionId is required")
	case c.anonymous && source == "session":
		return commands.SessionActor(s.projectOfSession(session), session, commands.AuthnNone), nil
	case c.anonymous:
		return c.by, nil
	case c.by.Kind == commands.ActorSession:
		if (source != "" && source != "session") || (session != "" && session != c.by.Name) {
			return commands.Actor{}, c.otherIdentity(session)
		}
	case source == "session" || source == "" && session != "":
		return commands.Actor{}, c.otherIdentity(session)
	}
	return c.by, nil
}

func (c *call) otherIdentity(session string) error {
	named := "the user"
	if session != "" {
		named = "session " + printable(session)
	}
	return &problem{
		status:  http.StatusForbidden,
		Code:    string(commands.CodeNotAllowed),
		Message: "The body speaks for " + named + ", and the credential is that of " + c.by.String(),
		Why:     "who acts is known from the credential alone",
		Next:    "use the credential of " + named + ", or leave updateSource and sessionId out",
	}
}
