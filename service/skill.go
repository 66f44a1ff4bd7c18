package service

import (
	"errors"
	"io/fs"
	"slices"

	"maestro/internal/safetext"
	"maestro/service/wire"
)

// Skills finds the skills that this machine has.
type Skills interface {
	// Skills returns the usable ones, by id, without their instructions. Their number is bounded.
	Skills() ([]wire.Skill, error)
	// Skill returns one. It fails with fs.ErrNotExist if there is none, or with an error that may be shown.
	Skill(id string) (wire.Skill, error)
}

// ListSkills returns the skills; those for a role unless it is "". The returned function runs without the state.
func (v View) ListSkills(role string) (func() ([]wire.Skill, error), error) {
	if err := v.Permit("template:list", ""); err != nil { // like templates, they are what agents are told
		return nil, err
	}
	return func() ([]wire.Skill, error) {
		found := []wire.Skill{}
		if v.Service.Skills == nil {
			return found, nil
		}
		all, err := v.Service.Skills.Skills()
		for _, skill := range all {
			if role == "" || len(skill.Roles) == 0 || slices.Contains(skill.Roles, role) {
				found = append(found, skill)
			}
		}
		return found, err
	}, nil
}

// GetSkill returns a skill with its instructions. The returned function runs without the state.
func (v View) GetSkill(id string) (func() (wire.Skill, error), error) {
	if err := v.Permit("template:get", ""); err != nil {
		return nil, err
	}
	return func() (wire.Skill, error) {
		err := fs.ErrNotExist
		var skill wire.Skill
		if v.Service.Skills != nil {
			skill, err = v.Service.Skills.Skill(id)
		}
		switch {
		case errors.Is(err, fs.ErrNotExist):
			p := NotFound("Skill", id)
			p.Domain, p.Message = false, "Skill not found: "+safetext.Printable(id)
			return skill, p
		case err != nil:
			message := "Skill '" + safetext.Printable(id) + "' cannot be used: " + err.Error()
			p := NewProblem(KindRule, "INVALID_SKILL", "", message)
			p.Next = "correct the file in the folder skills/" + safetext.Printable(id) + " of the server's home"
			return skill, p
		}
		return skill, nil
	}, nil
}
