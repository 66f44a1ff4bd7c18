package commands

import (
	"maestro/events"
	"maestro/projections"
)

// InitSession starts a session's work with its manifest. It refuses a manifest that was changed since.
// docs/spec/000-command-permissions.md, "Default Command Sets"; `maestro worker init` and `maestro orchestrator init`.
type InitSession struct {
	noTexts
	ProjectRef
	// Role comes from the command's id.
	Role           events.Role `json:"-"`
	SessionID      string      `json:"sessionId,omitempty" doc:"the session; its own if absent"`
	ManifestDigest string      `json:"manifestDigest" doc:"digest of the manifest that it begins with"`
}

// ID implements Command.
func (x *InitSession) ID() string {
	if x.Role == events.RoleOrchestrator {
		return "orchestrator:init"
	}
	return "worker:init"
}

func (x *InitSession) project(s *projections.State, by Actor) string {
	return projectOfSession(s, by, x.ProjectRef, x.SessionID)
}

// Decide implements Command.
func (x *InitSession) Decide(s *projections.State, c Call) (events.Data, error) {
	session, err := ownSession(s, c, x.ProjectRef, x.SessionID, x.ID())
	if err != nil {
		return nil, err
	}
	if x.ManifestDigest == "" {
		return nil, invalid("/manifestDigest", "manifestDigest is required")
	}
	if err := validDigest(x.ManifestDigest); err != nil {
		return nil, err
	}
	switch {
	case session.Ended():
		return nil, ended(s, x.ID(), session)
	case session.Role != x.Role:
		return nil, notAllowed(x.ID(), "it starts sessions of its own role", "",
			"Session '%s' does not have the role %s", session.ID,
			x.Role)
	case session.ManifestDigest == "":
		return nil, forbidden("a worker starts with its manifest", "register it with `maestro session register`",
			"Session '%s' was created without a manifest", session.ID)
	case session.ManifestDigest != x.ManifestDigest:
		return nil, &Refusal{
			Code: CodeConflict,
			Message: "The manifest of session '" + session.ID +
				"' is not the one that it was given",
			Why: "it has the digest " + x.ManifestDigest + ", and what was recorded is " + session.ManifestDigest,
			Next: "fetch it again with `maestro manifest show --session " + session.ID +
				" --file FILE`, or let the user issue the changed one with session update --manifest",
		}
	case session.Status == events.SessionRunning, session.Status == events.SessionSaidDone:
		return nil, nil
	}
	return &events.SessionRegistered{SessionID: session.ID, ManifestDigest: x.ManifestDigest, Role: x.Role}, nil
}

// begins returns the maker of the command with which a session of a role starts.
func begins(role events.Role) *maker {
	return makerOfKind(&InitSession{Role: role}, (*InitSession).from)
}

func (x *InitSession) from(e *events.Event, d *events.SessionRegistered) bool {
	began := d.Created == nil && d.ManifestDigest != "" && d.Role == x.Role
	*x = InitSession{
		ProjectRef:     inProject(e),
		Role:           d.Role,
		SessionID:      d.SessionID,
		ManifestDigest: d.ManifestDigest,
	}
	return began
}
