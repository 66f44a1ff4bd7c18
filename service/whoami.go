package service

import (
	"slices"

	"maestro/commands"
	"maestro/service/wire"
)

// GetWhoami gives who the caller is.
func (v View) GetWhoami() (wire.Whoami, error) {
	if err := v.Permit("whoami", ""); err != nil {
		return wire.Whoami{}, err
	}
	by := v.Caller.By
	body := wire.Whoami{
		Actor:  by.Name,
		Kind:   by.Kind,
		Role:   string(by.Kind),
		Access: by.Access,
		Authn:  by.Authn,
	}
	if x := v.Session(by.Name); by.Kind == commands.ActorSession && x != nil {
		body.Role, body.Strategy, body.Project, body.Session = string(x.Role), string(x.Strategy), x.ProjectID, x.ID
	}
	return body, nil
}

// GetAllowedCommands gives what the caller may do.
func (v View) GetAllowedCommands() (wire.AllowedCommands, error) {
	if err := v.Permit("commands", ""); err != nil {
		return wire.AllowedCommands{}, err
	}
	table := commands.CurrentRules()
	body := wire.AllowedCommands{Role: string(v.Caller.By.Kind)}
	if x := v.Session(v.Caller.By.Name); v.Caller.By.Kind == commands.ActorSession && x != nil {
		body.Role, body.Strategy = string(x.Role), string(x.Strategy)
		body.AllowedCommands = slices.Clone(x.Permissions.Commands)
	} else {
		for _, id := range table.Defaults(commands.U) {
			if v.Permit(id, "") == nil {
				body.AllowedCommands = append(body.AllowedCommands, id)
			}
		}
	}
	body.HiddenCommands = table.Hidden(body.AllowedCommands)
	return body, nil
}
