package api

import (
	"slices"

	"maestro/commands"
)

// whoamiBody says who the caller is to the server.
type whoamiBody struct {
	Actor    string             `json:"actor" doc:"the token's name, the session's id or the runner's"`
	Kind     commands.ActorKind `json:"kind" doc:"user, session or runner"`
	Role     string             `json:"role" doc:"worker, orchestrator or user"`
	Strategy string             `json:"strategy,omitempty" doc:"a session's"`
	Project  string             `json:"project,omitempty" doc:"a session's"`
	Session  string             `json:"session,omitempty" doc:"the session, if it is one"`
	Access   commands.Access    `json:"access,omitempty" doc:"what a user's token may be used for"`
	Authn    string             `json:"authn" doc:"how the caller is known: token, socket or none"`
}

// commandsBody is what the caller may do (document 000).
type commandsBody struct {
	Role            string   `json:"role"`
	Strategy        string   `json:"strategy"`
	AllowedCommands []string `json:"allowedCommands"`
	HiddenCommands  []string `json:"hiddenCommands"`
}

func (s *server) whoamiRoutes() {
	read(s, op{path: "/api/whoami", name: "whoami", summary: "Who the caller is"}, whoami)
	read(s, op{path: "/api/commands", name: "commands", summary: "What the caller may do"}, allowedCommands)
}

func whoami(v view, _ *struct{}) (whoamiBody, error) {
	if err := v.permit("whoami", ""); err != nil {
		return whoamiBody{}, err
	}
	by := v.call.by
	body := whoamiBody{Actor: by.Name, Kind: by.Kind, Role: string(by.Kind), Access: by.Access, Authn: by.Authn}
	if x := v.Session(by.Name); by.Kind == commands.ActorSession && x != nil {
		body.Role, body.Strategy, body.Project, body.Session = string(x.Role), string(x.Strategy), x.ProjectID, x.ID
	}
	return body, nil
}

func allowedCommands(v view, _ *struct{}) (commandsBody, error) {
	if err := v.permit("commands", ""); err != nil {
		return commandsBody{}, err
	}
	table := commands.CurrentRules()
	body := commandsBody{Role: string(v.call.by.Kind)}
	if x := v.Session(v.call.by.Name); v.call.by.Kind == commands.ActorSession && x != nil {
		body.Role, body.Strategy = string(x.Role), string(x.Strategy)
		body.AllowedCommands = slices.Clone(x.Permissions.Commands)
	} else {
		for _, id := range table.Defaults(commands.U) {
			if v.permit(id, "") == nil {
				body.AllowedCommands = append(body.AllowedCommands, id)
			}
		}
	}
	body.HiddenCommands = table.Hidden(body.AllowedCommands)
	return body, nil
}
