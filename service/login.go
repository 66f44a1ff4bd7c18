package service

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"strconv"
	"sync"
	"time"

	"maestro/commands"
	"maestro/events"
	"maestro/service/wire"
)

const (
	// loginCodeFor is how long a code for a login is valid.
	loginCodeFor = 60 * time.Second
	// loginFor is how long a login lasts: a working day. It is not extended, so that a stolen cookie ends too.
	loginFor = 12 * time.Hour
	// loginsMost is how many logins, and how many codes, a token has at most. The oldest ends when another is made.
	loginsMost = 16
	// loginsInAll bounds those of all tokens in the same way.
	loginsInAll = 256
)

// RowOfLogin is the row of the permission table for logins: every user has it. A session that has it is refused too.
const RowOfLogin = "project:list"

// RowOfLogins is the row for ending the login of another browser.
const RowOfLogins = "token:revoke"

// loginCode is a single-use code. Neither codes nor cookies are stored, only their hashes.
type loginCode struct {
	by      commands.Actor
	public  string
	expires time.Time
}

// login is a browser that has logged in.
type login struct {
	id      string
	by      commands.Actor
	public  string
	since   time.Time
	until   time.Time
	address string
	ended   context.Context
	end     context.CancelCauseFunc
}

// logins are the codes and the logins of a server. They end with it. Safe for concurrent use.
type logins struct {
	mu    sync.Mutex
	codes map[[sha256.Size]byte]loginCode
	open  map[[sha256.Size]byte]*login
}

// ErrLoggedOut is the cause of the end of a call whose login has ended.
var ErrLoggedOut = errors.New("the login has ended")

// CookieName returns the name of the cookie of a login. Browsers send the cookies of one port of a machine to the
// others: the name differs between homes, so that their logins do not replace each other.
func (s *Service) CookieName() string {
	mac := hmac.New(sha256.New, s.Keys.ServerKey)
	_, _ = mac.Write([]byte("maestro cookie name")) // a hash never fails to write
	return "maestro-" + hex.EncodeToString(mac.Sum(nil)[:4])
}

// CreateLoginCode returns a code with which a browser logs in once as the caller. Only a user gets one, with a token:
// what a session may do, its process does without a browser.
func (s *Service) CreateLoginCode(ctx context.Context, c *Caller) (wire.LoginCode, error) {
	leave, err := s.admitted(ctx, c, Demand{})
	if err != nil {
		return wire.LoginCode{}, err
	}
	defer leave()
	switch {
	case c.By.Kind != commands.ActorUser || s.Permit(c, RowOfLogin, "") != nil:
		return wire.LoginCode{}, &Problem{
			Kind:    KindNotAllowed,
			Code:    string(commands.CodeNotAllowed),
			Message: "A browser cannot log in for " + c.By.String(),
			Why:     "a login acts as a user",
			Next:    "run `maestro open` with a user's token, outside the session",
		}
	case c.Anonymous:
		return wire.LoginCode{}, &Problem{
			Kind:    KindConflict,
			Code:    string(commands.CodeConflict),
			Message: "No login is needed",
			Why:     "the server runs with --auth off",
			Next:    "open its address in the browser",
		}
	}
	code := loginCode{by: c.By, public: publicOf(c.By), expires: s.Now().Add(loginCodeFor)}
	secret := wire.LoginCodePrefix + rand.Text()
	s.logins.mu.Lock()
	defer s.logins.mu.Unlock()
	s.logins.forgetOld(s.Now())
	makeRoom(s.logins.codes, func(x loginCode) (string, time.Time) { return x.public, x.expires }, code.public, nil)
	s.logins.codes[sha256.Sum256([]byte(secret))] = code
	return wire.LoginCode{Code: secret, ExpiresAt: events.Millis(code.expires.UnixMilli())}, nil
}

// publicOf returns the public part of a user's token.
func publicOf(by commands.Actor) string {
	if by.Name == commands.AdminName {
		return wire.AdminPart
	}
	return wire.UserTokenPrefix + by.Name + "." + strconv.Itoa(by.Generation)
}

