package api

import (
	"net/http"

	"maestro/service"
	"maestro/service/wire"
)

// The lengths of a challenge, and of the public part of a token, in bytes.
const (
	shortestChallenge = 16
	longestChallenge  = 128
	longestPublic     = 256
)

func (s *server) identityRoutes() {
	answers(s, "GET "+wire.IdentityPath, "Prove that the server knows a credential", s.identity)
}

// identity says that this is Maestro, and proves that it knows a token that the caller has not sent yet.
func (s *server) identity(r *http.Request) (wire.Identity, error) {
	query := r.URL.Query()
	public, challenge, holder := query.Get("credential"), query.Get("challenge"), query.Get("holder")
	if len(challenge) > longestChallenge || len(public) > longestPublic {
		holder = "" // it is refused
	}
	ctx, deaf := hear(r, true)
	s.AwaitIdentity(ctx, addressOf(r), public, challenge, holder)
	deaf()
	said := wire.Identity{Product: wire.Product, Version: s.Version}
	if public != "" {
		if len(challenge) < shortestChallenge || len(challenge) > longestChallenge || len(public) > longestPublic {
			return said, service.InvalidRequest("", "challenge must have 16 to 128 bytes, credential at most 256")
		}
		said.Proof = s.Prove(public, challenge)
	}
	return said, nil
}
