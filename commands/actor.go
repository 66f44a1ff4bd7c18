package commands

import (
	"fmt"
	"strings"

	"maestro/events"
	"maestro/projections"
)

// ActorKind is the kind of a caller.
type ActorKind string

// The kinds of actor.
const (
	ActorUser    ActorKind = "user"
	ActorSession ActorKind = "session"
	ActorRunner  ActorKind = "runner"
	ActorSystem  ActorKind = "system"
)

// Access is the kind of a user's token.
type Access string

// The kinds of token: an admin may do what the table gives the user, an auditor reads everything, a reader reads its
// projects.
const (
	AccessAdmin    Access = "admin"
	AccessAuditor  Access = "auditor"
	AccessReadOnly Access = "read-only"
)

// Actor is a caller, identified by the credential alone.
type Actor struct {
	Kind ActorKind
	// Name is the name of the token, or the id of the session or the runner.
	Name string
	// Project is a session's project.
	Project string
	// Access is the kind of a user's token; Projects are those that a reader may read.
	Access   Access
	Projects []string
	// Generation is that of the secret that the caller showed; 0 if it needs none, as with the home's token.
	Generation int
	// Speaks is the only session that a supervisor's credential speaks for, "" for all of its runner's. Generation is
	// then that of the session.
	Speaks string
	// Authn says how it was authenticated: AuthnToken, AuthnSocket or AuthnNone.
	Authn string
}

// The ways to authenticate an actor.
const (
	AuthnToken  = "token"
	AuthnSocket = "socket"
	AuthnNone   = "none"
)

// Admin returns the user that the admin token stands for.
func Admin(authn string) Actor {
	return Actor{
		Kind:   ActorUser,
		Name:   "admin",
		Access: AccessAdmin,
		Authn:  authn,
	}
}

// System returns the actor of what time causes. Nobody authenticates it.
func System() Actor { return Actor{Kind: ActorSystem} }

// SessionActor returns a session as an actor.
func SessionActor(project, id, authn string) Actor {
	return Actor{
		Kind:    ActorSession,
		Name:    id,
		Project: project,
		Authn:   authn,
	}
}

// Current returns the actor with the generation that is valid in a state: an event in the log does not say which it
// was.
func (a Actor) Current(s *projections.State) Actor {
	switch a.Kind {
	case ActorUser:
		if token := s.Token(a.Name); token != nil {
			a.Generation = token.Generation
		}
	case ActorSession:
		if x := s.Session(a.Name); x != nil {
			a.Generation = x.Generation
		}
	case ActorRunner:
		if x := s.Session(a.Speaks); x != nil {
			a.Generation = x.Generation
		}
	case ActorSystem:
	}
	return a
}

// RunnerActor returns a runner as an actor.
func RunnerActor(name, authn string) Actor { return Actor{Kind: ActorRunner, Name: name, Authn: authn} }

// Source returns the source attribute of the events that the actor causes.
func (a Actor) Source() string {
	switch a.Kind {
	case ActorUser:
		return "/users/" + a.Name
	case ActorSession:
		return projections.SessionSource(a.Project, a.Name)
	case ActorRunner:
		return projections.RunnersPrefix + a.Name
	case ActorSystem:
	}
	return "/system"
}

// String names the actor for people.
func (a Actor) String() string {
	if a.Kind == ActorSystem {
		return "the system"
	}
	return string(a.Kind) + " " + a.Name
}

// ActorOf returns the actor of an event. Only an admin's token writes, so a user is an admin.
func ActorOf(e *events.Event) (Actor, error) {
	if project, session, ok := projections.SessionOfSource(e.Source); ok {
		return SessionActor(project, session, e.Authn), nil
	}
	if name, ok := strings.CutPrefix(e.Source, "/users/"); ok {
		return Actor{
			Kind:   ActorUser,
			Name:   name,
			Access: AccessAdmin,
			Authn:  e.Authn,
		}, nil
	}
	if name, ok := projections.RunnerOfSource(e.Source); ok {
		return RunnerActor(name, e.Authn), nil
	}
	if e.Source == "/system" {
		return Actor{Kind: ActorSystem, Authn: e.Authn}, nil
	}
	return Actor{}, fmt.Errorf("event %s has the source %q, an unknown actor", e.ID, e.Source)
}
