package service

import (
	"maestro/commands"
	"maestro/projections"
	"maestro/service/wire"
)

// GetCredential returns the secret of a session that has not ended, with the rest of its environment. It is for the
// user, for the session itself, and for the orchestrator that directly spawned the session: a session that the user
// spawned for an orchestrator may have permissions that the orchestrator lacks. What [Caller.SeesEnv] says of the
// environment holds here too.
//
// A runner gets it too, for the agents of the sessions that are assigned to it.
func (v View) GetCredential(in *wire.SessionID) (wire.Credential, error) {
	x, err := v.withSecret(in.ID)
	if err != nil {
		return wire.Credential{}, err
	}
	given := wire.Credential{
		SessionID: x.ID,
		ProjectID: x.ProjectID,
		Strategy:  x.Strategy,
		Token:     SessionToken(v.Service.Keys.ServerKey, x.ID, x.Generation),
		Within:    v.DirectoriesAbove(x),
	}
	if v.Caller.SeesEnv(x) {
		given.Env = x.CommandEnv()
	}
	return given, nil
}

// rowOfSecret is the row by which others than a session itself get its secret.
const rowOfSecret = "session:spawn"

// withSecret returns a session whose secret the caller may have. For anybody but a runner, which may have to say how
// the agent ended, the session must not have ended.
func (v View) withSecret(id string) (*projections.Session, error) {
	by := v.Caller.By
	itself := by.Kind == commands.ActorSession && by.Name == id
	row := rowOfSecret
	if itself {
		row = "whoami"
	}
	x, err := v.PermitSession(row, id)
	if err != nil {
		return nil, err
	}
	switch {
	case by.Kind == commands.ActorSession && !itself && x.CreatedBy != by.Source():
		return nil, &commands.Refusal{
			Code:    commands.CodeNotAllowed,
			Rule:    row,
			Message: "Session '" + by.Name + "' did not spawn session '" + x.ID + "' itself",
			Why:     "an orchestrator gets only the secrets of the sessions that it spawned itself",
			Next:    "ask the user",
		}
	case x.Ended() && by.Kind != commands.ActorRunner:
		return nil, &commands.Refusal{
			Code:    commands.CodeNotAllowed,
			Rule:    row,
			Message: commands.HasEnded(x),
			Why:     "its status is " + string(x.Status),
			Next:    "spawn another session: `" + v.Successor(x) + "`",
		}
	}
	return x, nil
}
