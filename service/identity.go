package service

import (
	"strings"

	"maestro/service/wire"
)

// Prove shows that this server knows the token with that public part: it makes the tokens of sessions and named users
// from its key. It says nothing of whether the token is good. It gives "" for what names no token.
func (s *Service) Prove(public, challenge string) string {
	if public == wire.AdminPart {
		return wire.Prove(string(s.Keys.AdminToken), challenge)
	}
	name, generation, ok := strings.Cut(public, ".")
	if !ok || strings.Contains(generation, ".") {
		return ""
	}
	signer := newSigner(s.Keys.ServerKey)
	if id, ok := strings.CutPrefix(name, wire.SessionTokenPrefix); ok {
		return wire.Prove(signer.token(wire.SessionTokenPrefix, id, generation), challenge)
	}
	if name, ok = strings.CutPrefix(name, wire.UserTokenPrefix); ok {
		return wire.Prove(signer.token(wire.UserTokenPrefix, name, generation), challenge)
	}
	return ""
}
