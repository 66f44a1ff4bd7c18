package api

import (
	"maestro/api/route"
	"maestro/service"
)

func (s *server) whoamiRoutes() {
	route.Read(s.mount(), route.Route{
		Path:    "/api/whoami",
		Name:    "whoami",
		Summary: "Who the caller is",
	}, route.Bare(service.View.GetWhoami))
	route.Read(s.mount(), route.Route{
		Path:    "/api/commands",
		Name:    "commands",
		Summary: "The commands that the caller may use",
	}, route.Bare(service.View.GetAllowedCommands))
	route.Read(s.mount(), route.Route{
		Path:    "/api/commands/{id}",
		Name:    "command-check",
		Summary: "Whether the caller may use a command",
	}, service.View.CheckCommand)
}
