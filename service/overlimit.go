package service

import (
	"context"
	"math"
	"strconv"
	"strings"
	"sync"
	"time"

	"maestro/commands"
	"maestro/service/wire"
)

// over returns the answer to a caller that is over a limit.
func (s *Service) over(ctx context.Context, c *Caller, over *overLimit) *Problem {
	return s.heldBack(ctx, c, s.overFor(c, c.By, over))
}

// overFor is over without the delay. A kept command that has to wait is neither counted nor logged as a refused call.
func (s *Service) overFor(c *Caller, by commands.Actor, over *overLimit) *Problem {
	if c.delivered {
		return problemOver(by.String(), over)
	}
	return s.tooMuch(by.String(), over)
}

// codeLimited is the code of refusals that end with time.
const codeLimited = "RATE_LIMITED"

// tooMuch returns the answer to a caller that is over a limit.
func (s *Service) tooMuch(who string, over *overLimit) *Problem {
	s.limited.note(s, who, over.quota.Name)
	s.ledger.refuse(over.quota.Name)
	return problemOver(who, over)
}

func problemOver(who string, over *overLimit) *Problem {
	seconds := max(1, int(math.Ceil(over.after.Seconds())))
	p := &Problem{
		Kind:    KindBusy,
		Code:    codeLimited,
		Message: tooMany(who, over.quota.Name),
		Why:     "the limit " + over.quota.Name + " is " + over.quota.String() + ": " + over.quota.About,
		Next:    "Nothing was done. Try again in " + strconv.Itoa(seconds) + " s",
		Details: wire.OverLimit{
			Limit:      over.quota.Name,
			Value:      over.quota.Value,
			Burst:      over.quota.Burst,
			RetryAfter: seconds,
		},
		RetryAfter: time.Duration(seconds) * time.Second,
	}
	if over.class == classServer {
		p.Message = "The server has too many calls at once"
	}
	return p.Complete()
}

// tooMany says whose share of what is exceeded. The resource is the end of a quota's name.
func tooMany(who, quota string) string {
	whose, what, _ := strings.Cut(quota, "-")
	said, ok := map[string]string{
		"commands": "sent too many commands",
		"bytes":    "sent too many bytes",
		"reads":    "made too many reads",
		"spawns":   "spawned too many sessions",
		"creates":  "created too many projects",
		"uploads":  "uploaded too many bytes of manifests",
		"parallel": "too many calls in progress",
		"waits":    "too many calls waiting",
		"streams":  "too many streams open",
		"answers":  "too many answers unread",
		"bodies":   "too many bytes of requests in progress",
	}[what]
	if !ok {
		said = "made too many calls"
	}
	if whose == "project" {
		return "The sessions of the project have " + said
	}
	return strings.ToUpper(who[:1]) + who[1:] + " has " + said
}

// limitedLog logs that calls are refused, or fail: at most once a second, with their number.
type limitedLog struct {
	mu      sync.Mutex
	said    time.Time
	skipped int
}

func (l *limitedLog) note(s *Service, who, limit string) {
	if refused := l.due(); refused > 0 {
		s.Logger.Warn("rate-limited", "who", who, "limit", limit, "refused", refused)
	}
}

// due counts one more, and returns how many to log; 0 if some were logged within the last second.
func (l *limitedLog) due() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.skipped++
	now := time.Now()
	if now.Sub(l.said) < time.Second {
		return 0
	}
	told := l.skipped
	l.said, l.skipped = now, 0
	return told
}
