package service

import (
	"context"

	"maestro/commands"
	"maestro/engine"
)

// A call may produce several commands. Each is paid for like a call of its own, whichever route it came by: every
// command reaches the Handler through execute.

// execute passes a command to the Handler, or tries it. It pays for a command that the call has not paid for yet.
func (s *Service) execute(ctx context.Context, c *Caller, request engine.Request, dryRun bool) (engine.Answer, error) {
	if err := s.payAhead(ctx, c, 1); err != nil {
		return engine.Answer{}, err
	}
	c.admission.came++
	if dryRun {
		return s.try(ctx, c, request)
	}
	return s.Handler.Do(ctx, request)
}

// triesAtOnce bounds concurrent dry runs: a commit waits for those that are running.
const triesAtOnce = 1

// try runs a dry run when it is the call's turn, because the writer waits for dry runs in progress.
func (s *Service) try(
	ctx context.Context, c *Caller, request engine.Request, after ...commands.Command,
) (engine.Answer, error) {
	place, err := s.trying.take(ctx, c)
	if err != nil {
		return engine.Answer{}, err
	}
	defer place.leave()
	return s.Handler.Try(request, after...)
}

// share names the group in which a caller takes turns in the writer: the sessions of a root, or the credential.
func (c *Caller) share() string {
	if c.By.Kind == commands.ActorSession && c.Root != "" {
		return c.Root
	}
	return AccountName(c.By)
}

// payAhead pays for the next n commands of a call, unless they are paid already, or refuses the call.
func (s *Service) payAhead(ctx context.Context, c *Caller, n int) error {
	a := c.admission
	missing := a.came + n - a.paid
	if missing <= 0 {
		return nil
	}
	if over := a.payCommands(float64(missing)); over != nil {
		return s.over(ctx, c, over)
	}
	a.paid += missing
	return nil
}

// payCommands pays for n commands after the first. What exceeds a burst, less the first command, is owed: otherwise a
// call with that many commands could never be made.
func (a *Admission) payCommands(n float64) *overLimit {
	accounts := a.paying()
	atOnce := func(account *account) float64 {
		return min(n, max(a.ledger.quotas[account.class][useCommands].Burst-1, 0))
	}
	for i, account := range accounts {
		if over := a.ledger.take(account, useCommands, atOnce(account)); over != nil {
			for _, paid := range accounts[:i] {
				a.ledger.giveBack(paid, useCommands, atOnce(paid))
			}
			return over
		}
	}
	for _, account := range accounts {
		if owed := n - atOnce(account); owed > 0 {
			a.ledger.charge(account, useCommands, owed)
		}
	}
	return nil
}

// paying returns the accounts whose rates pay for the call.
func (a *Admission) paying() []*account {
	if a.project == nil {
		return []*account{a.credential}
	}
	return []*account{a.credential, a.project}
}

// returnUnused gives back what was paid for commands that the call did not reach. The call itself costs one.
func (a *Admission) returnUnused() {
	unused := a.paid - max(a.came, 1)
	if unused <= 0 {
		return
	}
	for _, account := range a.paying() {
		a.ledger.giveBack(account, useCommands, float64(unused))
	}
	a.paid -= unused
}

// ReserveCommands admits a call that consists of n commands before the first one runs, and pays for all of them, so
// that none fails because of a quota. It fails with a *commands.Refusal above the limit call-commands.
func (s *Service) ReserveCommands(ctx context.Context, c *Caller, n int) error {
	if err := commands.CheckCall(n); err != nil {
		return err
	}
	if c.admission == nil { // then each command is a call of its own
		return nil
	}
	return s.payAhead(ctx, c, n)
}

// severalBelow reserves the commands of a call that also applies to all living sessions below one. It leaves a refusal
// of the command itself to the decision. A user may end any number of sessions. A dry run pays for none.
func (s *Service) severalBelow(ctx context.Context, c *Caller, request engine.Request, o Options) error {
	root, _ := treeCommand(request.Command)
	if !o.Tree || root == "" {
		return nil
	}
	if _, err := s.try(ctx, c, request); err != nil {
		return nil //nolint:nilerr // the decision refuses it too, and records the refusal
	}
	if ClassOf(c.By) == ClassAdmin {
		return nil
	}
	living, err := s.livingBelow(ctx, c, root)
	if err != nil {
		return err
	}
	if o.DryRun {
		return commands.CheckCall(1 + len(living))
	}
	return s.ReserveCommands(ctx, c, 1+len(living))
}
