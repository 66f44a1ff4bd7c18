package projections

import (
	"iter"
	"slices"
	"strings"

	"maestro/events"
)

// Token is the state of a named token. Times are milliseconds since 1970, 0 for never. Immutable.
type Token struct {
	Name       string
	Kind       events.TokenKind
	ProjectIDs []string
	// Generation is that of its valid secret.
	Generation int
	CreatedAt  int64
	CreatedBy  string
	RevokedAt  int64
	// ExpiresAt is when it expires.
	ExpiresAt int64 `json:",omitempty"`
	// MakerGeneration is the generation of the named token that created it, 0 if none did.
	MakerGeneration int `json:",omitempty"`
	// Earlier are the creators of the token's earlier generations, oldest first.
	Earlier []TokenCreator `json:",omitempty"`
}

// TokenCreator is one generation of a named token that created another token. Generation is 0 for the home's own token.
type TokenCreator struct {
	Name       string
	Generation int
}

// Live reports whether the token was not revoked.
func (t *Token) Live() bool { return t.RevokedAt == 0 }

// Expired reports whether the token has expired at a time in milliseconds since 1970.
func (t *Token) Expired(at int64) bool { return t.ExpiresAt != 0 && at >= t.ExpiresAt }

// ExpiredSpawner returns the token that spawned a session, if the token has expired at a time in milliseconds since
// 1970 and the session continues; otherwise nil. A token that was revoked since, or created again under its name, needs
// no attention.
func (s *State) ExpiredSpawner(x *Session, at int64) *Token {
	name, user := UserOfSource(x.CreatedBy)
	if !user || x.Ended() {
		return nil
	}
	token := s.Token(name)
	if token == nil || !token.Live() || !token.Expired(at) || x.StartedAt < token.CreatedAt {
		return nil
	}
	return token
}

// Source returns the source of the events that the token causes.
func (t *Token) Source() string { return UserSource(t.Name) }

// UserSource returns "/users/<name>".
func UserSource(name string) string { return usersPrefix + name }

// UserOfSource returns the user, or the token, of "/users/<name>".
func UserOfSource(source string) (name string, ok bool) {
	return strings.CutPrefix(source, usersPrefix)
}

// RunnerOfSource returns the runner of "/runners/<name>".
func RunnerOfSource(source string) (name string, ok bool) {
	return strings.CutPrefix(source, RunnersPrefix)
}

const usersPrefix = "/users/"

// RunnersPrefix begins the source of what a runner does.
const RunnersPrefix = "/runners/"

// TokensCreatedBy returns the live tokens that tokens of this name created, directly or not, in order of their first
// creation. It counts all generations of the name, and follows tokens that were revoked or replaced.
func (s *State) TokensCreatedBy(name string) []string {
	return TokensCreatedAmong(slices.Collect(s.Tokens()), name)
}

// TokensCreatedAmong is [State.TokensCreatedBy] among all tokens, in order of their first creation.
func TokensCreatedAmong(tokens []*Token, name string) []string {
	made := map[TokenCreator][]TokenCreator{}
	var of *Token
	for _, token := range tokens {
		if token.Name == name {
			of = token
		}
		for i, maker := range token.makers() {
			made[maker] = append(made[maker], TokenCreator{token.Name, token.Generation - len(token.Earlier) + i})
		}
	}
	var next []TokenCreator
	if of != nil {
		for i := range of.makers() {
			next = append(next, TokenCreator{name, of.Generation - len(of.Earlier) + i})
		}
	}
	within := map[TokenCreator]bool{}
	for len(next) > 0 {
		maker := next[0]
		next = next[1:]
		for _, token := range made[maker] {
			if !within[token] {
				within[token] = true
				next = append(next, token)
			}
		}
	}
	var names []string
	for _, token := range tokens {
		if token.Live() && token.Name != name && within[TokenCreator{token.Name, token.Generation}] {
			names = append(names, token.Name)
		}
	}
	return names
}

// makers returns the creator of each generation of the token, newest last.
func (t *Token) makers() []TokenCreator {
	name, user := strings.CutPrefix(t.CreatedBy, usersPrefix)
	if !user {
		name = ""
	}
	return append(slices.Clip(t.Earlier), TokenCreator{name, t.MakerGeneration})
}

// Token returns a named token, including a revoked one, or nil.
func (s *State) Token(name string) *Token { return s.tokens.get(name) }

// TokenNames returns the names of all named tokens in order of their first creation. The list does not change.
func (s *State) TokenNames() []string { return s.tokenNames }

// Tokens returns the named tokens in order of their first creation.
func (s *State) Tokens() iter.Seq[*Token] {
	return func(yield func(*Token) bool) {
		for _, name := range s.tokenNames {
			if !yield(s.tokens.get(name)) {
				return
			}
		}
	}
}

func (s *State) tokenCreated(f fact, d *events.TokenCreated) error {
	before := s.Token(d.Name)
	if before != nil && before.Live() && !before.Expired(f.at) {
		return exists("token", d.Name)
	}
	var earlier []TokenCreator
	if before == nil {
		s.tokenNames = append(s.tokenNames, d.Name)
	} else {
		earlier = before.makers()
	}
	after := &Token{
		Name:       d.Name,
		Kind:       d.Kind,
		ProjectIDs: d.ProjectIDs,
		Generation: d.Generation,
		CreatedAt:  f.at,
		CreatedBy:  f.Source,
		ExpiresAt:  d.ExpiresAt,
		Earlier:    earlier,
	}
	if name, user := strings.CutPrefix(f.Source, usersPrefix); user {
		if maker := s.Token(name); maker != nil {
			after.MakerGeneration = maker.Generation
		}
	}
	s.changes = append(s.changes, Change{KindToken, d.Name, before, after})
	s.tokens.put(d.Name, after)
	return nil
}

func (s *State) tokenRevoked(f fact, d *events.TokenRevoked) error {
	if d.SessionID != "" {
		if s.Session(d.SessionID) == nil {
			return missing("session", d.SessionID)
		}
		s.changeSession(d.SessionID, func(x *Session) { x.ownFields().Generation = d.Generation })
		return nil
	}
	for _, name := range append([]string{d.Name}, d.Children...) {
		if s.Token(name) == nil {
			return missing("token", name)
		}
	}
	if s.Token(d.Name).Live() { // otherwise only what it created is revoked
		s.revoke(d.Name, d.Generation, f.at)
	}
	for _, name := range d.Children {
		s.revoke(name, s.Token(name).Generation, f.at)
	}
	return nil
}

func (s *State) revoke(name string, generation int, at int64) {
	before := s.Token(name)
	after := *before
	after.RevokedAt, after.Generation = at, generation
	s.changes = append(s.changes, Change{KindToken, name, before, &after})
	s.tokens.put(name, &after)
}
