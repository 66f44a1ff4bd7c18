package service

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"hash"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"maestro/commands"
	"maestro/engine"
	"maestro/events"
	"maestro/internal/safetext"
	"maestro/projections"
	"maestro/service/wire"
)

// Keys are the secrets that verify credentials.
type Keys struct {
	// AdminToken is the user's token.
	AdminToken []byte
	// ServerKey is the key from which session secrets are derived.
	ServerKey []byte
}

// FirstGeneration is the generation of a new session's token. Raising the generation revokes the token.
const FirstGeneration = 1

// SessionToken returns the secret of a session. It is derived, never stored, so a retried spawn returns the same one.
func SessionToken(serverKey []byte, id string, generation int) string {
	return newSigner(serverKey).token(wire.SessionTokenPrefix, id, strconv.Itoa(generation))
}

// authenticator identifies callers by their credentials.
type authenticator struct {
	admin   [sha256.Size]byte
	signers *sync.Pool
	handler *engine.Handler
	now     func() time.Time
}

func newAuthenticator(keys Keys, handler *engine.Handler, now func() time.Time) authenticator {
	key := append([]byte(nil), keys.ServerKey...)
	return authenticator{
		admin:   sha256.Sum256(keys.AdminToken),
		handler: handler,
		now:     now,
		signers: &sync.Pool{New: func() any { return newSigner(key) }},
	}
}

// NamedToken returns the secret of a named token. Like a session's it is derived, never stored.
func NamedToken(serverKey []byte, name string, generation int) string {
	return newSigner(serverKey).token(wire.UserTokenPrefix, name, strconv.Itoa(generation))
}

// signer derives secrets from the server's key.
type signer struct {
	mac  hash.Hash
	room []byte
}

func newSigner(key []byte) *signer { return &signer{mac: hmac.New(sha256.New, key)} }

// token returns the secret of the kind that its prefix names.
func (s *signer) token(prefix, name, generation string) string {
	return prefix + name + "." + generation + "." + string(s.sign(prefix, name, generation))
}

// sign returns the last part of a secret. The result is valid until the next call.
func (s *signer) sign(prefix, name, generation string) []byte {
	what := "maestro token\x00"
	switch prefix {
	case wire.SessionTokenPrefix:
		what = "maestro session\x00"
	case wire.RunnerTokenPrefix:
		what = "maestro runner\x00"
	}
	s.room = append(append(append(append(s.room[:0], what...), name...), 0), generation...)
	s.mac.Reset()
	_, _ = s.mac.Write(s.room) // a hash never fails to write
	s.room = s.mac.Sum(s.room[:0])
	said := len(s.room)
	s.room = base64.RawURLEncoding.AppendEncode(s.room, s.room)
	return s.room[said:]
}

// caller returns who a token identifies. A correctly signed token of an unknown or deleted session identifies that
// session, which has no permissions. Any other invalid token identifies nobody.
func (a authenticator) caller(token string) (*Caller, error) {
	prefix := wire.SessionTokenPrefix
	rest, session := strings.CutPrefix(token, prefix)
	if !session {
		sum := sha256.Sum256([]byte(token))
		if subtle.ConstantTimeCompare(sum[:], a.admin[:]) == 1 {
			return &Caller{By: commands.Admin(commands.AuthnToken)}, nil
		}
		prefix = wire.UserTokenPrefix
		if strings.HasPrefix(token, wire.RunnerTokenPrefix) {
			prefix = wire.RunnerTokenPrefix
		}
		rest, _ = strings.CutPrefix(token, prefix)
	}
	name, rest, _ := strings.Cut(rest, ".")
	number, signature, whole := strings.Cut(rest, ".")
	switch three := whole && !strings.Contains(signature, "."); {
	case !three && session:
		return nil, NotAuthenticated("The token is damaged", "a session's token has three parts", true)
	case !three:
		return nil, NotAuthenticated("The token is not one of this server's",
			"it is neither the admin token, nor a named one, nor a session's", true)
	}
	signer := a.signers.Get().(*signer)
	good := subtle.ConstantTimeCompare(signer.sign(prefix, name, number), []byte(signature)) == 1
	a.signers.Put(signer)
	if !good || !strings.HasPrefix(token, prefix) {
		return nil, NotAuthenticated("The token is not one of this server's", "its signature is wrong", true)
	}
	generation, err := strconv.Atoi(number)
	if err != nil {
		return nil, NotAuthenticated("The token is damaged", "its generation is not a number", true)
	}
	c := &Caller{}
	switch prefix {
	case wire.SessionTokenPrefix:
		err = a.session(c, name, generation)
	case wire.RunnerTokenPrefix:
		err = a.runner(c, name, generation)
	default:
		err = a.named(c, name, generation)
	}
	return c, err
}

