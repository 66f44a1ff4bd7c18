package service

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// Class sorts accounts by the quotas that they have.
type Class int

// The classes of callers; the others are the service's own.
const (
	ClassSession Class = iota
	ClassReader
	ClassAdmin
	classProject
	ClassAddress
	classServer
	classes
)

var classNames = [classes]string{"session", "reader", "admin", "project", "address", "server"}

// The resources: first the rates, then what is counted while it is in use.
type resource int

const (
	useCommands resource = iota
	useBytes
	useReads
	useSpawns
	useCreates
	useUploads
	useCalls
	useIdentities
	rates
)

const (
	useParallel = rates + iota
	useWaits
	useStreams
	useAnswers
	useBodies
	resources
)

var resourceNames = [resources]string{
	useCommands: "commands", useBytes: "bytes", useReads: "reads", useSpawns: "spawns", useCreates: "creates",
	useUploads: "uploads", useCalls: "calls", useIdentities: "identities",
	useParallel: "parallel", useWaits: "waits", useStreams: "streams", useAnswers: "answers",
	useBodies: "bodies",
}

// account counts the use of one credential, project or address. It holds numbers only.
type account struct {
	class Class
	mu    sync.Mutex
	// paid is, for each rate, until when what was used is paid for: a bucket whose time has passed is full.
	paid [rates]time.Duration
	used [resources - rates]int64
	// waiting are the calls that wait for others of the account to end, oldest first.
	waiting []chan struct{}
	// holders counts the requests that hold the account; it grows under the ledger's lock only.
	holders atomic.Int64
}

// ledger keeps the accounts. Its memory is bounded: an account of which nothing is in use is as good as a new one,
// and is dropped.
type ledger struct {
	quotas [classes][resources]Quota
	began  time.Time
	server *account

	mu       sync.Mutex
	accounts map[string]*account
	// refused counts the calls that were over each limit.
	refused map[string]uint64
	// sweepAt is how many accounts there are at the next sweep, sweepAgain the earliest time of one if there are as
	// many as there may be.
	sweepAt    int
	sweepAgain time.Duration
	// shared is the account of all callers for which there is no account of their own left.
	shared [classes]*account
}

const (
	// fewAccounts are kept without looking; mostAccounts is where newcomers share one.
	fewAccounts  = 1024
	mostAccounts = 32 << 10
	// longestDebt is how long one large answer can keep its reader from the next.
	longestDebt = 30 * time.Second
	// queueBehind is how many calls of one account wait for others of it to end, and waitForTurn for how long.
	queueBehind = 64
	waitForTurn = 2 * time.Second
)

func newLedger(limits *Limits) *ledger {
	l := &ledger{
		began:    time.Now(),
		server:   &account{class: classServer},
		accounts: map[string]*account{},
		refused:  map[string]uint64{},
		sweepAt:  fewAccounts,
	}
	for c := range classes {
		l.shared[c] = &account{class: c}
		for r := range resources {
			l.quotas[c][r] = limits.Quota(classNames[c] + "-" + resourceNames[r])
		}
	}
	return l
}

func (l *ledger) now() time.Duration { return time.Since(l.began) }

// hold returns an account that stays until it is let go. name may come in parts, so that nobody needs to put it
// together.
func (l *ledger) hold(c Class, name ...string) *account {
	var room [160]byte
	key := append(append(room[:0], classNames[c]...), ' ')
	for _, part := range name {
		key = append(key, part...)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.accounts[string(key)]
	if a == nil {
		if len(l.accounts) >= l.sweepAt && (len(l.accounts) < mostAccounts || l.now() >= l.sweepAgain) {
			l.sweep()
		}
		if len(l.accounts) >= mostAccounts {
			a = l.shared[c]
		} else {
			a = &account{class: c}
			l.accounts[string(key)] = a
		}
	}
	a.holders.Add(1)
	return a
}

// refuse counts a call that was over a limit.
func (l *ledger) refuse(limit string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refused[limit]++
}

func (l *ledger) refusals(limit string) uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.refused[limit]
}

func (l *ledger) letGo(a *account) { a.holders.Add(-1) }

// sweep drops the accounts of which nothing is in use; mu is held.
func (l *ledger) sweep() {
	now := l.now()
	for key, a := range l.accounts {
		if a.holders.Load() == 0 && a.idle(now) {
			delete(l.accounts, key)
		}
	}
	l.sweepAt = min(max(fewAccounts, 2*len(l.accounts)), mostAccounts)
	l.sweepAgain = now + time.Second
}

func (a *account) idle(now time.Duration) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, paid := range a.paid {
		if paid > now {
			return false
		}
	}
	return a.used == [resources - rates]int64{}
}

// overLimit is the reason why a call is refused. The ledger makes it, and the server words it.
type overLimit struct {
	class Class
	quota Quota
	// after is when to try again.
	after time.Duration
}

func (o *overLimit) Error() string { return "over the limit " + o.quota.Name }

// take uses n of a rate, or says when there will be so much. More than a burst counts as a burst.
func (l *ledger) take(a *account, r resource, n float64) *overLimit {
	q := &l.quotas[a.class][r]
	if q.Value == 0 || n == 0 {
		return nil
	}
	each := float64(time.Second) / q.Value
	now := l.now()
	a.mu.Lock()
	defer a.mu.Unlock()
	paid := max(a.paid[r], now)
	n = min(n, q.Burst)
	if after := paid - now + time.Duration((n-q.Burst)*each); after > 0 {
		return &overLimit{a.class, *q, after}
	}
	a.paid[r] = paid + time.Duration(n*each)
	return nil
}

