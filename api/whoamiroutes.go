package api

import "maestro/service"

func (s *server) whoamiRoutes() {
	read(s, op{path: "/api/whoami", name: "whoami", summary: "Who the caller is"}, bare(service.View.GetWhoami))
	read(
		s,
		op{path: "/api/commands", name: "commands", summary: "What the caller may do"},
		bare(service.View.GetAllowedCommands),
	)
}
