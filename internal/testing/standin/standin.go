// Package standin lets a test's HTTP handler stand in for a Maestro server.
package standin

import (
	"encoding/json"
	"net/http"

	"maestro/service/wire"
)

// Identified answers the identity route for a handler, as a Maestro server that knows these tokens. The handler gets
// every other request.
func Identified(next http.HandlerFunc, tokens ...string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != wire.IdentityPath {
			next(w, r)
			return
		}
		said := wire.Identity{Product: wire.Product}
		for _, token := range tokens {
			if r.FormValue("credential") == wire.PublicPart(token) {
				said.Proof = wire.Prove(token, r.FormValue("challenge"))
			}
		}
		_ = json.NewEncoder(w).Encode(said) // a client that does not read it gets no other answer
	})
}
