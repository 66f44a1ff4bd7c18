package service

import (
	"context"
	"errors"

	"maestro/commands"
	"maestro/engine"
	"maestro/projections"
)

const (
	// earlyFrom is the length from which the body of a caller who may not use the command is not read: up to there
	// reading it costs little, and the recorded refusal names what the command was about.
	earlyFrom = 16 << 10
	// earlyKeptFrom is the same for a command that waited in an outbox: the recorded refusal holds its text.
	earlyKeptFrom = 128 << 10
)

// PermitEarly refuses, before the body is read, what the table refuses whatever the body says: nil if the body
// counts. length is the body's, below 0 if unknown.
func (s *Service) PermitEarly(c *Caller, id string, length int64) (err error) {
	most := int64(earlyFrom)
	if !c.Meta.OccurredAt.IsZero() {
		most = earlyKeptFrom
	}
	if length >= 0 && length <= most {
		return nil
	}
	return s.permitAnywhere(c, id)
}

// permitAnywhere asks the part of the table that needs no project. The retry of a command that became an event is let
// through: it gets its answer, whatever its caller may do by now.
func (s *Service) permitAnywhere(c *Caller, id string) (err error) {
	row, known := commands.CurrentRules().Row(id)
	if !known || !row.Write {
		return nil
	}
	if row.Alias != "" {
		id = row.Alias
	}
	s.Handler.View(func(state *projections.State) {
		if err = s.At(state, c).Permit(row.ID, ""); err == nil || !c.Meta.Named {
			return
		}
		done := func(project string) bool {
			_, known := state.Accepted(engine.EventID(c.By, project, id, c.Meta.Key))
			return known
		}
		retried := done("") || done(c.By.Project)
		for p := range state.Projects() {
			retried = retried || done(p.ID)
		}
		if retried {
			err = nil
		}
	})
	return err
}

// refusedEarly records a refusal that no Handler decides; that of a dry run is not recorded.
func (s *Service) refusedEarly(ctx context.Context, c *Caller, err error, dryRun bool) error {
	if dryRun {
		return err
	}
	return s.RecordRefusal(ctx, c, err)
}

// permissionFirst answers a caller whose body cannot be read with what the table says, if it refuses the command:
// what is wrong with the body is of no use to that caller.
func (s *Service) permissionFirst(ctx context.Context, c *Caller, id string, dryRun bool, wrong error) error {
	var refusal *commands.Refusal
	if !errors.As(wrong, &refusal) || refusal.Code == commands.CodeNotFound {
		return wrong
	}
	if err := s.permitAnywhere(c, id); err != nil {
		return s.refusedEarly(ctx, c, err, dryRun)
	}
	return wrong
}
