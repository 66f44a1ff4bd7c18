package supervisor

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"maestro/commands"
	"maestro/events"
	"maestro/internal/safetext"
	"maestro/workers/agent"
)

// usedEvery is how often what the agent used is recorded.
const usedEvery = 10 * time.Second

// mostWaiting is how many records of one kind wait for the server at most. An agent can cause as many as it wants while
// the server is away. Of the others, one record says how many they were.
const mostWaiting = 256

// record is a command that the supervisor sends as the session's runner.
type record struct {
	id   string
	body any
	key  string
	// again is how many equal ones came while it waited.
	again int
	// out says that it may have been sent: then it stays as it is.
	out bool
}

// records are sent in order, each until the server has answered. Use is summed up meanwhile, so that a server that is
// away, or a talkative agent, costs one record for many turns.
type records struct {
	calls   *calls
	session string
	number  int
	logger  *slog.Logger
	came    chan struct{}
	// blank removes secrets from a text: a record is kept for good.
	blank func(text string) string

	mu      sync.Mutex
	waiting []*record
	// leftOut counts the blocked calls that have no record of their own, of which lastOut is the tool of the last one.
	leftOut int
	lastOut string
	sent    int
	used    map[string]agent.Used
	// due says that what was used is to be sent now.
	due bool
	// counting says that something was used since the last record of it.
	counting bool
	sending  bool
	idle     *sync.Cond
}

func newRecords(
	c *calls, session string, run int, blank func(string) string, logger *slog.Logger,
) *records {
	r := &records{
		calls:   c,
		session: session,
		number:  run,
		logger:  logger,
		blank:   blank,
		came:    make(chan struct{}, 1),
		used:    map[string]agent.Used{},
	}
	r.idle = sync.NewCond(&r.mu)
	return r
}

// add appends a record; the caller holds the mutex.
func (r *records) add(id string, body any) {
	r.sent++
	r.waiting = append(r.waiting, &record{
		id:   id,
		body: body,
		key:  fmt.Sprintf("%s/%d/%d", r.session, r.number, r.sent),
	})
	r.wake()
}

func (r *records) wake() {
	select {
	case r.came <- struct{}{}:
	default: // it is told already
	}
}

// blocked records a call that was not allowed. While the server is away, equal ones become one record.
func (r *records) blocked(tool, command, reason string, killed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	tool = nameOf(tool)
	if command == "" {
		command = tool
	}
	call := commands.BlockCommand{
		SessionID: r.session,
		Run:       r.number,
		Tool:      tool,
		Command:   short(r.blank(command)),
		Reason:    short(r.blank(reason)),
		Killed:    killed,
	}
	blocked := 0
	for _, x := range r.waiting {
		before, is := x.body.(*commands.BlockCommand)
		if !is {
			continue
		}
		if blocked++; *before == call && !x.out {
			x.again++
			return
		}
	}
	if blocked >= mostWaiting && !killed { // an agent is killed once
		r.leftOut++
		r.lastOut = tool
		return
	}
	r.add("sandbox:blocked", &call)
}

// nameOf returns the name of a tool as a record can have it: an agent can invent any.
func nameOf(tool string) string { return safetext.Shorten(safetext.OneLine(tool), commands.MaxName-1) }

// addLeftOut adds the record of the blocked calls that have none; the caller holds the mutex.
func (r *records) addLeftOut() {
	if r.leftOut == 0 {
		return
	}
	r.add("sandbox:blocked", &commands.BlockCommand{
		SessionID: r.session,
		Run:       r.number,
		Tool:      r.lastOut,
		Command:   r.lastOut,
		Reason: fmt.Sprintf("%d more calls were denied while the server did not answer, this one last: see "+
			"`maestro session logs %s --of decisions`", r.leftOut, r.session),
	})
	r.leftOut, r.lastOut = 0, ""
}

