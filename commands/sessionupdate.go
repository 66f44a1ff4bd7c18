package commands

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	"maestro/events"
	"maestro/internal/safetext"
	"maestro/projections"
)

// UpdateSession updates fields of a session. Compat: PATCH /api/sessions/:id.
type UpdateSession struct {
	noTexts
	ProjectRef
	SessionID string                `json:"sessionId" doc:"the session"`
	Name      *string               `json:"name,omitempty" flag:"\"<name>\"" doc:"new name"`
	Status    *events.SessionStatus `json:"status,omitempty" flag:"idle|working" doc:"new status: idle or working"`
	AgentID   *string               `json:"agentId,omitempty" doc:"new agent"`
	TaskIDs   *[]string             `json:"taskIds,omitempty" doc:"its tasks from now on"`
	Force     bool                  `json:"force,omitempty" doc:"add tasks even if they have open dependencies"`
	Env       map[string]string     `json:"env,omitempty" doc:"set a variable for its commands, as NAME=VALUE; session exec ignores those that an orchestrator set"`
	RemoveEnv []string              `json:"removeEnv,omitempty" flag:"<name>" doc:"remove a variable"`
	// ManifestDigest issues its manifest again. The reader of the manifest checks that it gives the same rights.
	ManifestDigest *string `json:"manifestDigest,omitempty" doc:"digest of its manifest from now on"`
	// Stated are the options in that manifest.
	Stated *events.AgentOptions `json:"-"`
}

// ID implements Command.
func (*UpdateSession) ID() string { return "session:update" }

func (x *UpdateSession) project(s *projections.State, by Actor) string {
	return projectOfSession(s, by, x.ProjectRef, x.SessionID)
}

// Decide implements Command.
func (x *UpdateSession) Decide(s *projections.State, c Call) (events.Data, error) {
	session, err := spawnedSession(s, c, x.ProjectRef, x.SessionID, x.ID())
	if err != nil {
		return nil, err
	}
	if x.Name != nil {
		if err := ValidLine("/name", *x.Name, MaxName); err != nil {
			return nil, err
		}
	}
	if x.Status != nil && *x.Status != events.SessionIdle && *x.Status != events.SessionWorking {
		return nil, invalid(
			"/status",
			"this sets idle or working; register, complete or kill the session for another status, not '%s'",
			safetext.Printable(string(*x.Status)),
		)
	}
	if x.Status != nil && session.Ended() {
		return nil, ended(s, x.ID(), session)
	}
	if x.AgentID != nil {
		if err := ValidLine("/agentId", *x.AgentID, MaxName); err != nil {
			return nil, err
		}
	}
	if x.TaskIDs != nil {
		if err := tasksIn(s, session.ProjectID, *x.TaskIDs); err != nil {
			return nil, err
		}
	}
	if err := x.validEnv(); err != nil {
		return nil, err
	}
	if thirdOn(c.Rules) {
		if err := x.fits(s, c, session); err != nil {
			return nil, err
		}
	}
	forced := false
	if x.TaskIDs != nil {
		if forced, err = mayHave(s, c, x.ID(), session, *x.TaskIDs, x.Force); err != nil {
			return nil, err
		}
	}
	if x.ManifestDigest != nil {
		if err := validDigest(*x.ManifestDigest); err != nil || *x.ManifestDigest == "" {
			return nil, cmp.Or(err, error(invalid("/manifestDigest", "manifestDigest is empty")))
		}
		if err := withinOwn(s, c, x.ID(), session.ProjectID, x.Stated); err != nil {
			return nil, err
		}
	}
	removed := slices.DeleteFunc(slices.Clone(x.RemoveEnv), func(name string) bool {
		_, known := session.Env[name]
		return !known
	})
	if len(removed) == 0 && len(x.RemoveEnv) > 0 && x.changesOnlyEnv() {
		return nil, nil
	}
	return &events.SessionUpdated{
		SessionID:      session.ID,
		Name:           x.Name,
		Status:         x.Status,
		AgentID:        x.AgentID,
		TaskIDs:        x.TaskIDs,
		Forced:         forced,
		Env:            x.Env,
		RemovedEnv:     removed,
		ManifestDigest: x.ManifestDigest,
		Options:        x.Stated,
	}, nil
}

// validEnv checks the variables to set and to remove.
func (x *UpdateSession) validEnv() error {
	for i, name := range x.RemoveEnv {
		if _, set := x.Env[name]; set {
			return invalid("/removeEnv/"+strconv.Itoa(i), "the variable '%s' is both set and removed",
				safetext.Printable(name))
		}
	}
	return validEnv(x.Env)
}

// changesOnlyEnv reports whether the command does nothing but remove variables.
func (x *UpdateSession) changesOnlyEnv() bool {
	return x.Name == nil && x.Status == nil && x.AgentID == nil && x.TaskIDs == nil && len(x.Env) == 0 &&
		x.ManifestDigest == nil
}

func (x *UpdateSession) from(e *events.Event, d *events.SessionUpdated) bool {
	*x = UpdateSession{
		ProjectRef:     inProject(e),
		SessionID:      d.SessionID,
		Name:           d.Name,
		Status:         d.Status,
		AgentID:        d.AgentID,
		TaskIDs:        d.TaskIDs,
		Force:          d.Forced,
		Env:            d.Env,
		RemoveEnv:      d.RemovedEnv,
		ManifestDigest: d.ManifestDigest,
		Stated:         d.Options,
	}
	return true
}

// fits checks the session's new size against the limits.
func (x *UpdateSession) fits(s *projections.State, c Call, session *projections.Session) error {
	if x.TaskIDs != nil {
		if err := graphOf(s, c).joins(session.ID, *x.TaskIDs); err != nil {
			return err
		}
	}
	if len(x.Env) == 0 {
		return nil
	}
	env := make(map[string]string, len(session.Env)+len(x.Env))
	maps.Copy(env, session.Env)
	for _, name := range x.RemoveEnv {
		delete(env, name)
	}
	maps.Copy(env, x.Env)
	return checkEnv(env)
}
