package projections

import (
	"iter"

	"maestro/events"
)

// Token is what is true of a named token. Times are milliseconds since 1970, 0 for never. Immutable.
type Token struct {
	Name       string
	Kind       events.TokenKind
	ProjectIDs []string
	// Generation says which of its secrets is good.
	Generation int
	CreatedAt  int64
	CreatedBy  string
	RevokedAt  int64
}

// Live reports whether the token is good.
func (t *Token) Live() bool { return t.RevokedAt == 0 }

// Token gives a named token, also one that was revoked, or nil.
func (s *State) Token(name string) *Token { return s.tokens.get(name) }

// Tokens gives the named tokens in order of their first creation.
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
	if before != nil && before.Live() {
		return exists("token", d.Name)
	}
	if before == nil {
		s.tokenNames = append(s.tokenNames, d.Name)
	}
	after := &Token{Name: d.Name, Kind: d.Kind, ProjectIDs: d.ProjectIDs, Generation: d.Generation, CreatedAt: f.at, CreatedBy: f.Source}
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
	before := s.Token(d.Name)
	if before == nil {
		return missing("token", d.Name)
	}
	after := *before
	after.RevokedAt, after.Generation = f.at, d.Generation
	s.changes = append(s.changes, Change{KindToken, d.Name, before, &after})
	s.tokens.put(d.Name, &after)
	return nil
}
