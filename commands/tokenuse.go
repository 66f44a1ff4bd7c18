package commands

import (
	"maestro/events"
	"maestro/projections"
)

// UseToken notes that a user's token was used from an address for the first time, or that a browser logged in with it.
// Only the system may do it. What it notes is bounded: see [events.MaxTokenAddresses].
type UseToken struct {
	noTexts
	Name       string `json:"name" doc:"the token; admin is the home's own"`
	Generation int    `json:"generation" doc:"which of its secrets; 0 for the home's own"`
	Address    string `json:"address" doc:"the address of the caller, without its port"`
	LoginUntil int64  `json:"loginUntil,omitempty" absent:"a use that is no login" doc:"of a login: when it ends, in milliseconds since 1970"`
}

// ID implements Command.
func (*UseToken) ID() string { return "token:used" }

func (*UseToken) project(*projections.State, Actor) string { return "" }

// Decide implements Command. A token that is no longer valid has no uses.
func (x *UseToken) Decide(s *projections.State, c Call) (events.Data, error) {
	if err := ValidID("/name", x.Name); err != nil {
		return nil, err
	}
	if x.Address == "" {
		return nil, invalid("/address", "address is required")
	}
	if err := ValidLine("/address", x.Address, MaxName); err != nil {
		return nil, err
	}
	if x.Name == AdminName && x.Generation != 0 {
		return nil, invalid("/generation", "the home's own token has no generations")
	}
	if x.LoginUntil != 0 && x.LoginUntil <= c.At.UnixMilli() {
		return nil, forbidden("a login ends after it begins", "log in again", "The login has ended")
	}
	if x.Name != AdminName {
		token := s.Token(x.Name)
		if token == nil {
			return nil, notFound("Token", x.Name)
		}
		if !token.Live() || token.Expired(c.At.UnixMilli()) || token.Generation != x.Generation {
			return nil, nil
		}
	}
	if x.LoginUntil == 0 && s.TokenOrigins(x.Name, x.Generation).Knows(x.Address) {
		return nil, nil
	}
	return &events.TokenUsed{
		Name:       x.Name,
		Generation: x.Generation,
		Address:    x.Address,
		LoginUntil: x.LoginUntil,
	}, nil
}

func (x *UseToken) from(_ *events.Event, d *events.TokenUsed) bool {
	*x = UseToken{
		Name:       d.Name,
		Generation: d.Generation,
		Address:    d.Address,
		LoginUntil: d.LoginUntil,
	}
	return true
}
