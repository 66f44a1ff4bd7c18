package service

import (
	"context"
	"sync/atomic"

	"maestro/commands"
)

// Admission comes before permission. It decides nothing, records no refusal, and leaves nothing in the log. A caller
// over a limit gets a Problem of KindBusy; nothing has happened, and the caller may repeat the call.

// Demand is the part of a call's use that is known in advance.
type Demand struct {
	// Writes says that the call is a command, not a read. Bytes is the size of its body.
	Writes bool
	Bytes  int64
	// ReadsLog says that the call's work grows with the log.
	ReadsLog bool
}

// Admission holds what a call uses of the accounts that it counts against.
type Admission struct {
	service *Service
	ledger  *ledger
	who     commands.Actor
	// credential is the caller's account. project is the account of the root of a session's project, or nil.
	credential, project *account
	// made is what the call paid for the things that its command creates.
	made demand
	// paid is the number of commands that the call paid for, came the number that it has reached so far.
	paid, came int
	// counted is the resource that the call currently counts against, unless it stepped aside.
	counted resource
	aside   bool
	// answered is the number of bytes that were rendered and not yet written, brought the number of bytes of the body.
	answered, brought int64
	// paidBytes is the number of bytes that were paid for before the body came.
	paidBytes int64
	// answers is the rate that pays for the call's answer: the one that the next such call needs.
	answers resource
	// readBytes is the number of bytes of long texts that were charged when they were read.
	readBytes int64
	// steps is the number of steps of work that the call was charged for.
	steps atomic.Int64
	// looked is the number of steps of reading that are not charged yet: less than one read.
	looked int
	// reads is how many reads the call was charged for, prepaid how many more it has paid for in advance.
	reads, prepaid float64
	// leaving ends what else the call uses until it leaves; nil if there is nothing.
	leaving func()
}

// whenLeaving has the call end something when it leaves.
func (a *Admission) whenLeaving(end func()) {
	before := a.leaving
	a.leaving = func() {
		if before != nil {
			before()
		}
		end()
	}
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

// Admit admits a call, or refuses it with a Problem of KindBusy. The caller must call Leave after an admitted call. An
// interface admits each call before it reads the request; Do, and everything that waits, admits a call that was not
// admitted.
func (s *Service) Admit(ctx context.Context, c *Caller, d Demand) (*Admission, error) {
	a, refused := s.admit(ctx, c, d)
	if refused != nil {
		return nil, refused
	}
	return a, nil
}

func (s *Service) admit(ctx context.Context, c *Caller, d Demand) (*Admission, *Problem) {
	a := s.accountsOf(c.By, c.Root, c.Ended)
	a.counted = useParallel
	// a session that has ended may not read the log, so it uses no capacity of those that may
	if d.ReadsLog && !c.Ended {
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

// accountsOf returns an admission with the accounts of a caller and of the root of its project. The caller must call
// letGo.
func (s *Service) accountsOf(by commands.Actor, root string, ended bool) *Admission {
	a := &Admission{service: s, ledger: s.ledger, who: by}
	if by.Speaks == "" {
		a.credential = s.ledger.hold(ClassOf(by), string(by.Kind), " ", by.Name) // AccountName
	} else {
		a.credential = s.ledger.hold(ClassOf(by), AccountName(by))
	}
	switch {
	case by.Kind != commands.ActorSession || by.Project == "":
	case ended: // all ended sessions of a project together take nothing from the living ones
		a.project = s.ledger.hold(classProject, "ended ", root)
	default:
		a.project = s.ledger.hold(classProject, root)
	}
	return a
}

// admitted is Admit for a call that its interface did not admit. The caller must call leave.
func (s *Service) admitted(ctx context.Context, c *Caller, d Demand) (leave func(), err error) {
	if c.admission != nil {
		return func() {}, nil
	}
	a, refused := s.admit(ctx, c, d)
	if refused != nil {
		return nil, s.heldBack(ctx, c, refused)
	}
	return func() {
		c.admission = nil
		a.Leave()
	}, nil
}

// AccountName returns the name of a caller's account.
func AccountName(by commands.Actor) string {
	if by.Speaks != "" {
		return string(by.Kind) + " " + by.Name + " of " + by.Speaks
	}
	return string(by.Kind) + " " + by.Name
}

// ClassOf returns the class of a caller: an agent has tighter limits than the user, and so has its supervisor. A runner
// of many sessions has those of the user.
func ClassOf(by commands.Actor) Class {
	switch {
	case by.Kind == commands.ActorUser && by.Access == commands.AccessAdmin:
		return ClassAdmin
	case by.Kind == commands.ActorUser:
		return ClassReader
	case by.Kind == commands.ActorRunner && by.Speaks == "":
		return ClassAdmin
	}
	return ClassSession
}

// crowdedPrice is how many times as much a session pays from its own rates while the rates of its project are used up.
// So a few sessions that use all that the project may use do not stop the others, which use little.
const crowdedPrice = 10

// crowds are the rates for which that holds.
var crowds = [rates]bool{useCommands: true, useBytes: true, useReads: true}

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
			if over == nil || account == a.project && a.payCrowded(resource(r), n) {
				continue
			}
			a.refund(d, account, r)
			return over
		}
	}
	return nil
}