// Login exchanges a code for the secret of a cookie. A code is valid once, whatever comes of it. The login is recorded
// before it is valid; a server that writes nothing logs it instead.
func (s *Service) Login(ctx context.Context, code, remote string) (secret string, until time.Time, err error) {
	hash := sha256.Sum256([]byte(code))
	s.logins.mu.Lock()
	found, ok := s.logins.codes[hash]
	delete(s.logins.codes, hash)
	s.logins.mu.Unlock()
	now := s.Now()
	if !ok || !now.Before(found.expires) {
		p := NotAuthenticated("The code is not valid",
			"a code is valid once, for 60 s, at the server that made it", true)
		p.Next = "run `maestro open` again"
		return "", time.Time{}, p
	}
	c, err := s.auth.holder(found.public)
	if err != nil {
		return "", time.Time{}, err
	}
	until = now.Add(loginFor)
	if c.Expires != 0 && c.Expires < until.UnixMilli() {
		until = time.UnixMilli(c.Expires)
	}
	made := &login{
		id:      "login_" + rand.Text()[:10],
		by:      c.By,
		public:  found.public,
		since:   now,
		until:   until,
		address: NormalAddress(remote),
	}
	made.ended, made.end = context.WithCancelCause(context.Background())
	if err := s.recordLogin(ctx, made); err != nil {
		return "", time.Time{}, err
	}
	secret = rand.Text()
	s.logins.mu.Lock()
	defer s.logins.mu.Unlock()
	s.logins.forgetOld(now)
	makeRoom(s.logins.open, func(x *login) (string, time.Time) { return x.public, x.since }, made.public,
		func(x *login) { x.end(ErrLoggedOut) })
	s.logins.open[sha256.Sum256([]byte(secret))] = made
	return secret, until, nil
}

// recordLogin records a login as an event of the system.
func (s *Service) recordLogin(ctx context.Context, made *login) error {
	if health := s.Handler.Health(); health != nil {
		s.Logger.Warn("a browser logged in, and nothing can be recorded", "token", made.by.Name,
			"address", made.address, "why", health)
		return nil
	}
	return s.Handler.RecordUse(ctx, &commands.UseToken{
		Name:       made.by.Name,
		Generation: made.by.Generation,
		Address:    made.address,
		LoginUntil: made.until.UnixMilli(),
	}, "login/"+made.id)
}

// makeRoom ends the oldest entries of a token, and of all, so that another fits.
func makeRoom[V any](
	in map[[sha256.Size]byte]V, of func(V) (public string, at time.Time), public string, end func(V),
) {
	for _, most := range []struct {
		public string
		n      int
	}{{public, loginsMost}, {"", loginsInAll}} {
		for {
			var oldest [sha256.Size]byte
			var since time.Time
			n := 0
			for hash, x := range in {
				name, at := of(x)
				if most.public != "" && name != most.public {
					continue
				}
				if n++; n == 1 || at.Before(since) {
					oldest, since = hash, at
				}
			}
			if n < most.n {
				break
			}
			if end != nil {
				end(in[oldest])
			}
			delete(in, oldest)
		}
	}
}

// forgetOld forgets codes and logins that have expired. The caller holds mu.
func (l *logins) forgetOld(now time.Time) {
	if l.codes == nil {
		l.codes, l.open = map[[sha256.Size]byte]loginCode{}, map[[sha256.Size]byte]*login{}
	}
	for hash, code := range l.codes {
		if !now.Before(code.expires) {
			delete(l.codes, hash)
		}
	}
	for hash, x := range l.open {
		if !now.Before(x.until) {
			x.end(ErrLoggedOut)
			delete(l.open, hash)
		}
	}
}