// holder returns who a token identifies, by its public part. It fails if the token is not valid now.
func (a authenticator) holder(public string) (*Caller, error) {
	c := &Caller{}
	if public == wire.AdminPart {
		c.By = commands.Admin(commands.AuthnToken)
		return c, nil
	}
	name, number, _ := strings.Cut(public, ".")
	generation, err := strconv.Atoi(number)
	if err != nil {
		return nil, NotAuthenticated("The token is damaged", "its generation is not a number", true)
	}
	if id, ok := strings.CutPrefix(name, wire.SessionTokenPrefix); ok {
		return c, a.session(c, id, generation)
	}
	return c, a.named(c, strings.TrimPrefix(name, wire.UserTokenPrefix), generation)
}

func (a authenticator) session(c *Caller, id string, generation int) error {
	var project string
	var replaced error
	a.handler.View(func(s *projections.State) {
		project, c.Mail = s.SessionProject(id), s.Undelivered(id)
		c.Root = s.Root(project)
		if x := s.Session(id); x != nil {
			c.Ended, c.NoLongerHolds = x.Ended(), noLongerHolds(x)
			if x.Generation != generation {
				replaced = secretReplaced(x)
			}
		}
	})
	if replaced != nil {
		return replaced
	}
	c.By = commands.SessionActor(project, id, commands.AuthnToken)
	c.By.Generation = generation
	return nil
}

// secretReplaced is the answer to a caller with an earlier secret of a session: an agent that survived, or a person in
// a shell with the variables that the spawn printed.
func secretReplaced(x *projections.Session) error {
	p := NotAuthenticated("The token was revoked",
		"session '"+x.ID+"' has a newer one, as it has once it is resumed", true)
	const apart = ", in a shell without the session's variables"
	switch {
	case x.Ended() && x.Status == events.SessionSaidDone:
		p.Next = "the session has ended, and its work is done"
	case x.Ended() && x.LastRun() == nil: // there is no agent to continue
		p.Next = "the session has ended; `" + wire.SpawnLikeLine(x.ID, x.Strategy, x.TaskIDs) + "`" + apart +
			", spawns another for its work"
	case x.Ended():
		p.Next = "the session has ended; `maestro session resume " + x.ID + "`" + apart + ", lets it continue"
	case x.Runner == "" && !x.Claimed():
		p.Next = "an agent of an earlier run stops here; a user launches the next one" + apart + ": `" +
			wire.LaunchLine(x.ID, string(x.Role)) + "`"
	default:
		p.Next = "an agent of an earlier run stops here; a user sees what goes on with `maestro session info " +
			x.ID + "`" + apart
	}
	return p
}

func noLongerHolds(x *projections.Session) bool { return x.LastItem != nil && !x.LastItem.Held }

func (a authenticator) named(c *Caller, name string, generation int) error {
	var token *projections.Token
	a.handler.View(func(s *projections.State) { token = s.Token(name) })
	if token == nil || !token.Live() || token.Generation != generation {
		return anotherToken(NotAuthenticated("The token '"+safetext.Printable(name)+"' was revoked",
			"a revoked token stays revoked, and a later one with the same name has another secret", true))
	}
	if token.Expired(a.now().UnixMilli()) {
		return expired(token.Name, token.ExpiresAt)
	}
	c.By, c.Expires = TokenActor(token), token.ExpiresAt
	return nil
}

func expired(name string, at int64) *Problem {
	return anotherToken(NotAuthenticated("The token has expired",
		"the token '"+safetext.Printable(name)+"' expired at "+time.UnixMilli(at).UTC().Format(time.RFC3339), true))
}

// anotherToken tells the owner of a token that is no longer valid how to get another.
func anotherToken(p *Problem) *Problem {
	p.Next = "ask for another one: the user makes one with `maestro token create`"
	return p
}

// NotAuthenticated returns the problem for a caller that is not authenticated. invalid means that it sent an invalid
// credential.
func NotAuthenticated(message, why string, invalid bool) *Problem {
	return &Problem{
		Kind:          KindUnauthenticated,
		Code:          wire.CodeUnauthenticated,
		Message:       message,
		Why:           why,
		Next:          wire.UnauthenticatedNext,
		BadCredential: invalid,
	}
}

// TokenActor returns the actor that a named token identifies.
func TokenActor(token *projections.Token) commands.Actor {
	return commands.Actor{
		Kind:       commands.ActorUser,
		Name:       token.Name,
		Access:     commands.Access(token.Kind),
		Projects:   slices.Clone(token.ProjectIDs),
		Generation: token.Generation,
		Authn:      commands.AuthnToken,
	}
}

// Authenticate returns who a token identifies.
func (s *Service) Authenticate(token string) (*Caller, error) { return s.auth.caller(token) }

// Anonymous returns the caller without a credential: a session that its interface identified otherwise, or the user. It
// accepts a session that never existed, or was deleted: the requested operation reports that.
func (s *Service) Anonymous(session string) *Caller {
	c := &Caller{By: commands.Admin(commands.AuthnNone), Anonymous: true}
	s.Handler.View(func(state *projections.State) {
		if x := state.Session(session); x != nil {
			c.By = commands.SessionActor(x.ProjectID, session, commands.AuthnNone)
			c.Root, c.NoLongerHolds = state.Root(x.ProjectID), noLongerHolds(x)
		}
	})
	return c
}

// Health returns why the server accepts no writes, or nil.
func (s *Service) Health() error { return s.Handler.Health() }
