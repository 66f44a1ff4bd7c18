package service

import (
	"maestro/commands"
	"maestro/service/wire"
)

// GetCredential returns the secret of a session that has not ended, with the rest of its environment. It is for the
// user, for the session itself, and for the orchestrator that directly spawned the session: a session that the user
// spawned for an orchestrator may have permissions that the orchestrator lacks. What [Caller.SeesEnv] says of the
// environment holds here too.
func (v View) GetCredential(in *wire.SessionID) (wire.Credential, error) {
	by := v.Caller.By
	itself := by.Kind == commands.ActorSession && by.Name == in.ID
	row := "session:spawn"
	switch {
	case itself:
		row = "whoami"
	case by.Kind == commands.ActorRunner:
		row = "session:claim"
	}
	x, err := v.PermitSession(row, in.ID)
	if err != nil {
		return wire.Credential{}, err
	}
	switch {
	case by.Kind == commands.ActorSession && !itself && x.CreatedBy != by.Source():
		return wire.Credential{}, &commands.Refusal{
			Code:    commands.CodeNotAllowed,
			Rule:    row,
			Message: "Session '" + by.Name + "' did not spawn session '" + x.ID + "' itself",
			Why:     "an orchestrator gets only the secrets of the sessions that it spawned itself",
			Next:    "ask the user",
		}
	case by.Kind == commands.ActorRunner && !x.IsAssigned(by.Name):
		return wire.Credential{}, &commands.Refusal{
			Code:    commands.CodeNotAllowed,
			Rule:    row,
			Message: "Session '" + x.ID + "' is not assigned to runner '" + by.Name + "'",
			Why:     "a runner gets only the secrets of the sessions that it runs",
			Next:    "end what this runner runs of it",
		}
	case x.Ended():
		return wire.Credential{}, &commands.Refusal{
			Code:    commands.CodeNotAllowed,
			Rule:    row,
			Message: commands.HasEnded(x),
			Why:     "its status is " + string(x.Status),
			Next:    "spawn another session: `" + v.Successor(x) + "`",
		}
	}
	given := wire.Credential{
		SessionID: x.ID,
		ProjectID: x.ProjectID,
		Strategy:  x.Strategy,
		Token:     SessionToken(v.Service.Keys.ServerKey, x.ID, x.Generation),
	}
	if v.Caller.SeesEnv(x) {
		given.Env = x.CommandEnv()
	}
	return given, nil
}