// AuthenticateLogin returns who the secret of a cookie identifies, and a context that ends when somebody ends the
// login, and notes the use. A login ends with its token.
func (s *Service) AuthenticateLogin(secret, remote string) (c *Caller, ended context.Context, err error) {
	s.logins.mu.Lock()
	found := s.logins.open[sha256.Sum256([]byte(secret))]
	s.logins.mu.Unlock()
	if found == nil || !s.Now().Before(found.until) {
		return nil, nil, noLogin("it expired, somebody ended it, or the server was restarted")
	}
	c, err = s.auth.holder(found.public)
	if err != nil {
		return nil, nil, err
	}
	c.Expires = found.until.UnixMilli()
	c.LoginID = found.id
	s.noteUse(c.By, remote)
	return c, found.ended, nil
}

// noLogin is the problem of a caller whose login has ended.
func noLogin(why string) *Problem {
	p := NotAuthenticated("The login has ended", why, true)
	p.Next = "run `maestro open` again"
	return p
}

// Logout ends the login of a cookie.
func (s *Service) Logout(secret string) {
	s.endLogins(func(hash [sha256.Size]byte, _ *login) bool { return hash == sha256.Sum256([]byte(secret)) })
}

// endLogins ends the logins that a function selects, and returns how many.
func (s *Service) endLogins(which func(hash [sha256.Size]byte, x *login) bool) (n int) {
	s.logins.mu.Lock()
	defer s.logins.mu.Unlock()
	for hash, x := range s.logins.open {
		if which(hash, x) {
			x.end(ErrLoggedOut)
			delete(s.logins.open, hash)
			n++
		}
	}
	return n
}

// managesLogins refuses those who may not see and end the logins of all users.
func (s *Service) managesLogins(c *Caller, row string) error {
	if err := s.Permit(c, row, ""); err != nil {
		return err
	}
	if c.By.Kind != commands.ActorUser {
		return notForSessions
	}
	return nil
}

var notForSessions = &Problem{
	Kind:    KindNotAllowed,
	Code:    string(commands.CodeNotAllowed),
	Message: "Only a user sees the logins of browsers",
	Why:     "a login acts as a user",
	Next:    "ask the user",
}

// ListLogins lists the logins that have not ended, the newest first.
func (s *Service) ListLogins(ctx context.Context, c *Caller) ([]wire.Login, error) {
	leave, err := s.admitted(ctx, c, Demand{})
	if err != nil {
		return nil, err
	}
	defer leave()
	if err := s.managesLogins(c, "token:list"); err != nil {
		return nil, err
	}
	all := []wire.Login{}
	s.logins.mu.Lock()
	defer s.logins.mu.Unlock()
	s.logins.forgetOld(s.Now())
	for _, x := range s.logins.open {
		if _, err := s.auth.holder(x.public); err != nil {
			continue // it ended with its token
		}
		all = append(all, wire.Login{
			ID:      x.id,
			Token:   x.by.Name,
			Address: x.address,
			Since:   events.Millis(x.since.UnixMilli()),
			Until:   events.Millis(x.until.UnixMilli()),
		})
	}
	slices.SortFunc(all, func(a, b wire.Login) int {
		return cmp.Or(cmp.Compare(b.Since, a.Since), cmp.Compare(a.ID, b.ID))
	})
	return all, nil
}

// EndLogin ends a login by its id.
func (s *Service) EndLogin(ctx context.Context, c *Caller, id string) (wire.EndedLogin, error) {
	leave, err := s.admitted(ctx, c, Demand{Writes: true})
	if err != nil {
		return wire.EndedLogin{}, err
	}
	defer leave()
	if err := s.managesLogins(c, RowOfLogins); err != nil {
		return wire.EndedLogin{}, err
	}
	if s.endLogins(func(_ [sha256.Size]byte, x *login) bool { return x.id == id }) == 0 {
		p := NotFound("Login", id)
		p.Why = "it has ended, or it never existed: logins end by themselves, and when the server stops"
		p.Next = "list the logins with `maestro login list`"
		return wire.EndedLogin{}, p
	}
	return wire.EndedLogin{ID: id}, nil
}
