package service

import "time"

// payReads pays in advance for n reads of a call that reads again and again while it waits. It leaves half of each
// burst to other calls, and returns how long to wait until that is possible; 0 if it has paid.
func (a *Admission) payReads(n float64) (after time.Duration) {
	accounts := a.paying()
	for _, account := range accounts {
		n = a.ledger.half(account, useReads, n)
	}
	for i, account := range accounts {
		half := a.ledger.quotas[account.class][useReads].Burst / 2
		if after := a.ledger.takeLeaving(account, useReads, n, half); after > 0 {
			for _, paid := range accounts[:i] {
				a.ledger.giveBack(paid, useReads, n)
			}
			return after
		}
	}
	a.prepaid = n
	return 0
}

// returnReads gives back what payReads paid and the call did not use.
func (a *Admission) returnReads() {
	for _, account := range a.paying() {
		a.ledger.giveBack(account, useReads, a.prepaid)
	}
	a.prepaid = 0
}
