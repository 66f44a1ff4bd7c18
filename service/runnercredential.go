package service

import (
	"cmp"
	"strconv"
	"strings"

	"maestro/commands"
	"maestro/internal/safetext"
	"maestro/projections"
	"maestro/service/wire"
)

// RunnerToken returns the credential of a runner, which speaks for all of its sessions. It is derived, like that of a
// session, and only given to the runner inside the server.
func (s *Service) RunnerToken(name string) string { return s.runnerToken(name, "", FirstGeneration) }

// runnerToken returns a credential of a runner. With a session, it speaks for that session alone, until its secret is
// revoked.
func (s *Service) runnerToken(name, session string, generation int) string {
	return newSigner(s.Keys.ServerKey).token(wire.RunnerTokenPrefix, name+"/"+session, strconv.Itoa(generation))
}

// runner identifies a runner. Of a session that never existed, the generation does not matter: it may do nothing.
func (a authenticator) runner(c *Caller, named string, generation int) error {
	name, session, _ := strings.Cut(named, "/")
	c.By = commands.Actor{
		Kind:       commands.ActorRunner,
		Name:       name,
		Speaks:     session,
		Generation: generation,
		Authn:      commands.AuthnToken,
	}
	if session == "" {
		c.By.Generation = 0 // none revokes it
		return nil
	}
	good := generation
	a.handler.View(func(s *projections.State) {
		if x := s.Session(session); x != nil {
			good, c.Root = x.Generation, s.Root(x.ProjectID)
		}
	})
	if generation != good {
		return NotAuthenticated("The token was revoked", "the session was resumed, or its secret was revoked", true)
	}
	return nil
}

// GetRunnerCredential returns a credential with which the supervisor of a session speaks as a runner: as the caller's
// own runner, or as the one in a terminal for a caller that may have the session's secret.
func (v View) GetRunnerCredential(in *wire.RunnerOf) (wire.Credential, error) {
	given, err := v.GetCredential(&wire.SessionID{ID: in.ID})
	if err != nil {
		return wire.Credential{}, err
	}
	name := cmp.Or(in.Runner, wire.TerminalRunner)
	by := v.Caller.By
	if own := by.Kind == commands.ActorRunner && by.Name == name; !own && name != wire.TerminalRunner {
		return wire.Credential{}, &commands.Refusal{
			Code:    commands.CodeNotAllowed,
			Rule:    "session:claim",
			Message: "No credential of runner '" + safetext.Printable(name) + "' is given to " + by.String(),
			Why:     "a runner has a credential of its own",
			Next:    "use runner=" + wire.TerminalRunner + " to launch the agent yourself",
		}
	}
	x := v.Session(in.ID)
	given.Token, given.Env = v.Service.runnerToken(name, x.ID, x.Generation), nil
	return given, nil
}
