package service

import (
	"crypto/hmac"
	"strings"

	"maestro/service/wire"
)

// Prove proves that this server knows the token with that public part: it derives the tokens of sessions and named
// users from its key. It does not say whether the token is valid. It returns "" if public names no token.
func (s *Service) Prove(public, challenge string) string {
	if token := s.tokenNamed(public); token != "" {
		return wire.Prove(token, challenge)
	}
	return ""
}

// holds reports whether the proof shows that the sender of the challenge holds the token with that public part.
func (s *Service) holds(public, challenge, proof string) bool {
	token := s.tokenNamed(public)
	return token != "" && proof != "" && hmac.Equal([]byte(wire.Hold(token, challenge)), []byte(proof))
}

// tokenNamed returns the token with that public part, valid or not; "" if public names no token.
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
	if runner, ok := strings.CutPrefix(name, wire.RunnerTokenPrefix); ok {
		return signer.token(wire.RunnerTokenPrefix, runner, generation)
	}
	if name, ok = strings.CutPrefix(name, wire.UserTokenPrefix); ok {
		return signer.token(wire.UserTokenPrefix, name, generation)
	}
	return ""
}
