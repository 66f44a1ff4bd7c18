package service

import (
	"slices"

	"maestro/commands"
)

// Whoami says who the caller is to the server.
type Whoami struct {
	Actor    string             `json:"actor" doc:"the token's name, the session's id or the runner's"`
	Kind     commands.ActorKind `json:"kind" doc:"user, session or runner"`
	Role     string             `json:"role" doc:"worker, orchestrator or user"`
	Strategy string             `json:"strategy,omitempty" doc:"a session's"`
	Project  string             `json:"project,omitempty" doc:"a session's"`
	Session  string             `json:"session,omitempty" doc:"the session, if it is one"`
	Access   commands.Access    `json:"access,omitempty" doc:"what a user's token may be used for"`
	Authn    string             `json:"authn" doc:"how the caller is known: token, socket or none"`
}

// AllowedCommands is what the caller may do (document 000).
type AllowedCommands struct {
	Role            string   `json:"role"`
	Strategy        string   `json:"strategy"`
	AllowedCommands []string `json:"allowedCommands"`
	HiddenCommands  []string `json:"hiddenCommands"`
}

// GetWhoami gives who the caller is.
func (v View) GetWhoami() (Whoami, error) {
	if err := v.Permit("whoami", ""); err != nil {
		return Whoami{}, err
	}
	by := v.Caller.By
	body := Whoami{Actor: by.Name, Kind: by.Kind, Role: string(by.Kind), Access: by.Access, Authn: by.Authn}
	if x := v.Session(by.Name); by.Kind == commands.ActorSession && x != nil {
		body.Role, body.Strategy, body.Project, body.Session = string(x.Role), string(x.Strategy), x.ProjectID, x.ID
	}
	return body, nil
}

// GetAllowedCommands gives what the caller may do.
func (v View) GetAllowedCommands() (AllowedCommands, error) {
	if err := v.Permit("commands", ""); err != nil {
		return AllowedCommands{}, err
	}
	table := commands.CurrentRules()
	body := AllowedCommands{Role: string(v.Caller.By.Kind)}
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