// giveBack undoes take.
func (l *ledger) giveBack(a *account, r resource, n float64) {
	if q := l.quotas[a.class][r]; q.Value > 0 {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.paid[r] -= time.Duration(min(n, q.Burst) * float64(time.Second) / q.Value)
	}
}

// charge uses n of a rate whether there is so much or not: what was done is done, and the next has to wait for it.
func (l *ledger) charge(a *account, r resource, n float64) {
	q := l.quotas[a.class][r]
	if q.Value == 0 {
		return
	}
	each := float64(time.Second) / q.Value
	now := l.now()
	a.mu.Lock()
	defer a.mu.Unlock()
	most := now + time.Duration(q.Burst*each) + longestDebt
	a.paid[r] = max(a.paid[r], min(max(a.paid[r], now)+time.Duration(n*each), most))
}

// owes returns when a charge beyond the burst will be paid; nil if there was none.
func (l *ledger) owes(a *account, r resource) *overLimit {
	q := l.quotas[a.class][r]
	if q.Value == 0 {
		return nil
	}
	burst := time.Duration(q.Burst * float64(time.Second) / q.Value)
	now := l.now()
	a.mu.Lock()
	defer a.mu.Unlock()
	if after := a.paid[r] - now - burst; after > 0 {
		return &overLimit{a.class, q, after}
	}
	return nil
}

// left returns how much of a quota may be used at once now.
func (l *ledger) left(a *account, r resource) float64 {
	q := l.quotas[a.class][r]
	now := l.now()
	a.mu.Lock()
	defer a.mu.Unlock()
	if r >= rates {
		return max(0, q.Value-float64(a.used[r-rates]))
	}
	return max(0, q.Burst-float64(max(a.paid[r]-now, 0))*q.Value/float64(time.Second))
}

// begin uses n of what is counted while it is in use; end gives it back. A caller that uses nothing gets it, however
// much it is.
func (l *ledger) begin(a *account, r resource, n int64) *overLimit { return l.beginBelow(a, r, n, 0) }

// reserve is the fraction of the server's capacity that only admins may use: one in so many.
const reserve = 4

// beginOf is begin for a caller of a class: of what the server has, the reserve is left to admins.
func (l *ledger) beginOf(by Class, a *account, r resource, n int64) *overLimit {
	if a.class != classServer || by == ClassAdmin {
		return l.beginBelow(a, r, n, 0)
	}
	return l.beginBelow(a, r, n, math.Floor(l.quotas[classServer][r].Value/reserve))
}

// beginShared is beginOf for what the server has of bodies. A caller's share, which has begun n already, takes no more
// than it leaves to others: however many take what they can, the next one gets some.
func (l *ledger) beginShared(by Class, share *account, n int64) *overLimit {
	if by == ClassAdmin {
		return l.begin(l.server, useBodies, n)
	}
	share.mu.Lock()
	own := share.used[useBodies-rates]
	share.mu.Unlock()
	left := math.Floor(l.quotas[classServer][useBodies].Value / reserve)
	return l.beginBelow(l.server, useBodies, n, left+float64(own))
}

// beginBelow is begin that leaves some of the quota to others.
func (l *ledger) beginBelow(a *account, r resource, n int64, left float64) *overLimit {
	q := l.quotas[a.class][r]
	a.mu.Lock()
	defer a.mu.Unlock()
	if used := a.used[r-rates]; q.Value > 0 && used > 0 && float64(used+n) > q.Value-left {
		return &overLimit{a.class, q, time.Second}
	}
	a.used[r-rates] += n
	return nil
}

// add is begin whatever the limit is.
func (l *ledger) add(a *account, r resource, n int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.used[r-rates] += n
}

func (l *ledger) end(a *account, r resource, n int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if r == useParallel && len(a.waiting) > 0 { // its place goes to who waits longest
		close(a.waiting[0])
		a.waiting = a.waiting[1:]
		return
	}
	a.used[r-rates] -= n
}

// beginInTurn is begin for calls in progress: a caller over the limit waits a while for its turn.
func (l *ledger) beginInTurn(ctx context.Context, a *account) *overLimit {
	q := &l.quotas[a.class][useParallel]
	a.mu.Lock()
	if used := a.used[useParallel-rates]; q.Value == 0 || used == 0 || float64(used+1) <= q.Value {
		a.used[useParallel-rates]++
		a.mu.Unlock()
		return nil
	}
	if len(a.waiting) >= queueBehind {
		a.mu.Unlock()
		return &overLimit{a.class, *q, time.Second}
	}
	turn := make(chan struct{})
	a.waiting = append(a.waiting, turn)
	a.mu.Unlock()
	timer := time.NewTimer(waitForTurn)
	defer timer.Stop()
	select {
	case <-turn:
		return nil
	case <-timer.C:
	case <-ctx.Done():
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for i, other := range a.waiting {
		if other == turn {
			a.waiting = append(a.waiting[:i], a.waiting[i+1:]...)
			return &overLimit{a.class, *q, time.Second}
		}
	}
	return nil // its turn came meanwhile
}
