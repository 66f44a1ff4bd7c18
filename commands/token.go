package commands

import (
	"maestro/events"
	"maestro/projections"
)

// AdminName is the name of the token that a home has from the start; no other may have it.
const AdminName = "admin"

// CreateToken makes a named token. Its secret is made from the server's key: the answer holds it, the log does not.
type CreateToken struct {
	noTexts
	Name       string           `json:"name" doc:"its name; what it does has the source /users/<name>"`
	Kind       events.TokenKind `json:"kind" doc:"admin, auditor or read-only"`
	ProjectIDs []string         `json:"projectIds,omitempty" doc:"of a read-only token: the projects that it reads"`
}

// RevokeToken ends a named token, or a session's secret: the session gets another one.
type RevokeToken struct {
	noTexts
	Name      string `json:"name,omitempty" doc:"the named token"`
	SessionID string `json:"sessionId,omitempty" doc:"or the session whose secret it is"`
}

// ID implements Command.
func (*CreateToken) ID() string { return "token:create" }

// ID implements Command.
func (*RevokeToken) ID() string { return "token:revoke" }

func (*CreateToken) project(*projections.State, Actor) string { return "" }

func (x *RevokeToken) project(s *projections.State, _ Actor) string {
	return s.SessionProject(x.SessionID)
}

// Decide implements Command.
func (x *CreateToken) Decide(s *projections.State, _ Call) (events.Data, error) {
	if err := ValidID("/name", x.Name); err != nil {
		return nil, err
	}
	switch x.Kind {
	case events.TokenReadOnly:
		if len(x.ProjectIDs) == 0 {
			return nil, invalid("/projectIds", "a read-only token names the projects that it reads")
		}
	case events.TokenAdmin, events.TokenAuditor:
		if len(x.ProjectIDs) > 0 {
			return nil, invalid("/projectIds", "only a read-only token is for certain projects")
		}
	default:
		return nil, invalid("/kind", "kind must be admin, auditor or read-only, not '%s'", printable(string(x.Kind)))
	}
	if err := validIDs("/projectIds", x.ProjectIDs); err != nil {
		return nil, err
	}
	for _, id := range x.ProjectIDs {
		if s.Project(id) == nil {
			return nil, notFound("Project", id)
		}
	}
	generation := 1
	before := s.Token(x.Name)
	if x.Name == AdminName || before != nil && before.Live() {
		return nil, &Refusal{Code: CodeConflict, Message: "There is a token '" + x.Name + "' already", Next: "choose another name, or revoke it first"}
	}
	if before != nil {
		generation = before.Generation + 1
	}
	return &events.TokenCreated{Name: x.Name, Kind: x.Kind, ProjectIDs: unique(x.ProjectIDs), Generation: generation}, nil
}

// Decide implements Command.
func (x *RevokeToken) Decide(s *projections.State, c Call) (events.Data, error) {
	if (x.Name == "") == (x.SessionID == "") {
		return nil, invalid("/name", "name a token, or a session")
	}
	if x.SessionID != "" {
		session, err := session(s, c, In{}, x.SessionID)
		if err != nil {
			return nil, err
		}
		return &events.TokenRevoked{SessionID: session.ID, Generation: session.Generation + 1}, nil
	}
	if err := ValidID("/name", x.Name); err != nil {
		return nil, err
	}
	if x.Name == AdminName {
		return nil, forbidden("stop the server, delete admin.token from its home, and start it again", "The token '%s' is the home's own and cannot be revoked", AdminName)
	}
	token := s.Token(x.Name)
	switch {
	case token == nil:
		return nil, notFound("Token", x.Name)
	case !token.Live():
		return nil, nil
	}
	return &events.TokenRevoked{Name: token.Name, Generation: token.Generation}, nil
}
