package service

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// Class groups accounts by their quotas.
type Class int

// The classes of callers. The remaining ones are for the service's own accounts.
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

// The resources: first the rates, then those that count concurrent use.
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

// account counts the use by one credential, project or address. It holds only numbers.
type account struct {
	class Class
	mu    sync.Mutex
	// paid is, for each rate, the time until which past use is paid for: a bucket whose time has passed is full.
	paid [rates]time.Duration
	used [resources - rates]int64
	// waiting are the calls that wait for other calls of the account to end, oldest first.
	waiting []chan struct{}
	// holders counts the requests that hold the account. It grows only under the ledger's lock.
	holders atomic.Int64
}

// ledger holds the accounts. Its memory is bounded: an account with nothing in use equals a new one, and is dropped.
type ledger struct {
	quotas [classes][resources]Quota
	began  time.Time
	server *account

	mu       sync.Mutex
	accounts map[string]*account
	// refused counts the calls that exceeded each limit.
	refused map[string]uint64
	// sweepAt is the number of accounts that triggers the next sweep. sweepAgain is the earliest time of a sweep when
	// the number of accounts is at its maximum.
	sweepAt    int
	sweepAgain time.Duration
	// shared is the account of all callers that cannot get an account of their own.
	shared [classes]*account
}

const (
	// Up to fewAccounts accounts are kept without a sweep. From mostAccounts on, new callers share an account.
	fewAccounts  = 1024
	mostAccounts = 32 << 10
	// longestDebt bounds how long one large answer can delay its reader's next call.
	longestDebt = 30 * time.Second
	// queueBehind bounds how many calls of one account wait for others of it to end, and waitForTurn for how long.
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

// hold returns an account, and keeps it until it is released. The name may come in parts, to save joining them.
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

// refuse counts a call that exceeded a limit.
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

// sweep drops the accounts with nothing in use. The caller holds mu.
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

// overLimit is the reason for refusing a call. The ledger creates it, and the server puts it into words.
type overLimit struct {
	class Class
	quota Quota
	// after is the time to wait before another try.
	after time.Duration
}

func (o *overLimit) Error() string { return "over the limit " + o.quota.Name }

// take uses n of a rate, or returns when so much will be available. More than a burst counts as a burst.
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

// half returns how much of a rate leaves half of an account's burst to other calls; n if that is less.
func (l *ledger) half(a *account, r resource, n float64) float64 {
	if q := &l.quotas[a.class][r]; q.Value > 0 {
		return min(n, q.Burst/2)
	}
	return n
}

// takeLeaving uses n of a rate and leaves so much of the burst, or returns when that will be possible.
func (l *ledger) takeLeaving(a *account, r resource, n, leave float64) (after time.Duration) {
	q := &l.quotas[a.class][r]
	if q.Value == 0 {
		return 0
	}
	each := float64(time.Second) / q.Value
	now := l.now()
	a.mu.Lock()
	defer a.mu.Unlock()
	paid := max(a.paid[r], now)
	if after := paid - now + time.Duration((n+leave-q.Burst)*each); after > 0 {
		return after
	}
	a.paid[r] = paid + time.Duration(n*each)
	return 0
}

// giveBack undoes take.
func (l *ledger) giveBack(a *account, r resource, n float64) {
	if q := l.quotas[a.class][r]; q.Value > 0 {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.paid[r] -= time.Duration(min(n, q.Burst) * float64(time.Second) / q.Value)
	}
}

// charge uses n of a rate, even if that exceeds it: the work is done, and the next call has to wait. It returns how
// much of n counts: an account is never deeper in debt than longestDebt.
func (l *ledger) charge(a *account, r resource, n float64) (counted float64) {
	q := l.quotas[a.class][r]
	if q.Value == 0 {
		return n
	}
	each := float64(time.Second) / q.Value
	now := l.now()
	a.mu.Lock()
	defer a.mu.Unlock()
	most := now + time.Duration(q.Burst*each) + longestDebt
	paid := max(a.paid[r], now)
	a.paid[r] = max(paid, min(paid+time.Duration(n*each), most))
	return float64(a.paid[r]-paid) / each
}

// owes returns when a charge beyond the burst will be paid; nil if there is none.
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

// begin adds n to the concurrent use of a resource; end subtracts it. A caller that uses nothing may begin with any n.
func (l *ledger) begin(a *account, r resource, n int64) *overLimit { return l.beginBelow(a, r, n, 0) }

// reserve is the fraction of the server's capacity that only admins may use: 1/reserve.
const reserve = 4

// beginOf is begin for a caller of a class. It leaves the reserve of the server's capacity to admins.
func (l *ledger) beginOf(by Class, a *account, r resource, n int64) *overLimit {
	if a.class != classServer || by == ClassAdmin {
		return l.beginBelow(a, r, n, 0)
	}
	return l.beginBelow(a, r, n, math.Floor(l.quotas[classServer][r].Value/reserve))
}

// beginShared is beginOf for the server's budgets of bytes. A caller's share, which already uses n, takes no more than
// it leaves to others: however many callers take as much as they can, the next one still gets some.
func (l *ledger) beginShared(by Class, share *account, r resource, n int64) *overLimit {
	if by == ClassAdmin {
		return l.begin(l.server, r, n)
	}
	share.mu.Lock()
	own := share.used[r-rates]
	share.mu.Unlock()
	left := math.Floor(l.quotas[classServer][r].Value / reserve)
	return l.beginBelow(l.server, r, n, left+float64(own))
}

// beginBelow is begin, but leaves a part of the quota to others.
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

// add is begin without a limit.
func (l *ledger) add(a *account, r resource, n int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.used[r-rates] += n
}

func (l *ledger) end(a *account, r resource, n int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if r == useParallel && len(a.waiting) > 0 { // the longest waiting call takes its place
		close(a.waiting[0])
		a.waiting = a.waiting[1:]
		return
	}
	a.used[r-rates] -= n
}

// beginInTurn is begin for calls in progress: a caller over the limit waits for its turn for a limited time.
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
