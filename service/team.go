package service

import (
	"cmp"
	"context"
	"errors"
	"strconv"

	"maestro/commands"
	"maestro/internal/safetext"
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
// affect the others. A repeated request writes to nobody twice; it also reaches sessions that joined in the meantime.
func (s *Service) toTeam(ctx context.Context, c *Caller, command commands.Command, a Call) (Done, error) {
	if err := commands.ValidLine(commands.KeyName, c.Meta.Key, commands.MaxKey); err != nil {
		return Done{}, err
	}
	all := command.(commands.ForTeam) // checkAll passed
	project, _ := all.Team()
	team, err := s.team(ctx, c, all.ID(), project)
	if err != nil {
		return Done{}, s.refusedEarly(ctx, c, err, a.DryRun)
	}
	switch {
	case ClassOf(c.By) == ClassAdmin: // a user may write to any number of sessions
	case a.DryRun:
		err = commands.CheckCall(len(team))
	default:
		err = s.ReserveCommands(ctx, c, len(team))
	}
	if err != nil {
		return Done{}, s.refusedEarly(ctx, c, err, a.DryRun)
	}
	done := Done{Team: &wire.Team{Sent: []string{}, Names: map[string]string{}}}
	done.Sequence, done.Retried = s.Head(), len(team) > 0
	var refused error
	for _, x := range team {
		id := x.id
		if x.name != "" {
			done.Team.Names[id] = x.name
		}
		its := a
		its.All, its.key = false, keyOf(c.Meta.Key+a.Suffix, id)
		said, err := s.decide(ctx, c, all.For(id), nil, its)
		var refusal *commands.Refusal
		switch {
		case err == nil:
			done.Team.Sent = append(done.Team.Sent, id)
			done.Sequence, done.Retried = said.Sequence, done.Retried && said.Retried
			done.Warnings = append(done.Warnings, said.Warnings...)
		case errors.As(err, &refusal):
			if refusal.Code == commands.CodeKeyReused { // it names the key of the one command
				refusal = reusedKey(c, all)
			}
			refused = cmp.Or[error](refused, refusal)
			done.Team.NotSent = append(done.Team.NotSent, wire.NotSent{SessionID: id, Message: refusal.Message})
		default:
			return Done{}, err
		}
	}
	if len(done.Team.Sent) == 0 && refused != nil {
		return Done{}, refused
	}
	if more := len(done.Warnings) - teamWarned; more > 0 {
		done.Warnings = append(done.Warnings[:teamWarned],
			strconv.Itoa(more)+" more warnings are not shown")
	}
	return done, nil
}

// teamWarned is how many warnings about the sessions of a team are shown: a large team has as many similar ones.
const teamWarned = 5

// reusedKey refuses a message with a key that the caller used for another one.
func reusedKey(c *Caller, command commands.Command) *commands.Refusal {
	return &commands.Refusal{
		Code: commands.CodeKeyReused,
		Message: "The key '" + safetext.Printable(c.Meta.Key) + "' was used for another " + command.ID() +
			" command",
		Why:  "one key is one command",
		Next: "use a new key",
	}
}

// member is a session of a team.
type member struct{ id, name string }

// team returns the sessions at work to which a message to all goes.
func (s *Service) team(ctx context.Context, c *Caller, row, project string) (team []member, err error) {
	filter := sessionFilter{SessionFilter: &wire.SessionFilter{Active: "true", Living: "true"}}
	session := c.By.Kind == commands.ActorSession
	switch {
	case session && project != "":
		return nil, InvalidRequest("/project", "a session writes to those that it leads: leave the project out")
	case session:
		filter.SpawnedBy = c.By.Name
	case project == "":
		return nil, InvalidRequest("/project", "project is required: all means the sessions at work of a project")
	}
	var projects, rest []string
	err = s.work(ctx, c, func(v View) error {
		seen, err := v.PermitProjects(row, project)
		if err == nil {
			projects = seen.meant()
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	err = s.workOn(ctx, c, func(v View, until uint64) (done bool, err error) {
		for v.Steps() < until {
			switch {
			case len(rest) > 0:
				x := v.Session(rest[0])
				rest = rest[1:]
				v.Worked(1)
				if x != nil && filter.passes(v, x) && v.Permit(row, x.ProjectID) == nil {
					team = append(team, member{x.ID, x.Name})
				}
			case len(projects) > 0:
				rest = v.SessionIDsFrom(projects[0], 0)
				projects = projects[1:]
				v.Worked(1)
			default:
				return true, nil
			}
		}
		return false, nil
	})
	if err != nil {
		return nil, err
	}
	if len(team) == 0 && session && s.Permit(c, "session:spawn", c.By.Project) != nil {
		return nil, &commands.Refusal{
			Code:    commands.CodeNotAllowed,
			Rule:    row,
			Message: "Session '" + c.By.Name + "' leads no session that a message to all could go to",
			Why:     "it goes to the sessions that the caller leads, and this one may spawn none",
			Next:    "write to the session that spawned you: `maestro session message parent \"<text>\"`",
		}
	}
	return team, nil
}
