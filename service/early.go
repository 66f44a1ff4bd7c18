package service

import (
	"context"
	"errors"

	"maestro/commands"
	"maestro/engine"
)

const (
	// earlyFrom is the body length from which a body is not read if the caller may not use the command. A shorter body
	// costs little to read, and lets the recorded refusal name the command's target.
	earlyFrom = 16 << 10
	// earlyKeptFrom is the same for a command that waited in an outbox: the recorded refusal holds its text.
	earlyKeptFrom = 128 << 10
)

// PermitEarly refuses, before the body is read, what the table refuses whatever the body says. It returns nil if the
// body matters. length is the length of the body, negative if unknown.
func (s *Service) PermitEarly(ctx context.Context, c *Caller, id string, length int64) (err error) {
	most := int64(earlyFrom)
	if !c.Meta.OccurredAt.IsZero() {
		most = earlyKeptFrom
	}
	if length >= 0 && length <= most {
		return nil
	}
	return s.permitAnywhere(ctx, c, id)
}

// permitAnywhere checks the part of the table that needs no project. It lets the retry of a command that became an
// event through: the caller gets its answer, whatever it may do by now.
func (s *Service) permitAnywhere(ctx context.Context, c *Caller, id string) (err error) {
	row, known := commands.CurrentRules().Row(id)
	if !known || !row.Write {
		return nil
	}
	if row.Alias != "" {
		id = row.Alias
	}
	failed := s.work(ctx, c, func(v View) error {
		if err = v.Permit(row.ID, ""); err != nil && c.Meta.Named && v.retried(id) {
			err = nil
		}
		return nil
	})
	if failed != nil {
		return failed
	}
	return err
}

// stepsPerEventID is the cost of computing an event id, in steps.
const stepsPerEventID = 5

// retried reports whether a command with the caller's key became an event already. While its body is unread, the
// command may be of any project that the caller may have written to: none, its own, or one that it created. A caller
// that is not a session wrote to none where the table refuses it now.
func (v View) retried(id string) bool {
	by := v.Caller.By
	if by.Kind != commands.ActorSession {
		return false
	}
	done := func(project string) bool {
		v.Worked(stepsPerEventID)
		_, known := v.Accepted(engine.EventID(by, project, id, v.Caller.Meta.Key))
		return known
	}
	if done("") || done(by.Project) {
		return true
	}
	for _, project := range v.RootUsage(v.Root(by.Project)).Projects {
		if p := v.Project(project); p != nil && p.CreatedBy == by.Source() && done(project) {
			return true
		}
	}
	return false
}

// refusedEarly records a refusal that no Handler decides, except that of a dry run.
func (s *Service) refusedEarly(ctx context.Context, c *Caller, err error, dryRun bool) error {
	if dryRun {
		return err
	}
	return s.RecordRefusal(ctx, c, err)
}

// permissionFirst answers a caller whose body cannot be read with the table's refusal, if there is one: the fault of
// the body is of no use to such a caller.
func (s *Service) permissionFirst(ctx context.Context, c *Caller, id string, dryRun bool, wrong error) error {
	var refusal *commands.Refusal
	if !errors.As(wrong, &refusal) || refusal.Code == commands.CodeNotFound {
		return wrong
	}
	if err := s.permitAnywhere(ctx, c, id); err != nil {
		return s.refusedEarly(ctx, c, err, dryRun)
	}
	return wrong
}
