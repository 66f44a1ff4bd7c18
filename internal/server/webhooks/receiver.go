package webhooks

import (
	"container/heap"
	"context"
	"sync"
	"time"

	"maestro/commands"
	"maestro/events"
	"maestro/projections"
	"maestro/service/wire"
)

const (
	// inFlightMost is how many events a receiver gets at a time, each of another subject.
	inFlightMost = 8
	// pendingMost is how many events a receiver may have before it reads no more of the log: a subject that fails for
	// long has room for so many later ones. Of those, only keptBytes of bodies are in memory.
	pendingMost = 10_000
	keptBytes   = 4 << 20
	// readAtOnce is how many events of the log are read together.
	readAtOnce = 256
)

// receiver sends the events of one webhook. One goroutine decides what is sent; others send it.
type receiver struct {
	sender *Sender
	hook   *projections.Webhook
	source Source
	secret []byte
	cancel context.CancelFunc
	done   chan struct{}
	// hurry has it try at once what waits.
	hurry chan struct{}

	// mu guards what follows, which only the goroutine of run changes.
	mu   sync.Mutex
	next uint64
	// from is the position at which it begins; nil once its events are in lanes.
	from  *position
	lanes map[string]*lane
	// ready are lanes with an event to send, waiting those that failed, by when they are tried again.
	ready   []*lane
	waiting lanesByTime
	pending int
	kept    int
	// inFlight counts the events that are being sent.
	inFlight int
	// streak counts the failures since sending last succeeded, failed the lanes among them; since is the first one.
	streak int
	failed map[*lane]bool
	since  time.Time
	// rest is when a receiver that is away, or wants to be left alone, is tried again.
	rest    time.Time
	changed bool // since position
	last    wire.Delivery
	// asked is the command that parks the webhook, parking that the log has it, or is asked to take it.
	asked   *commands.ParkWebhook
	parking bool
}

// lane is the events of one subject, the first of which is sent until it is accepted.
type lane struct {
	subject string
	events  []item
	// failures are those of the first event, since is when it failed first. again is when it is tried again, at its
	// place among the waiting ones; -1 if it does not wait.
	failures int
	since    time.Time
	again    time.Time
	at       int
}

// item is an event of a lane. message has no body if it has to be read again.
type item struct {
	sequence uint64
	message  message
}

// sent is how sending the first event of a lane ended. err is why it was not tried.
type sent struct {
	lane *lane
	out  outcome
	err  error
	drop bool // nothing is to be sent
}

func newReceiver(s *Sender, hook *projections.Webhook, source Source, from position) *receiver {
	if from.Started != hook.StartedAt {
		from.Started, from.Failing = hook.StartedAt, nil // it is tried anew
	}
	return &receiver{
		sender: s,
		hook:   hook,
		source: source,
		secret: source.WebhookSecret(hook.ID, hook.Generation),
		done:   make(chan struct{}),
		hurry:  make(chan struct{}, 1),
		from:   &from,
		next:   from.Next,
		lanes:  map[string]*lane{},
		failed: map[*lane]bool{},
	}
}

// start begins to send until stop, or until ctx ends.
func (r *receiver) start(ctx context.Context) {
	ctx, r.cancel = context.WithCancel(ctx)
	go func() {
		defer close(r.done)
		r.run(ctx)
	}()
}

// stop ends what is in progress, and waits for that.
func (r *receiver) stop() {
	r.cancel()
	<-r.done
}

// run is the loop of a receiver: it reads what is new, begins to send what can be sent, and waits.
func (r *receiver) run(ctx context.Context) {
	news, results := make(chan struct{}, 1), make(chan sent, inFlightMost)
	tail := make(chan struct{})
	go func() { r.follow(ctx, news); close(tail) }()
	defer func() { <-tail }()
	defer func() {
		for range r.inFlight {
			<-results
			r.over()
		}
	}()
	var broken time.Duration
	for ctx.Err() == nil {
		more, err := r.fill(ctx)
		if err != nil && ctx.Err() == nil {
			r.sender.config.Logger.Warn("a webhook cannot read the log", "webhook", r.hook.ID, "why", err)
			broken = min(max(2*broken, time.Second), time.Minute)
		} else {
			broken = 0
		}
		wake, takes := r.dispatch(ctx, results)
		if more && takes && broken == 0 {
			continue // there may be events of other subjects
		}
		r.wait(ctx, news, results, wake, broken)
	}
}

