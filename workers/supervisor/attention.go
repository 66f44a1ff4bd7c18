package supervisor

import (
	"context"
	"fmt"
	"sync"
	"time"

	"maestro/events"
)

// loopsAt is how many equal calls in a row look like a loop. Builds and tests are repeated, but not that often without
// anything between them.
const loopsAt = 8

// attention notices an agent that looks stuck: it is silent for long, or makes the same call again and again. It says
// so once, and again when that is over.
type attention struct {
	silent time.Duration
	now    func() time.Time
	tick   <-chan time.Time
	// tell records what the agent looks like.
	tell func(kind events.StuckKind, detail string, since time.Time)

	mu    sync.Mutex
	heard time.Time
	doing string
	// same counts equal calls in a row, the first of them at began.
	last  string
	same  int
	began time.Time
	kind  events.StuckKind
	// over says that the agent has nothing left to do: whether it is silent matters no more.
	over bool
}

// heardNow notes that the agent did something.
func (a *attention) heardNow() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.heard = a.now()
	if a.kind == events.StuckSilent {
		a.say("", "", a.heard)
	}
}

// called notes a tool call.
func (a *attention) called(tool, what string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	call := tool + "\x00" + what
	a.doing = tool
	if what != "" {
		a.doing = tool + ": " + what
	}
	if call != a.last {
		a.last, a.same, a.began = call, 1, a.now()
		if a.kind == events.StuckLoop {
			a.say("", "", a.began)
		}
		return
	}
	if a.same++; a.same >= loopsAt && a.kind == "" {
		a.say(events.StuckLoop, fmt.Sprintf("it made the same call %d times in a row: %s", a.same, a.doing), a.began)
	}
}

// say changes what the agent looks like; the caller holds the mutex.
func (a *attention) say(kind events.StuckKind, detail string, since time.Time) {
	if a.kind == kind || a.over {
		return
	}
	a.kind = kind
	a.tell(kind, detail, since)
}

// lingers says that the agent goes on although its session is complete.
func (a *attention) lingers(detail string, since time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.kind = "" // it may have been silent until now
	a.say(events.StuckSilent, detail, since)
	a.over = true
}

// run looks at each tick, until ctx ends.
func (a *attention) run(ctx context.Context) {
	for {
		select {
		case <-a.tick:
			a.look()
		case <-ctx.Done():
			return
		}
	}
}

func (a *attention) look() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.heard.IsZero() || a.kind != "" || a.now().Sub(a.heard) < a.silent {
		return
	}
	detail := "it has said and done nothing"
	if a.doing != "" {
		detail = "nothing came from it since it called " + a.doing
	}
	a.say(events.StuckSilent, detail, a.heard)
}

// rest stops looking for silence while no agent runs.
func (a *attention) rest() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.heard, a.doing, a.last, a.same = time.Time{}, "", "", 0
}
