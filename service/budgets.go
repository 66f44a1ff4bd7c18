package service

// FreeBody is the part of each body that is not counted, so that a short command gets through whatever others send. The
// limit of connections bounds it.
const FreeBody = 16 << 10

// AddBodyBytes counts received bytes of a body until the call ends: against the budgets of the caller, of its project
// and of the server. Bytes that were not announced are paid for as they arrive. It may refuse them with a Problem.
func (a *Admission) AddBodyBytes(n int64) error {
	if over := a.addBodyBytes(n); over != nil {
		return a.service.tooMuch(a.who.String(), over)
	}
	return nil
}

func (a *Admission) addBodyBytes(n int64) *overLimit {
	counted := max(a.brought+n-FreeBody, 0) - max(a.brought-FreeBody, 0)
	if counted > 0 {
		if over := a.beginBody(counted); over != nil {
			return over
		}
	}
	a.brought += n
	if unpaid := a.brought - max(a.paidBytes, a.brought-n); unpaid > 0 {
		a.charge(useBytes, float64(unpaid))
	}
	return nil
}

// beginBody counts bytes of a body in all accounts, or in none.
func (a *Admission) beginBody(n int64) *overLimit {
	accounts := a.counting()
	for i, account := range accounts {
		var over *overLimit
		if account == a.ledger.server {
			over = a.ledger.beginShared(a.credential.class, accounts[i-1], useBodies, n)
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

// Render counts bytes of an answer that the caller has not read yet, against the budgets of the caller, of its project
// and of the server. It may refuse them with a Problem.
func (a *Admission) Render(n int64) error {
	if over := a.render(n); over != nil {
		return a.service.tooMuch(a.who.String(), over)
	}
	return nil
}

func (a *Admission) render(n int64) *overLimit {
	over := a.beginAll(useAnswers, n)
	if over == nil {
		a.answered += n
	}
	return over
}

// RenderAnyway is Render for an answer that is already written, or that must be given.
func (a *Admission) RenderAnyway(n int64) {
	a.answered += n
	for _, account := range a.counting() {
		a.ledger.add(account, useAnswers, n)
	}
}

// Free subtracts rendered bytes.
func (a *Admission) Free(n int64) {
	a.answered -= n
	for _, account := range a.counting() {
		a.ledger.end(account, useAnswers, n)
	}
}

// Sent charges the caller for a long answer, except what was charged when it was read.
func (a *Admission) Sent(n int64) { a.chargeBytes(n - a.readBytes) }

func (a *Admission) readText(n int64) {
	a.readBytes += n
	a.chargeBytes(n)
}

func (a *Admission) chargeBytes(n int64) {
	if units := float64(n / bytesPerUnit); units > 0 {
		a.charge(a.answers, units)
	}
}
