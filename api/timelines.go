package api

import (
	"maestro/api/route"
	"maestro/service"
)

func (s *server) timelineRoutes() {
	route.ReadThen(s.mount(), route.Route{
		Path:    "/api/sessions/{id}/timeline",
		Name:    "session-timeline",
		Summary: "Everything that a session did, oldest first",
	}, service.View.GetSessionTimeline)
	route.ReadThen(s.mount(), route.Route{
		Path:    "/api/tasks/{id}/timeline",
		Name:    "task-timeline",
		Summary: "Everything that happened to a task, oldest first",
	}, service.View.GetTaskTimeline)
}
