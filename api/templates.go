package api

import (
	"maestro/api/route"
	"maestro/service"
	"maestro/service/wire"
)

func (s *server) templateRoutes() {
	route.ReadParts(s.mount(), route.Route{
		Path:    "/api/templates",
		Name:    "template-list",
		Summary: "The templates of prompts, built-in ones first",
	}, route.Bare(func(v service.View) (func() (service.Page[wire.Template], error), error) {
		return v.ListTemplates("")
	}))
	route.Read(s.mount(), route.Route{
		Path:    "/api/templates/{id}",
		Name:    "template-get",
		Summary: "A template",
	}, service.View.GetTemplate)
}
