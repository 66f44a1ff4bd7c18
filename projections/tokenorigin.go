package projections

import (
	"maps"
	"slices"

	"maestro/events"
)

// TokenOrigins are the addresses from which a user's token was used. Immutable.
type TokenOrigins struct {
	Name       string
	Generation int
	// Addresses are in the order of their first use, at most [events.MaxTokenAddresses].
	Addresses []string
	// LoginAt is the time of the last login of a browser, in milliseconds since 1970; 0 if there was none.
	LoginAt int64 `json:",omitempty"`
}

// TokenOrigins returns the addresses from which a generation of a token was used, or nil if there are none.
func (s *State) TokenOrigins(name string, generation int) *TokenOrigins {
	if o := s.origins.get(name); o != nil && o.Generation == generation {
		return o
	}
	return nil
}

// Knows reports whether the first use from an address needs no further note: it was noted, or there is no more room.
func (o *TokenOrigins) Knows(address string) bool {
	return o != nil && (len(o.Addresses) >= events.MaxTokenAddresses || slices.Contains(o.Addresses, address))
}

// allOrigins returns the origins of all tokens of a committed state, by name.
func (s *State) allOrigins() (all []*TokenOrigins) {
	for _, name := range slices.Sorted(maps.Keys(s.origins.rows)) {
		all = append(all, s.origins.rows[name])
	}
	return all
}

func (s *State) tokenUsed(f fact, d *events.TokenUsed) error {
	if token := s.Token(d.Name); d.Generation != 0 && token == nil {
		return missing("token", d.Name)
	}
	after := TokenOrigins{Name: d.Name, Generation: d.Generation}
	if before := s.TokenOrigins(d.Name, d.Generation); before != nil {
		after = *before
	}
	if d.LoginUntil != 0 {
		after.LoginAt = f.at
	}
	if !after.Knows(d.Address) {
		after.Addresses = append(slices.Clone(after.Addresses), d.Address)
	}
	s.origins.put(d.Name, &after)
	return nil
}
