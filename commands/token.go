package commands

import (
	"cmp"
	"slices"
	"time"

	"maestro/events"
	"maestro/internal/safetext"
	"maestro/projections"
)

// AdminName is the name of the initial token of a home; no other may have it.
const AdminName = "admin"

// CreateToken creates a named token. Its secret is derived from the server's key: the answer holds it, the log does
// not.
type CreateToken struct {
	noTexts
	Name       string           `json:"name" doc:"its name; events that it causes have the source /users/<name>"`
	Kind       events.TokenKind `json:"kind" doc:"what it may do: admin, auditor or read-only"`
	ProjectIDs []string         `json:"projectIds,omitempty" flag:"project <projectIds>" doc:"the projects that a read-only token reads"`
	ExpiresIn  int64            `json:"expiresIn,omitempty" absent:"a token that never expires" doc:"how many milliseconds it is valid; for ever if absent"`
	ExpiresAt  int64            `json:"expiresAt,omitempty" absent:"a token that never expires" doc:"or when it expires, in milliseconds since 1970"`
}

// RevokeToken ends a named token and the tokens that it created, or a session's secret: the session gets another one.
// For a token that was revoked before, it ends the tokens that were kept then.
type RevokeToken struct {
	noTexts
	Name      string `json:"name,omitempty" doc:"the named token"`
	SessionID string `json:"sessionId,omitempty" flag:"session <sessionId>" doc:"the session whose secret is replaced, instead of a token"`
	// KeepChildren keeps the tokens that it created valid. Neither the token itself nor one that it created may use
	// this.
	KeepChildren bool `json:"keepChildren,omitempty" doc:"do not revoke the tokens created with it"`
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
func (x *CreateToken) Decide(s *projections.State, c Call) (events.Data, error) {
	if err := ValidID("/name", x.Name); err != nil {
		return nil, err
	}
	if thirdOn(c.Rules) && slices.Contains(reservedTokens, x.Name) {
		return nil, namesAnother("/name", x.Name, "A token cannot have the name '%s'", "choose another name")
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
	case "":
		return nil, invalid("/kind", "kind is required: admin, auditor or read-only")
	default:
		return nil, invalid("/kind", "kind must be admin, auditor or read-only, not '%s'",
			safetext.Printable(string(x.Kind)))
	}
	if err := validIDs("/projectIds", x.ProjectIDs); err != nil {
		return nil, err
	}
	for _, id := range x.ProjectIDs {
		if s.Project(id) == nil {
			return nil, notFound("Project", id)
		}
	}
	expires, err := x.expiry(s, c)
	if err != nil {
		return nil, err
	}
	generation := 1
	before := s.Token(x.Name)
	if x.Name == AdminName || before != nil && before.Live() && !before.Expired(c.At.UnixMilli()) {
		return nil, &Refusal{
			Code:    CodeConflict,
			Message: "There is a token '" + x.Name + "' already",
			Why:     "two valid tokens never have the same name",
			Next:    "choose another name, or revoke it first",
		}
	}
	if before != nil {
		generation = before.Generation + 1
	}
	return &events.TokenCreated{
		Name:       x.Name,
		Kind:       x.Kind,
		ProjectIDs: unique(x.ProjectIDs),
		Generation: generation,
		ExpiresAt:  expires,
	}, nil
}

func (x *CreateToken) from(_ *events.Event, d *events.TokenCreated) bool {
	*x = CreateToken{
		Name:       d.Name,
		Kind:       d.Kind,
		ProjectIDs: d.ProjectIDs,
		ExpiresAt:  d.ExpiresAt,
	}
	return true
}

// latestExpiry is the last millisecond of the year 9999: later times have no RFC 3339 form.
const latestExpiry = 253402300799999

// expiry returns when the token expires, 0 for never. A token with an expiry creates none that outlives it.
func (x *CreateToken) expiry(s *projections.State, c Call) (int64, error) {
	if !thirdOn(c.Rules) {
		return 0, nil // older rules have no expiry
	}
	now := c.At.UnixMilli()
	expires := x.ExpiresAt
	switch {
	case x.ExpiresIn != 0 && x.ExpiresAt != 0:
		return 0, invalid("/expiresIn", "give expiresIn or expiresAt, not both")
	case x.ExpiresIn < 0, x.ExpiresIn > latestExpiry-now:
		return 0, invalid(
			"/expiresIn", "expiresIn is a number of milliseconds, at least 1, and ends before the year 10000",
		)
	case x.ExpiresAt < 0, x.ExpiresAt > latestExpiry:
		return 0, invalid("/expiresAt", "expiresAt is a time in milliseconds since 1970, before the year 10000")
	case x.ExpiresAt != 0 && x.ExpiresAt <= now:
		return 0, invalid("/expiresAt", "expiresAt is in the past")
	case x.ExpiresIn != 0:
		expires = now + x.ExpiresIn
	}
	maker := s.Token(c.By.Name)
	if c.By.Kind != ActorUser || maker == nil || maker.ExpiresAt == 0 {
		return expires, nil
	}
	if expires > maker.ExpiresAt {
		return 0, &Refusal{
			Code:    CodeRule,
			Message: "The token '" + maker.Name + "' expires before the one that it would create",
			Why: "a token creates only tokens that expire no later than itself; '" + maker.Name + "' expires at " +
				time.UnixMilli(maker.ExpiresAt).UTC().Format(time.RFC3339),
			Next: "choose an earlier time, or use a token that expires later",
		}
	}
	return cmp.Or(expires, maker.ExpiresAt), nil
}

// Decide implements Command.
func (x *RevokeToken) Decide(s *projections.State, c Call) (events.Data, error) {
	if (x.Name == "") == (x.SessionID == "") {
		return nil, invalid("/name", "name a token, or a session")
	}
	if x.SessionID != "" && x.KeepChildren {
		return nil, invalid("/keepChildren", "only a named token has tokens created with it")
	}
	if x.SessionID != "" {
		session, err := session(s, c, ProjectRef{}, x.SessionID)
		if err != nil {
			return nil, err
		}
		return &events.TokenRevoked{SessionID: session.ID, Generation: session.Generation + 1}, nil
	}
	if err := ValidID("/name", x.Name); err != nil {
		return nil, err
	}
	if x.Name == AdminName {
		return nil, forbidden(
			"somebody must be able to use this home",
			"stop the server, delete admin.token from its home, and start it again",
			"The token '%s' is the home's own and cannot be revoked",
			AdminName,
		)
	}
	token := s.Token(x.Name)
	if token == nil {
		return nil, notFound("Token", x.Name)
	}
	revoked := &events.TokenRevoked{Name: token.Name, Generation: token.Generation}
	var children []string
	if thirdOn(c.Rules) {
		children = s.TokensCreatedBy(token.Name)
	}
	if !token.Live() && (x.KeepChildren || len(children) == 0) {
		return nil, nil
	}
	s.Worked(len(children) / namesPerStep)
	if x.KeepChildren && len(children) > 0 && c.By.Kind == ActorUser &&
		(c.By.Name == token.Name || slices.Contains(children, c.By.Name)) {
		return nil, forbidden(
			"a token cannot decide what outlives it", "use another token, or revoke them too",
			"The token '%s' cannot keep the tokens that '%s' created: it is that "+
				"token, or was created with it", c.By.Name,
			token.Name,
		)
	}
	if !x.KeepChildren {
		revoked.Children = children
	}
	return revoked, nil
}

func (x *RevokeToken) from(_ *events.Event, d *events.TokenRevoked) bool {
	keep := d.SessionID == "" && len(d.Children) == 0
	*x = RevokeToken{Name: d.Name, SessionID: d.SessionID, KeepChildren: keep}
	return true
}
