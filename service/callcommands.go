package service

import (
	"context"

	"maestro/commands"
	"maestro/engine"
)

// A call may come to several commands. Each is paid for like a call of its own, whichever route brings it: no command
// reaches the Handler but through bring.

// addBodyBytes hands a command to the Handler, or tries it. It pays for one that the call has not paid for yet.
func (s *Service) bring(ctx context.Context, c *Caller, request engine.Request, dryRun bool) (engine.Answer, error) {
	if err := s.payAhead(ctx, c, 1); err != nil {
		return engine.Answer{}, err
	}
	c.admission.came++
	if dryRun {
		return s.try(ctx, c, request)
	}
	return s.Handler.Do(ctx, request)
}

// triesAtOnce is how many commands are tried at once: a commit waits for those that are being tried.
const triesAtOnce = 1

// try tries a command when it is the call's turn: the writer waits for those that are being tried.
func (s *Service) try(ctx context.Context, c *Caller, request engine.Request) (engine.Answer, error) {
	place, err := s.trying.take(ctx, c)
	if err != nil {
		return engine.Answer{}, err
	}
	defer place.leave()
	return s.Handler.Try(request)
}

// share names those with whom a caller takes turns in the writer: the sessions of a root, or the credential.
func (c *Caller) share() string {
	if c.By.Kind == commands.ActorSession && c.Root != "" {
		return c.Root
	}
	return AccountName(c.By)
}

// payAhead pays for the next n commands of a call, as far as it has not, or refuses the call.
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

// payCommands pays for n commands beside the first. What is more than can be paid at once, which is a burst without the
// first, is owed: else a call of so many could never be made.
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

// paying are the accounts that rates are taken of.
func (a *Admission) paying() []*account {
	if a.project == nil {
		return []*account{a.credential}
	}
	return []*account{a.credential, a.project}
}

// returnUnused returns back what was paid for commands that the call did not come to. The call itself costs one.
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

// ReserveCommands lets a call through that comes to n commands, before it has done any of them, and pays for all: then
// none of them fails for a quota. It fails with a *commands.Refusal above the limit call-commands.
func (s *Service) ReserveCommands(ctx context.Context, c *Caller, n int) error {
	if err := commands.CheckCall(n); err != nil {
		return err
	}
	if c.admission == nil { // then each is a call of its own
		return nil
	}
	return s.payAhead(ctx, c, n)
}

// severalBelow is Several for a command that is done to all living sessions below one too. What the command alone is
// refused for, its decision says. A user may end any number of them. A dry run pays for none of them.
func (s *Service) severalBelow(ctx context.Context, c *Caller, request engine.Request, o Options) error {
	root, _ := treeCommand(request.Command)
	if !o.Tree || root == "" {
		return nil
	}
	if _, err := s.try(ctx, c, request); err != nil {
		return nil //nolint:nilerr // the decision says the same, and its refusal is recorded
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
