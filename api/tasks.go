package api

import (
	"maestro/api/route"
	"maestro/service"
)

func (s *server) taskRoutes() {
	route.ReadParts(s.mount(), route.Route{
		Path:    "/api/tasks",
		Name:    "task-list",
		Summary: "The tasks that the caller may see, in order of creation",
	}, service.View.ListTasks)
	route.ReadParts(s.mount(), route.Route{
		Path:    "/api/tasks/{id}",
		Name:    "task-get",
		Summary: "A task",
	}, service.View.GetTask)
	route.ReadParts(s.mount(), route.Route{
		Path:    "/api/tasks/{id}/children",
		Name:    "task-children",
		Summary: "The tasks directly below one",
	}, service.View.ListChildren)
	route.ReadParts(s.mount(), route.Route{
		Path:    "/api/tasks/{id}/tree",
		Name:    "task-tree",
		Summary: "A task with everything below it",
	}, service.View.GetTaskTree)
}
