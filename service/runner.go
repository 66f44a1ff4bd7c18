package service

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"maestro/commands"
	"maestro/projections"
	"maestro/service/wire"
)

// speaksFor is between the name of a runner and its session in the credential of a supervisor. No id has it.
const speaksFor = "~"

// RunnerToken returns the credential of a runner: for all sessions that are assigned to it, or of a supervisor, for one
// session and a generation of its secret. Without a session, the generation is [FirstGeneration]. Like a session's
// secret it is derived, never stored.
func RunnerToken(serverKey []byte, runner, session string, generation int) string {
	if session != "" {
		runner += speaksFor + session
	}
	return newSigner(serverKey).token(wire.RunnerTokenPrefix, runner, strconv.Itoa(generation))
}

// runner determines the caller that the credential of a runner identifies.
func (a authenticator) runner(c *Caller, name string, generation int) error {
	runner, session, supervises := strings.Cut(name, speaksFor)
	c.By = commands.RunnerActor(runner, commands.AuthnToken)
	if !supervises {
		return nil
	}
	c.By.Speaks, c.By.Generation = session, generation
	revoked := false
	a.handler.View(func(s *projections.State) {
		x := s.Session(session)
		revoked = x != nil && x.Generation != generation
	})
	if revoked {
		return NotAuthenticated("The credential was revoked", "the session was resumed, or has a new secret", true)
	}
	return nil
}

// runnerReads are the rows by which a runner reads a session: the session, its timeline and its mail, its manifest with
// the workflow, and its secret.
var runnerReads = []string{"session:info", "manifest:show", rowOfSecret}

// assigned returns a session that a runner may read: its credential speaks for the session, or the session is assigned
// to it.
func (v View) assigned(row, id string) (*projections.Session, error) {
	by := v.Caller.By
	if err := v.Permit("whoami", ""); err != nil {
		return nil, err
	}
	if !slices.Contains(runnerReads, row) {
		return nil, v.Permit(row, "")
	}
	x := v.Session(id)
	switch {
	case x == nil:
		return nil, NotFound("Session", id)
	case !speaks(by, x):
		return nil, &commands.Refusal{
			Code:    commands.CodeNotAllowed,
			Rule:    row,
			Message: "Runner '" + by.Name + "' may not read session '" + x.ID + "'",
			Why:     "a runner reads the sessions that are assigned to it",
			Next:    "claim the session first",
		}
	}
	return x, nil
}

// speaks reports whether a runner speaks for a session.
func speaks(by commands.Actor, x *projections.Session) bool {
	if by.Kind != commands.ActorRunner {
		return false
	}
	return by.Speaks == x.ID || by.Speaks == "" && x.IsAssigned(by.Name)
}

// GetRunnerCredential returns the credential of a supervisor: a runner that speaks for one session. A runner gets that
// of the sessions that are assigned to it. Whoever may have the session's secret gets that of the runner terminal, to
// launch the agent by hand; the session itself only while no runner has it, because its agent may be the one that asks.
func (v View) GetRunnerCredential(in *wire.RunnerCredentialOf) (wire.RunnerCredential, error) {
	by := v.Caller.By
	own := projections.TerminalRunner
	if by.Kind == commands.ActorRunner {
		own = by.Name
	}
	runner := cmp.Or(in.Runner, own)
	if runner != own {
		refusal := &commands.Refusal{
			Code:    commands.CodeNotAllowed,
			Rule:    rowOfSecret,
			Message: "This credential is not for runner '" + runner + "'",
			Why:     "a runner gets its own credentials, and everybody else gets those of the runner " + own,
			Next:    "leave the runner out",
			Pointer: "/runner",
		}
		return wire.RunnerCredential{}, refusal
	}
	x, err := v.withSecret(in.ID)
	if err != nil {
		return wire.RunnerCredential{}, err
	}
	if by.Kind == commands.ActorSession && by.Name == x.ID && x.Claimed() {
		return wire.RunnerCredential{}, &commands.Refusal{
			Code:    commands.CodeNotAllowed,
			Rule:    rowOfSecret,
			Message: "Session '" + x.ID + "' has a runner: '" + x.LastRun().Runner + "'",
			Why:     "an agent does not speak for its own runner",
			Next:    "leave it to the runner",
		}
	}
	return wire.RunnerCredential{
		SessionID: x.ID,
		Runner:    runner,
		Token:     RunnerToken(v.Service.Keys.ServerKey, runner, x.ID, x.Generation),
	}, nil
}
