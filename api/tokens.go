package api

import "maestro/service"

func (s *server) tokenRoutes() {
	read(s, op{
		path:    "/api/tokens",
		name:    "token-list",
		summary: "The named tokens, also those that were revoked; never a secret",
	}, bare(service.View.ListTokens))
}