// wait returns when there is something to do.
func (r *receiver) wait(
	ctx context.Context, news <-chan struct{}, results <-chan sent, wake time.Time, broken time.Duration,
) {
	var timer <-chan time.Time
	if !wake.IsZero() {
		timer = time.After(time.Until(wake))
	}
	var again <-chan time.Time
	if broken > 0 {
		news, again = nil, time.After(broken)
	}
	if r.full() {
		news = nil
	}
	select {
	case <-ctx.Done():
	case <-news:
	case <-again:
	case <-timer:
	case <-r.hurry:
		r.mu.Lock()
		r.tryAll()
		r.rest = time.Time{}
		r.mu.Unlock()
	case s := <-results:
		r.over()
		r.settle(ctx, s)
	}
}

func (r *receiver) full() bool { return r.pending >= pendingMost }

// over notes that a request has ended.
func (r *receiver) over() {
	r.mu.Lock()
	r.inFlight--
	r.mu.Unlock()
}

// fill reads events of the log into the lanes, some at a time, and reports whether there are more.
func (r *receiver) fill(ctx context.Context) (more bool, err error) {
	if r.from != nil {
		if err := r.restore(ctx); err != nil {
			return false, err
		}
	}
	head := r.mine()
	if r.full() || r.next >= head {
		return false, nil
	}
	to := min(head, r.next+readAtOnce)
	var read []item
	var subjects []string
	err = r.sender.config.Log.Read(ctx, r.next+1, to, func(m events.Message) error {
		event, err := events.Decode(m.Body)
		if err != nil {
			return &events.DamageError{Sequence: m.Sequence, Why: err.Error()}
		}
		if r.hook.Wants(event) {
			text := r.source.WebhookText(event, m.Body)
			read = append(read, item{m.Sequence, message{event.ID.String(), text}})
			subjects = append(subjects, subjectOf(event))
		}
		return nil
	})
	if err != nil {
		return false, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, x := range read {
		if r.kept+len(x.message.body) > keptBytes {
			x.message.body = nil
		}
		r.kept += len(x.message.body)
		r.add(subjects[i], x)
	}
	r.next, r.changed = to, true
	return to < head, nil
}

func subjectOf(e *events.Event) string {
	kind, id := e.Data.Aggregate()
	return e.Project + "/" + kind + "/" + id
}

// add puts an event at the end of its lane. The caller holds mu.
func (r *receiver) add(subject string, x item) *lane {
	l := r.lanes[subject]
	if l == nil {
		l = &lane{subject: subject, at: -1}
		r.lanes[subject] = l
		r.ready = append(r.ready, l)
	}
	l.events = append(l.events, x)
	r.pending++
	return l
}

// dispatch begins to send what can be sent. It returns when something else can be, zero if only an answer or a new
// event can change that, and whether more could be sent now if there was more.
func (r *receiver) dispatch(ctx context.Context, results chan<- sent) (wake time.Time, takes bool) {
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.waiting) > 0 && !r.waiting[0].again.After(now) {
		r.ready = append(r.ready, heap.Pop(&r.waiting).(*lane))
	}
	most := inFlightMost
	if r.away() {
		most = 1
	}
	rests := r.rest.After(now)
	for len(r.ready) > 0 && r.inFlight < most && !rests && !r.parking {
		l := r.ready[0]
		r.ready = r.ready[1:]
		r.inFlight++
		first := l.events[0]
		go func() { results <- r.send(ctx, l, first) }()
	}
	switch {
	case r.parking || r.inFlight >= most:
		return time.Time{}, false
	case rests && (len(r.ready) > 0 || len(r.waiting) > 0):
		return r.rest, false
	case len(r.waiting) > 0:
		wake = r.waiting[0].again
	}
	return wake, !rests && !r.full()
}

// away reports whether the receiver seems to be away: nothing was accepted since sending failed in several subjects.
func (r *receiver) away() bool { return len(r.failed) >= awayAfter }

// send sends the first event of a lane once.
func (r *receiver) send(ctx context.Context, l *lane, x item) sent {
	m := x.message
	if m.body == nil {
		wanted := false
		err := r.sender.config.Log.Read(ctx, x.sequence, x.sequence, func(stored events.Message) error {
			event, err := events.Decode(stored.Body)
			if err != nil {
				return err
			}
			wanted = r.hook.Wants(event) // it may have got other types since
			m = message{event.ID.String(), r.source.WebhookText(event, stored.Body)}
			return nil
		})
		if err != nil || !wanted {
			return sent{lane: l, err: err, drop: err == nil}
		}
	}
	return sent{lane: l, out: r.sender.post.post(ctx, r.hook.URL, r.secret, m)}
}

