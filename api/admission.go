package api

import (
	"context"
	"net"
	"net/http"

	"maestro/commands"
)

// Admission stands before permission: it decides nothing and records no refusal, and nothing of it is in the log.
// Whoever is over a limit gets 429 with Retry-After; nothing has happened, and the same request may be sent again.

// admission is what a request holds of the accounts that it counts against.
type admission struct {
	ledger *ledger
	// credential is the caller's account, project that of the root of a session's project or nil.
	credential, project *account
	// made is what it paid for what its command makes.
	made demand
	// counted is which of its resources the call is in.
	counted resource
	// answered are the bytes that it has rendered and not yet written, brought those of its body.
	answered, brought int64
	// paidBytes are those that it paid for before its body came.
	paidBytes int64
}

// admit lets a call in, or says which limit it is over. Who is let in must leave.
func (s *server) admit(c *call, r *http.Request) error {
	a := &c.admission
	a.ledger = s.ledger
	a.credential = s.ledger.hold(classOf(c.By), accountName(c.By))
	switch {
	case c.By.Kind != commands.ActorSession || c.By.Project == "":
	case c.Ended: // all of a project that have ended take nothing of those that have not
		a.project = s.ledger.hold(ofProject, "ended "+c.Root)
	default:
		a.project = s.ledger.hold(ofProject, c.Root)
	}
	a.counted = s.countedAs(r)
	if c.Ended { // it may neither wait nor read the log, so it takes no place of who does
		a.counted = useParallel
	}
	d := demandOf(r)
	a.paidBytes = int64(d[useBytes])
	over := a.pay(d)
	if over == nil {
		over = a.enter(r.Context())
	}
	if over == nil {
		return nil
	}
	a.letGo()
	return s.tooMuch(c.By.String(), over)
}

// accountName gives the name of a caller's account.
func accountName(by commands.Actor) string { return string(by.Kind) + " " + by.Name }

// classOf gives the class of a caller: an agent is bound more tightly than the user.
func classOf(by commands.Actor) class {
	switch {
	case by.Kind == commands.ActorUser && by.Access == commands.AccessAdmin:
		return ofAdmin
	case by.Kind == commands.ActorUser:
		return ofReader
	}
	return ofSession
}

// pay uses the rates of the caller and of its project, all or none.
func (a *admission) pay(d demand) *overLimit {
	for _, account := range []*account{a.credential, a.project} {
		if account == nil {
			continue
		}
		for r, n := range d {
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

// refund gives back what was paid before the payment that failed.
func (a *admission) refund(d demand, failed *account, at int) {
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
func (a *admission) wait() *overLimit {
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

// allowance is what a call may use, for the service.
type allowance struct {
	server *server
	call   *call
}

// BeginWait implements service.Allowance.
func (a allowance) BeginWait(ctx context.Context) error {
	over := a.call.admission.wait()
	if over == nil {
		return nil
	}
	holdBack(ctx)
	return a.server.tooMuch(a.call.By.String(), over)
}

// Upload implements service.Allowance.
func (a allowance) Upload(ctx context.Context, bytes int) error {
	over := a.call.admission.pay(demand{useUploads: float64(bytes)})
	if over == nil {
		return nil
	}
	holdBack(ctx)
	return a.server.tooMuch(a.call.By.String(), over)
}

// Worked implements service.Allowance.
func (a allowance) Worked(steps int) { a.call.admission.worked(steps) }

// worked charges the caller and its project for work, as for more commands. What was done is done: the next command
// waits until it is paid.
func (a *admission) worked(steps int) {
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
func (a *admission) enter(ctx context.Context) *overLimit {
	if a.counted == useParallel {
		return a.ledger.beginInTurn(ctx, a.credential)
	}
	return a.begin(a.counted)
}

// begin counts the call in all accounts that a resource counts against, or in none.
func (a *admission) begin(r resource) *overLimit {
	accounts := a.counting()
	for i, account := range accounts {
		if over := a.ledger.beginOf(a.credential.class, account, r, 1); over != nil {
			for _, begun := range accounts[:i] {
				a.ledger.end(begun, r, 1)
			}
			return over
		}
	}
	return nil
}

// counting are the accounts that what is in use counts against.
func (a *admission) counting() []*account {
	if a.project == nil {
		return []*account{a.credential, a.ledger.server}
	}
	return []*account{a.credential, a.project, a.ledger.server}
}

// leave ends what admit began.
func (a *admission) leave() {
	if a.counted == useParallel {
		a.ledger.end(a.credential, useParallel, 1)
	} else {
		for _, account := range a.counting() {
			a.ledger.end(account, a.counted, 1)
		}
	}
	if a.answered > 0 {
		a.free(a.answered)
	}
	if held := a.brought - freeBody; held > 0 {
		for _, account := range a.counting() {
			a.ledger.end(account, useBodies, held)
		}
	}
	a.letGo()
}

func (a *admission) letGo() {
	a.ledger.letGo(a.credential)
	if a.project != nil {
		a.ledger.letGo(a.project)
	}
}

// admitNobody lets the call of nobody through to its refusal, unless there are too many.
func (s *server) admitNobody(r *http.Request) error {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	account := s.ledger.hold(ofAddress, host)
	defer s.ledger.letGo(account)
	over := s.ledger.take(account, useCalls, 1)
	if over == nil {
		over = s.ledger.take(s.ledger.server, useCalls, 1)
	}
	if over != nil {
		return s.tooMuch("address "+host, over)
	}
	return nil
}
