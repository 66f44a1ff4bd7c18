package api

import (
	"maestro/api/route"
	"maestro/service"
)

func (s *server) denialRoutes() {
	route.ReadParts(s.mount(), route.Route{
		Path: "/api/audit/denials", Name: "audit-denials", Summary: "The recorded refusals, oldest first",
	}, service.View.ListDenials)
	route.Read(s.mount(), route.Route{
		Path: "/api/audit/unauthenticated", Name: "audit-unauthenticated",
		Summary: "How many calls came without a valid credential",
	}, route.Bare(service.View.CountUnauthenticated))
	route.Read(s.mount(), route.Route{
		Path: "/api/audit/limits", Name: "audit-limits",
		Summary: "The limits in force, and how many calls each has refused",
	}, route.Bare(service.View.ListLimits))
	route.Read(s.mount(), route.Route{
		Path: "/api/audit/can", Name: "audit-can", Summary: "Whether an actor may use a command, and why",
	}, service.View.GetCan)
}
