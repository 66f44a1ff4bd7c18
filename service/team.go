package service

import (
	"cmp"
	"context"
	"errors"

	"maestro/commands"
	"maestro/service/wire"
)

// checkAll refuses ?all=true for a command that is not for a team, or that names its session.
func checkAll(command commands.Command, o Options) error {
	if !o.All {
		return nil
	}
	if x, ok := command.(commands.ForTeam); ok {
		if _, ok = x.Team(); ok {
			return nil
		}
	}
	return InvalidRequest("", "all is for a message to sessions, without a sessionId")
}

// toTeam executes a command for each session at work of a team: those that the caller leads, or for a user those of a
// project. Each is a command of its own with a key derived from the request's, so that a refusal for one does not
// affect the others, and a repeated request writes to nobody twice.
func (s *Service) toTeam(ctx context.Context, c *Caller, command commands.Command, a Call) (Done, error) {
	all := command.(commands.ForTeam) // checkAll passed
	project, _ := all.Team()
	team, err := s.team(ctx, c, all.ID(), project)
	if err != nil {
		return Done{}, err
	}
	if a.DryRun {
		err = commands.CheckCall(len(team))
	} else if ClassOf(c.By) != ClassAdmin {
		err = s.ReserveCommands(ctx, c, len(team))
	}
	if err != nil {
		return Done{}, err
	}
	done := Done{Team: &wire.Team{Sent: []string{}, Names: map[string]string{}}}
	var refused error
	for _, x := range team {
		id := x.Session.ID
		if x.Session.Name != "" {
			done.Team.Names[id] = x.Session.Name
		}
		its := a
		its.All, its.Suffix = false, a.Suffix+"-"+id
		said, err := s.decide(ctx, c, all.For(id), nil, its)
		var refusal *commands.Refusal
		switch {
		case err == nil:
			done.Team.Sent = append(done.Team.Sent, id)
			done.Sequence = said.Sequence
			done.Warnings = append(done.Warnings, said.Warnings...)
		case errors.As(err, &refusal):
			refused = cmp.Or[error](refused, err)
			done.Team.NotSent = append(done.Team.NotSent, wire.NotSent{SessionID: id, Message: refusal.Message})
		default:
			return Done{}, err
		}
	}
	if len(done.Team.Sent) == 0 && refused != nil {
		return Done{}, refused
	}
	return done, nil
}

// team returns the sessions at work to which a message to all goes.
func (s *Service) team(ctx context.Context, c *Caller, row, project string) (team []ShownSession, err error) {
	filter := sessionFilter{SessionFilter: &wire.SessionFilter{Active: "true", Living: "true", Brief: "true"}}
	session := c.By.Kind == commands.ActorSession
	switch {
	case session && project != "":
		return nil, InvalidRequest("/project", "a session writes to those that it leads: leave project out")
	case session:
		filter.SpawnedBy = c.By.Name
	case project == "":
		return nil, InvalidRequest("/project", "project is required: all means the sessions at work of a project")
	}
	var projects *seenProjects
	err = s.work(ctx, c, func(v View) (err error) {
		projects, err = v.PermitProjects(row, project)
		return err
	})
	if err != nil {
		return nil, err
	}
	found, err := s.later(ctx, c).findSessions(projects, PageOf{}, &filter)
	if err != nil {
		return nil, err
	}
	for x := range found.Items {
		team = append(team, x)
	}
	if len(team) == 0 && session && s.Permit(c, "session:spawn", c.By.Project) != nil {
		return nil, &commands.Refusal{
			Code:    commands.CodeNotAllowed,
			Rule:    row,
			Message: "Session '" + c.By.Name + "' leads no session that a message to all could go to",
			Why:     "it goes to the sessions that the caller spawned, and this one may spawn none",
			Next:    "write to the session that spawned you: `maestro session message parent \"<text>\"`",
		}
	}
	return team, nil
}
