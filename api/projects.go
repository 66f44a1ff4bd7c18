package api

import (
	"maestro/api/route"
	"maestro/service"
)

func (s *server) projectRoutes() {
	route.ReadParts(s.mount(), route.Route{
		Path:    "/api/projects",
		Name:    "project-list",
		Summary: "The projects that the caller may see",
	}, service.View.ListProjects)
	route.Read(s.mount(), route.Route{
		Path:    "/api/projects/{id}",
		Name:    "project-get",
		Summary: "A project",
	}, service.View.GetProject)
	route.ReadParts(s.mount(), route.Route{
		Path:    "/api/projects/{id}/status",
		Name:    "project-status",
		Summary: "A project's tasks and sessions, counted by status",
	}, service.View.GetProjectStatus)
	route.ReadParts(s.mount(), route.Route{
		Path:    "/api/projects/{id}/tree",
		Name:    "project-tree",
		Summary: "A project's tasks as trees",
	}, service.View.GetProjectTree)
}