// settle does what follows from a request.
func (r *receiver) settle(ctx context.Context, s sent) {
	if ctx.Err() != nil { // it was broken off
		return
	}
	if s.err != nil {
		s.out.problem = "the event cannot be read from the log"
	}
	now := time.Now()
	r.mu.Lock()
	if !s.drop {
		r.last.LastStatus, r.last.Problem = s.out.status, s.out.problem
		r.last.TriedAt = millis(now)
	}
	if s.out.problem == "" {
		r.accepted(s, now)
		r.mu.Unlock()
		return
	}
	r.refused(s, now)
	command := r.park(s, now)
	r.mu.Unlock()
	if command != nil && !r.sender.park(ctx, r.hook, command) {
		r.mu.Lock()
		r.parking = false
		r.mu.Unlock()
	}
}

func millis(at time.Time) *events.Millis {
	ms := events.Millis(at.UnixMilli())
	return &ms
}

// accepted goes on to the next event of a lane. The caller holds mu.
func (r *receiver) accepted(s sent, now time.Time) {
	l := s.lane
	r.kept -= len(l.events[0].message.body)
	l.events[0] = item{}
	l.events = l.events[1:]
	l.failures, l.since = 0, time.Time{}
	r.pending--
	r.changed = true
	if len(l.events) == 0 {
		delete(r.lanes, l.subject)
	} else {
		r.ready = append(r.ready, l)
	}
	if s.drop {
		return
	}
	r.last.Accepted++
	r.sender.accepted.Add(1)
	r.last.AcceptedAt = millis(now)
	if r.away() { // it is back
		r.tryAll()
	}
	r.streak, r.since, r.rest = 0, time.Time{}, time.Time{}
	clear(r.failed)
}

// tryAll lets nobody wait any longer. The caller holds mu.
func (r *receiver) tryAll() {
	for _, l := range r.waiting {
		l.at = -1
		r.ready = append(r.ready, l)
	}
	r.waiting = nil
}

// refused has a lane wait. The caller holds mu.
func (r *receiver) refused(s sent, now time.Time) {
	l := s.lane
	r.sender.failed.Add(1)
	if l.failures++; l.failures == 1 {
		l.since = now
	}
	if r.streak++; r.streak == 1 {
		r.since = now
	}
	r.failed[l] = true
	l.again = now.Add(pauseAfter(l.failures, longestPause))
	if wait := s.out.retryAfter; wait > 0 {
		r.rest = now.Add(wait)
	} else if r.away() {
		r.rest = now.Add(pauseAfter(r.streak-awayAfter+1, longestProbe))
	}
	heap.Push(&r.waiting, l)
	r.changed = true
}

// park returns the command that parks the webhook, nil if the server is still patient, or the webhook is parked
// already: several requests may end at the same moment. A try whose answer was lost is repeated as it was, because a
// request with its key may not ask for anything else. The caller holds mu.
func (r *receiver) park(s sent, now time.Time) *commands.ParkWebhook {
	if r.parking {
		return nil
	}
	command := r.whyPark(s, now)
	if command == nil {
		return nil
	}
	if r.asked == nil {
		r.asked = command
	}
	r.parking = true
	return r.asked
}

// whyPark returns the command that parks the webhook, nil if the server is still patient. The caller holds mu.
func (r *receiver) whyPark(s sent, now time.Time) *commands.ParkWebhook {
	failures, since := s.lane.failures, s.lane.since
	if r.away() && r.since.Before(since) {
		failures, since = r.streak, r.since
	}
	command := &commands.ParkWebhook{
		Why:        events.ParkFailing,
		Failures:   failures,
		FailingFor: now.Sub(since).Milliseconds(),
		Patience:   r.sender.config.Patience.Milliseconds(),
		Problem:    s.out.problem,
	}
	switch {
	case s.out.status == statusGone:
		command.Why = events.ParkGone
		return command
	case failures >= commands.MinParkFailures && command.FailingFor >= command.Patience:
		return command
	}
	return nil
}

// statusGone is the status with which a receiver says that it wants nothing more.
const statusGone = 410