// stuck records what the agent looks like. Of many that wait, the last one says what it looks like now.
func (r *records) stuck(kind events.StuckKind, detail string, since time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	looks := &commands.MarkStuck{
		SessionID: r.session,
		Run:       r.number,
		Kind:      kind,
		Detail:    short(r.blank(detail)),
		Since:     since.UnixMilli(),
	}
	var last *record
	stuck := 0
	for _, x := range r.waiting {
		if _, is := x.body.(*commands.MarkStuck); is {
			stuck++
			last = x
		}
	}
	if stuck >= mostWaiting && !last.out {
		last.body = looks
		return
	}
	r.add("session:stuck", looks)
}

// use adds to what the agent used.
func (r *records) use(u agent.Used) {
	r.mu.Lock()
	defer r.mu.Unlock()
	sum := r.used[u.Model]
	sum.Model = u.Model
	sum.Turns += u.Turns
	sum.Input += u.Input
	sum.Cached += u.Cached
	sum.Output += u.Output
	sum.Reasoning += u.Reasoning
	sum.CostMicros += u.CostMicros
	if r.used[u.Model] = sum; !r.counting {
		r.counting = true
		r.wake() // begins to wait for more
	}
}

// next returns the record to send, nil if there is none.
func (r *records) next() *record {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.waiting) == 0 {
		r.addLeftOut()
	}
	if len(r.waiting) == 0 && r.due {
		for model, u := range r.used {
			delete(r.used, model)
			usage := usageOf(u)
			if usage == (events.Usage{Model: usage.Model}) {
				continue
			}
			r.add("session:usage", &commands.UseSession{SessionID: r.session, Run: r.number, Usage: usage})
			break
		}
	}
	if len(r.waiting) == 0 {
		if r.due {
			r.due, r.counting = false, false
		}
		r.sending = false
		r.idle.Broadcast()
		return nil
	}
	r.sending = true
	first := r.waiting[0]
	if call, is := first.body.(*commands.BlockCommand); is && !first.out && first.again > 0 {
		call.Reason = short(fmt.Sprintf("(%d times) %s", first.again+1, call.Reason))
	}
	first.out = true
	return first
}

// usageOf translates what the agent used: an event counts cached tokens and reasoning apart.
func usageOf(u agent.Used) events.Usage {
	return events.Usage{
		Model:           u.Model,
		Turns:           max(u.Turns, 0),
		InputTokens:     max(u.Input-u.Cached, 0),
		CachedTokens:    max(u.Cached, 0),
		OutputTokens:    max(u.Output-u.Reasoning, 0),
		ReasoningTokens: max(u.Reasoning, 0),
		CostMicros:      max(u.CostMicros, 0),
	}
}

// run sends records until ctx ends.
func (r *records) run(ctx context.Context) {
	var later <-chan time.Time
	for {
		for record := r.next(); record != nil; record = r.next() {
			_, err := r.calls.do(ctx, r.calls.runner, record.id, record.body, record.key)
			if ctx.Err() != nil {
				return
			}
			if err != nil {
				r.logger.Warn("the server refused a record of the run", "command", record.id, "why", err)
			}
			r.mu.Lock()
			r.waiting = r.waiting[1:]
			r.mu.Unlock()
		}
		if later == nil && r.counts() {
			later = r.calls.after(usedEvery)
		}
		select {
		case <-r.came:
		case <-later:
			later = nil
			r.spend()
		case <-ctx.Done():
			return
		}
	}
}

// counts reports whether something was used that is not recorded yet.
func (r *records) counts() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.counting
}

// spend lets what was used be recorded now.
func (r *records) spend() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.due = true
	r.wake()
}

// flush waits until all records are sent, or ctx ends.
func (r *records) flush(ctx context.Context) {
	r.spend()
	defer context.AfterFunc(ctx, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.idle.Broadcast()
	})()
	r.mu.Lock()
	defer r.mu.Unlock()
	for ctx.Err() == nil && (r.sending || len(r.waiting) > 0 || len(r.used) > 0) {
		r.idle.Wait()
	}
}
