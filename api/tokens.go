package api

import (
	"maestro/api/route"
	"maestro/service"
)

func (s *server) tokenRoutes() {
	route.ReadParts(s.mount(), route.Route{
		Path:    "/api/tokens",
		Name:    "token-list",
		Summary: "The named tokens, also those that were revoked; never a secret",
	}, route.Bare(service.View.ListTokens))
}
