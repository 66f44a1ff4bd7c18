package service

import (
	"context"
	"sync/atomic"

	"maestro/commands"
)

// Admission comes before permission. It decides nothing, records no refusal, and leaves nothing in the log. Whoever is
// over a limit gets a Problem of KindBusy; nothing has happened, and the same call may be made again.

// Demand is the part of a call's use that is known in advance.
type Demand struct {
	// Writes says that it is a command, not a read. Bytes are those of its body.
	Writes bool
	Bytes  int64
	// ReadsLog says that its work grows with the log.
	ReadsLog bool
}

// Admission is what a call holds in the accounts that it counts against.
type Admission struct {
	service *Service
	ledger  *ledger
	who     commands.Actor
	// credential is the caller's account, project that of the root of a session's project or nil.
	credential, project *account
	// made is what it paid for the things that its command creates.
	made demand
	// paid are the commands that it paid for, came those that it came to so far.
	paid, came int
	// counted is which of its resources the call is in.
	counted resource
	// answered are the bytes that it has rendered and not yet written, brought those of its body.
	answered, brought int64
	// paidBytes are those that it paid for before its body came.
	paidBytes int64
	// answers is the rate that its answer is paid for with: the one that the next such call needs.
	answers resource
	// readBytes are those of long texts that were charged when they were read.
	readBytes int64
	// steps are those of work that the call was charged for.
	steps atomic.Int64
	// looked are the steps of reading that are not charged yet: less than one read.
	looked int
}

// demand is how much of each rate a call uses.
type demand [rates]float64

func (d Demand) rates() (used demand) {
	if !d.Writes {
		used[useReads] = 1
		return used
	}
	used[useCommands], used[useBytes] = 1, float64(d.Bytes)
	return used
}

// Admit lets a call in, or refuses it with a Problem of KindBusy. A call that was admitted must leave. An interface
// admits each call before it reads what is asked for; Do and all that waits admit a call that was not.
func (s *Service) Admit(ctx context.Context, c *Caller, d Demand) (*Admission, error) {
	a := s.accountsOf(c.By, c.Root, c.Ended)
	a.counted = useParallel
	if d.ReadsLog && !c.Ended { // who has ended may not read the log, so it takes no place of who does
		a.counted = useStreams
	}
	if a.answers = useReads; d.Writes {
		a.answers = useCommands
	}
	used := d.rates()
	a.paidBytes = int64(used[useBytes])
	a.paid = int(used[useCommands])
	over := a.pay(used)
	if over == nil {
		over = a.enter(ctx)
	}
	if over != nil {
		a.letGo()
		return nil, s.overFor(c, c.By, over)
	}
	c.admission = a
	return a, nil
}

// accountsOf returns an admission with the accounts of a caller and of the root of its project. letGo must be called.
func (s *Service) accountsOf(by commands.Actor, root string, ended bool) *Admission {
	a := &Admission{service: s, ledger: s.ledger, who: by}
	a.credential = s.ledger.hold(ClassOf(by), string(by.Kind), " ", by.Name) // AccountName
	switch {
	case by.Kind != commands.ActorSession || by.Project == "":
	case ended: // all of a project that have ended take nothing of those that have not
		a.project = s.ledger.hold(classProject, "ended ", root)
	default:
		a.project = s.ledger.hold(classProject, root)
	}
	return a
}

// admitted is Admit for a call that its interface did not admit. leave must be called.
func (s *Service) admitted(ctx context.Context, c *Caller, d Demand) (leave func(), err error) {
	if c.admission != nil {
		return func() {}, nil
	}
	a, err := s.Admit(ctx, c, d)
	if err != nil {
		c.holdBack(ctx)
		return nil, err
	}
	return func() {
		c.admission = nil
		a.Leave()
	}, nil
}

// AccountName returns the name of a caller's account.
func AccountName(by commands.Actor) string { return string(by.Kind) + " " + by.Name }

// ClassOf returns the class of a caller: an agent is bound more tightly than the user.
func ClassOf(by commands.Actor) Class {
	switch {
	case by.Kind == commands.ActorUser && by.Access == commands.AccessAdmin:
		return ClassAdmin
	case by.Kind == commands.ActorUser:
		return ClassReader
	}
	return ClassSession
}

