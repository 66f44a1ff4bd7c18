package api

import (
	"maestro/api/route"
	"maestro/service"
)

func (s *server) runnerRoutes() {
	route.ReadAfter(s.mount(), route.Route{
		Path:    "/api/runners/{name}/work",
		Name:    "runner-work",
		Summary: "For a runner: its sessions, and what it has to do with each; on request, the call waits for a change",
	}, s.AwaitWork, service.View.GetWork)
	route.Read(s.mount(), route.Route{
		Path:    "/api/runners",
		Name:    "runner-list",
		Summary: "The runners that have asked for work lately, and how many sessions wait for each",
	}, service.View.ListRunners)
}
