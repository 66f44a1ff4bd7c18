package compat

import (
	"context"
	"net/http"

	"maestro/api/route"
	"maestro/service"
	"maestro/service/wire"
)

func (s *compat) skillRoutes() {
	route.ReadParts(s.server.Server, route.Route{
		Path:    "/api/skills",
		Name:    "skill-list",
		Summary: "The skills of the server's home",
	}, func(v service.View, _ *struct{}) (func() ([]wire.Skill, error), error) { return v.ListSkills("") })
	route.ReadParts(s.server.Server, route.Route{
		Path:    "/api/skills/{id}",
		Name:    "skill-get",
		Summary: "A skill",
	}, func(v service.View, in *skillNamed) (func() (wire.Skill, error), error) { return v.GetSkill(in.ID) })
	route.ReadParts(s.server.Server, route.Route{
		Path:    "/api/skills/role/{role}",
		Name:    "skill-role",
		Summary: "The skills for a role",
	}, func(v service.View, in *skillRole) (func() ([]wire.Skill, error), error) {
		return v.ListSkills(in.Role)
	})
	write(s, op{Route: route.Route{
		Method:  http.MethodPost,
		Path:    "/api/skills/{id}/reload",
		Name:    "skill-reload",
		Summary: "A skill; the server reads its file at each request",
	}, row: "template:get"}, s.reloadSkill)
}

type skillNamed struct {
	ID string `path:"id" doc:"the skill"`
}

type skillRole struct {
	Role string `path:"role" doc:"worker or orchestrator"`
}

// reloadedSkill is a skill as its file is now.
type reloadedSkill struct {
	wire.Skill
	Reloaded bool `json:"reloaded"`
}

func (s *compat) reloadSkill(ctx context.Context, c *call, in *skillNamed) (reloadedSkill, error) {
	var read func() (wire.Skill, error)
	err := s.Look(ctx, c.Caller, func(v service.View) (err error) {
		read, err = v.GetSkill(in.ID)
		return err
	})
	if err != nil {
		return reloadedSkill{}, err
	}
	skill, err := read()
	return reloadedSkill{skill, true}, err
}
