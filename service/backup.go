package service

import (
	"context"
	"io"

	"maestro/commands"
	"maestro/events"
	"maestro/projections"
)

const backupRefused = "No backup was made"

// WriteBackup writes an archive of everything up to the present head, which it passes to begin first.
func (s *Service) WriteBackup(ctx context.Context, c *Caller, w io.Writer, begin func(head events.Head)) error {
	return s.copying(ctx, c, "backup", func(ctx context.Context) error {
		head, err := s.mayBackup(ctx, c)
		if err != nil {
			return err
		}
		begin(head)
		if err := s.Backup(ctx, w, head); err != nil {
			return s.DamageProblem(ctx, backupRefused, err)
		}
		return nil
	})
}

// mayBackup returns the head of the backup, if the caller may make one now. A backup holds every secret that agents
// ever wrote, so only the admin may make one.
func (s *Service) mayBackup(ctx context.Context, c *Caller) (head events.Head, err error) {
	exports := false
	s.Handler.View(func(state *projections.State) {
		head = state.Head()
		err = s.At(state, c).Permit("audit:export", "")
		exports = err == nil
	})
	isAdmin := c.By.Access == commands.AccessAdmin
	if exports && isAdmin {
		err = s.RequireIntactLog(ctx, backupRefused)
	}
	switch {
	case c.By.Kind == commands.ActorUser && !isAdmin:
		next := "use the admin token"
		if exports {
			next += "; `maestro audit export` writes the log, which this token may read"
		}
		return head, &Problem{
			Kind:    KindNotAllowed,
			Code:    string(commands.CodeNotAllowed),
			Message: "A backup is not allowed for " + c.By.String(),
			Why: "the home's key signs it for whoever restores it, and it also holds the long texts that no event " +
				"names: only the admin token may make one",
			Next: next,
			Rule: "audit:export",
		}
	case err != nil:
		return head, err
	case s.Backup == nil:
		return head, &Problem{
			Kind:    KindUnavailable,
			Code:    "READ_ONLY",
			Message: "A read-only server makes no backup",
			Why:     "the server was started with --read-only, and writes and signs nothing",
			Next:    "stop it, start it without --read-only, and make the backup then",
		}
	}
	return head, nil
}