// pay uses the rates of the caller and of its project, all or none.
func (a *Admission) pay(d demand) *overLimit {
	for _, account := range [...]*account{a.credential, a.project} {
		if account == nil {
			continue
		}
		for r, n := range d {
			if n == 0 {
				continue
			}
			over := a.ledger.take(account, resource(r), n)
			if over == nil {
				continue
			}
			a.refund(d, account, r)
			return over
		}
	}
	return nil
}

// refund returns back what was paid before the payment that failed.
func (a *Admission) refund(d demand, failed *account, at int) {
	for r, n := range d {
		if failed == a.project {
			a.ledger.giveBack(a.credential, resource(r), n)
		}
		if r < at {
			a.ledger.giveBack(failed, resource(r), n)
		}
	}
}

// wait counts the call among those that wait, no longer among those in progress. A call waits only once its body is
// there and its caller may wait, so that who sends slowly, or may not, takes no place of others.
func (a *Admission) wait() *overLimit {
	if a.counted == useWaits {
		return nil
	}
	if over := a.begin(useWaits); over != nil {
		return over
	}
	a.ledger.end(a.credential, useParallel, 1)
	a.counted = useWaits
	return nil
}

// beginWait counts a call among those that wait, or refuses it.
func (s *Service) beginWait(ctx context.Context, c *Caller) error {
	over := c.admission.wait()
	if over == nil {
		return nil
	}
	return s.over(ctx, c, over)
}

// upload pays for bytes that are kept though no event names them yet, or refuses them.
func (s *Service) upload(ctx context.Context, c *Caller, bytes int) error {
	if c.admission == nil {
		return nil
	}
	over := c.admission.pay(demand{useUploads: float64(bytes)})
	if over == nil {
		return nil
	}
	return s.over(ctx, c, over)
}

// worked charges the call for work that was done: steps of deciding, folding or reading, whatever they came to.
func (c *Caller) worked(steps int) {
	if c.admission != nil {
		c.admission.worked(steps)
	}
}

// worked charges the caller and its project for work, as for more commands. What was done is done: the next command
// waits until it is paid.
func (a *Admission) worked(steps int) {
	a.steps.Add(int64(steps))
	n := float64(steps / StepsPerCommand)
	if n == 0 {
		return
	}
	a.ledger.charge(a.credential, useCommands, n)
	if a.project != nil {
		a.ledger.charge(a.project, useCommands, n)
	}
}

// enter counts the call among those in progress.
func (a *Admission) enter(ctx context.Context) *overLimit {
	if a.counted == useParallel {
		return a.ledger.beginInTurn(ctx, a.credential)
	}
	return a.begin(a.counted)
}

// begin counts the call in all accounts that a resource counts against, or in none.
func (a *Admission) begin(r resource) *overLimit { return a.beginAll(r, 1) }

// beginAll counts n of a resource in all accounts that it counts against, or in none.
func (a *Admission) beginAll(r resource, n int64) *overLimit {
	accounts := a.counting()
	for i, account := range accounts {
		if over := a.ledger.beginOf(a.credential.class, account, r, n); over != nil {
			for _, begun := range accounts[:i] {
				a.ledger.end(begun, r, n)
			}
			return over
		}
	}
	return nil
}

// counting are the accounts that the call's current use counts against.
func (a *Admission) counting() []*account {
	if a.project == nil {
		return []*account{a.credential, a.ledger.server}
	}
	return []*account{a.credential, a.project, a.ledger.server}
}

// Leave ends the call.
func (a *Admission) Leave() {
	if a.counted == useParallel {
		a.ledger.end(a.credential, useParallel, 1)
	} else {
		for _, account := range a.counting() {
			a.ledger.end(account, a.counted, 1)
		}
	}
	a.returnUnused()
	if a.answered > 0 {
		a.Free(a.answered)
	}
	if held := a.brought - FreeBody; held > 0 {
		for _, account := range a.counting() {
			a.ledger.end(account, useBodies, held)
		}
	}
	a.letGo()
}

func (a *Admission) letGo() {
	a.ledger.letGo(a.credential)
	if a.project != nil {
		a.ledger.letGo(a.project)
	}
}
