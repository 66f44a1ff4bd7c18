package service

import (
	"crypto/hmac"
	"strings"

	"maestro/service/wire"
)

// Prove shows that this server knows the token with that public part: it makes the tokens of sessions and named users
// from its key. It says nothing of whether the token is good. It returns "" for text that names no token.
func (s *Service) Prove(public, challenge string) string {
	if token := s.tokenNamed(public); token != "" {
		return wire.Prove(token, challenge)
	}
	return ""
}

// holds reports whether the proof shows that who sent the challenge holds the token with that public part.
func (s *Service) holds(public, challenge, proof string) bool {
	token := s.tokenNamed(public)
	return token != "" && proof != "" && hmac.Equal([]byte(wire.Hold(token, challenge)), []byte(proof))
}

// tokenNamed returns the token with that public part, whether it is good or not; "" for what names no token.
func (s *Service) tokenNamed(public string) string {
	if public == wire.AdminPart {
		return string(s.Keys.AdminToken)
	}
	name, generation, ok := strings.Cut(public, ".")
	if !ok || strings.Contains(generation, ".") {
		return ""
	}
	signer := newSigner(s.Keys.ServerKey)
	if id, ok := strings.CutPrefix(name, wire.SessionTokenPrefix); ok {
		return signer.token(wire.SessionTokenPrefix, id, generation)
	}
	if name, ok = strings.CutPrefix(name, wire.UserTokenPrefix); ok {
		return signer.token(wire.UserTokenPrefix, name, generation)
	}
	return ""
}
