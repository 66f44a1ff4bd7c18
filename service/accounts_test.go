package service

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

// TestMemoryPerCredentialIsBounded: however many callers there are and whatever they use, the ledger has a bounded
// number of accounts of a fixed size, and none for callers that are idle.
func TestMemoryPerCredentialIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		random := rand.New(rand.NewPCG(1, 2))
		l := newLedger(&Limits{})
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		const callers = 200_000
		for i := range callers {
			c := Class(random.IntN(int(classServer)))
			a := l.hold(c, fmt.Sprint(i))
			_ = l.take(a, resource(random.IntN(int(rates))), float64(random.IntN(1000)))
			l.charge(a, useReads, 1e9)
			if l.begin(a, useAnswers, int64(random.IntN(1<<20))) == nil && random.IntN(2) == 0 {
				defer l.end(a, useAnswers, 0)
			}
			l.letGo(a)
		}
		if len(l.accounts) > mostAccounts {
			t.Errorf("%d accounts for %d callers", len(l.accounts), callers)
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		const each = 512
		if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > mostAccounts*each {
			t.Errorf("%d bytes for %d accounts: more than %d each", grown, mostAccounts, each)
		}
		for _, a := range l.accounts {
			a.used = [resources - rates]int64{}
		}
		time.Sleep(24 * time.Hour)
		l.mu.Lock()
		l.sweep()
		l.mu.Unlock()
		if len(l.accounts) > 0 {
			t.Errorf("%d accounts are kept for nobody", len(l.accounts))
		}
	})
}

// TestNoRateIsExceeded: for any sequence of requests, no more than the burst and what has accrued since is granted, and
// a caller that returns when it was told to gets what it requested.
func TestNoRateIsExceeded(t *testing.T) {
	for seed := range uint64(50) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 0))
			l := newLedger(&Limits{})
			q := Quota{Name: "q", Value: 1 + float64(random.IntN(100)), Burst: 1 + float64(random.IntN(100))}
			l.quotas[ClassSession][useCommands] = q
			a := l.hold(ClassSession, "a")
			given, began := 0.0, time.Now()
			for range 2000 {
				n := 1 + float64(random.IntN(int(q.Burst)))
				if over := l.take(a, useCommands, n); over == nil {
					given += n
				} else if random.IntN(4) == 0 {
					time.Sleep(over.after)
					if again := l.take(a, useCommands, n); again != nil {
						t.Fatalf("after the %s that it was told to wait, it is to wait %s", over.after, again.after)
					}
					given += n
				}
				time.Sleep(time.Duration(random.IntN(int(100 * time.Millisecond))))
				if most := q.Burst + q.Value*time.Since(began).Seconds() + 1; given > most {
					t.Fatalf("%v was granted, of at most %v", given, most)
				}
			}
			time.Sleep(time.Hour) // a long idle time saves one burst, and no more
			for given = 0; l.take(a, useCommands, 1) == nil; given++ {
				if given > q.Burst+1 {
					t.Fatalf("%v was granted at once, of at most %v", given, q.Burst)
				}
			}
		})
	}
}

// TestAccountsAreSweptAgain: new callers share an account only while there are too many accounts, and the search for
// unused ones costs each new caller little.
func TestAccountsAreSweptAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLedger(&Limits{})
		for i := range mostAccounts {
			a := l.hold(ClassSession, fmt.Sprint(i))
			l.charge(a, useReads, 1e9)
			l.letGo(a)
		}
		time.Sleep(2 * time.Second)
		if a := l.hold(ClassSession, "one too many"); a != l.shared[ClassSession] {
			t.Error("there is one account too many")
		}
		swept := l.sweepAgain
		time.Sleep(time.Millisecond)
		l.letGo(l.hold(ClassSession, "another"))
		if l.sweepAgain != swept {
			t.Error("each new caller searches all accounts")
		}
		time.Sleep(24 * time.Hour) // everything that was charged has accrued again
		if a := l.hold(ClassSession, "later"); a == l.shared[ClassSession] || len(l.accounts) != 1 {
			t.Errorf("no account is swept: there are %d", len(l.accounts))
		}
	})
}
