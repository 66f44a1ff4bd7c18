package compat

import (
	"maestro/api/route"
	"maestro/events"
	"maestro/service"
	"maestro/service/wire"
)

func (s *compat) templateReads() {
	route.ReadParts(s.server.Server, route.Route{
		Path:    "/api/templates/role/{role}",
		Name:    "template-role",
		Summary: "The templates of a role",
	}, listTemplatesOfRole)
	route.Read(s.server.Server, route.Route{
		Path:    "/api/templates/default/{role}",
		Name:    "template-default",
		Summary: "The default workflow of a role",
	}, getDefaultTemplate)
}

// templateRole names the role whose templates are requested.
type templateRole struct {
	Role string `path:"role" doc:"worker or orchestrator"`
}

// roleContent is the default workflow of a role.
type roleContent struct {
	Role    events.Role `json:"role"`
	Content string      `json:"content"`
}

func listTemplatesOfRole(
	v service.View, in *templateRole,
) (func() (service.Page[wire.Template], error), error) {
	templates, err := v.ListTemplates(events.Role(in.Role))
	if err != nil {
		return nil, err
	}
	return templates, validRole(in.Role)
}

func getDefaultTemplate(v service.View, in *templateRole) (roleContent, error) {
	if err := v.Permit("template:get", ""); err != nil {
		return roleContent{}, err
	}
	if err := validRole(in.Role); err != nil {
		return roleContent{}, err
	}
	role := events.Role(in.Role)
	return roleContent{role, v.DefaultTemplate(role).Content}, nil
}

func validRole(role string) error {
	if role != string(events.RoleWorker) && role != string(events.RoleOrchestrator) {
		return service.InvalidRequest("/role", `Invalid role. Must be "worker" or "orchestrator"`)
	}
	return nil
}
