package api

// freeBody is how much of each body counts for nothing, so that a short command gets in whatever others send. The limit
// of connections bounds it.
const freeBody = 16 << 10

// bring counts bytes of a body that have come, until the call ends: against the budgets of the caller, of its project
// and of the server. What was not announced is paid for as it comes.
func (a *admission) bring(n int64) *overLimit {
	counted := max(a.brought+n-freeBody, 0) - max(a.brought-freeBody, 0)
	if counted > 0 {
		if over := a.beginBody(counted); over != nil {
			return over
		}
	}
	a.brought += n
	if unpaid := a.brought - max(a.paidBytes, a.brought-n); unpaid > 0 {
		a.ledger.charge(a.credential, useBytes, float64(unpaid))
		if a.project != nil {
			a.ledger.charge(a.project, useBytes, float64(unpaid))
		}
	}
	return nil
}

// beginBody counts bytes of a body in all accounts, or in none.
func (a *admission) beginBody(n int64) *overLimit {
	accounts := a.counting()
	for i, account := range accounts {
		var over *overLimit
		if account == a.ledger.server {
			over = a.ledger.beginShared(a.credential.class, accounts[i-1], n)
		} else {
			over = a.ledger.begin(account, useBodies, n)
		}
		if over != nil {
			for _, begun := range accounts[:i] {
				a.ledger.end(begun, useBodies, n)
			}
			return over
		}
	}
	return nil
}

// brings is bring, with the answer to who is over a limit.
func (s *server) brings(c *call, n int64) error {
	if over := c.admission.bring(n); over != nil {
		return s.tooMuch(c.By.String(), over)
	}
	return nil
}

// render counts bytes of an answer that the caller has not read yet, against its own budget and the server's.
func (a *admission) render(n int64) *overLimit {
	for i, account := range []*account{a.credential, a.ledger.server} {
		if over := a.ledger.beginOf(a.credential.class, account, useAnswers, n); over != nil {
			if i > 0 {
				a.ledger.end(a.credential, useAnswers, n)
			}
			return over
		}
	}
	a.answered += n
	return nil
}

// renderAnyway is render for what is written already, or must be answered.
func (a *admission) renderAnyway(n int64) {
	a.answered += n
	a.ledger.add(a.credential, useAnswers, n)
	a.ledger.add(a.ledger.server, useAnswers, n)
}

// free ends the count of rendered bytes.
func (a *admission) free(n int64) {
	a.answered -= n
	a.ledger.end(a.credential, useAnswers, n)
	a.ledger.end(a.ledger.server, useAnswers, n)
}

// sent charges a reader for a long answer.
func (a *admission) sent(n int64) {
	if units := float64(n / bytesPerUnit); units > 0 {
		a.ledger.charge(a.credential, useReads, units)
	}
}