// payCrowded pays the rest of the price for a rate that the caller's project has used up.
func (a *Admission) payCrowded(r resource, n float64) bool {
	if !crowds[r] || a.ledger.take(a.credential, r, n*(crowdedPrice-1)) != nil {
		return false
	}
	a.ledger.charge(a.project, r, n)
	return true
}

// refund gives back what was paid before the payment that failed.
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

// wait counts the call as waiting, no longer as in progress. A call waits only after its body has arrived and its
// caller has been permitted to wait, so that a slow or unauthorized caller takes no place of others.
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

// beginWait counts a call as waiting, or refuses it.
func (s *Service) beginWait(ctx context.Context, c *Caller) error {
	over := c.admission.wait()
	if over == nil {
		return nil
	}
	return s.over(ctx, c, over)
}

// upload pays for bytes that are stored before an event names them, or refuses them.
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

// worked charges the call for work that was done: steps of deciding, folding or reading.
func (c *Caller) worked(steps int) {
	if c.admission != nil {
		c.admission.worked(steps)
	}
}

// worked charges the caller and its project for work, as for more commands. The work is done: the next command waits
// until it is paid.
func (a *Admission) worked(steps int) {
	a.steps.Add(int64(steps))
	if n := float64(steps / StepsPerCommand); n > 0 {
		a.charge(useCommands, n)
	}
}

// charge uses n of a rate of the caller, even if that exceeds it, and as much of its project's as counts for the
// caller: however much work a session has done at once, it takes no more from its project than it may use itself.
func (a *Admission) charge(r resource, n float64) {
	counted := a.ledger.charge(a.credential, r, n)
	if a.project != nil {
		a.ledger.charge(a.project, r, counted)
	}
}

// enter counts the call as in progress.
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
		var over *overLimit
		if r == useAnswers && account == a.ledger.server {
			over = a.ledger.beginShared(a.credential.class, accounts[i-1], r, n)
		} else {
			over = a.ledger.beginOf(a.credential.class, account, r, n)
		}
		if over != nil {
			for _, begun := range accounts[:i] {
				a.ledger.end(begun, r, n)
			}
			return over
		}
	}
	return nil
}

// counting returns the accounts that the call's current use counts against.
func (a *Admission) counting() []*account {
	if a.project == nil {
		return []*account{a.credential, a.ledger.server}
	}
	return []*account{a.credential, a.project, a.ledger.server}
}

// Leave ends the call.
func (a *Admission) Leave() {
	if a.leaving != nil {
		a.leaving()
	}
	if !a.aside {
		a.leavePlace()
	}
	a.returnUnused()
	if a.answered > 0 {
		a.Free(a.answered)
	}
	a.letGo()
}

// StepAside makes room for calls that do the work of this one, which count by themselves: it no longer counts as in
// progress, nor does its body. Its answer still counts until Leave.
func (a *Admission) StepAside() {
	a.leavePlace()
	a.aside = true
}

// leavePlace ends what the call counts as in progress, and its body.
func (a *Admission) leavePlace() {
	if a.counted == useParallel {
		a.ledger.end(a.credential, useParallel, 1)
	} else {
		for _, account := range a.counting() {
			a.ledger.end(account, a.counted, 1)
		}
	}
	if held := a.brought - FreeBody; held > 0 {
		for _, account := range a.counting() {
			a.ledger.end(account, useBodies, held)
		}
	}
}

func (a *Admission) letGo() {
	a.ledger.letGo(a.credential)
	if a.project != nil {
		a.ledger.letGo(a.project)
	}
}
