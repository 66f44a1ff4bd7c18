package webhooks

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"maestro/commands"
	"maestro/engine"
	"maestro/events"
	"maestro/projections"
	"maestro/service/wire"
)

// saveEvery is how often positions are saved: what was sent since then is sent again after a crash.
const saveEvery = time.Second

// Patience is how long a receiver may fail before its webhook is parked, unless the operator says otherwise.
const Patience = 24 * time.Hour

// Config configures a Sender. Handler, Log and Store are required.
type Config struct {
	Handler *engine.Handler
	Log     engine.Log
	Store   Store
	// Allowed are networks to which events are sent besides the public internet, also without TLS.
	Allowed []netip.Prefix
	// Patience is how long a receiver may fail before its webhook is parked.
	Patience time.Duration
	// Version is that of the program, as receivers see it.
	Version string
	Logger  *slog.Logger
}

// Source is what a Sender gets from the service.
type Source interface {
	// WebhookText returns an event as receivers see it, given with its stored text.
	WebhookText(e *events.Event, text []byte) []byte
	// WebhookSecret returns the key with which a webhook signs.
	WebhookSecret(id string, generation int) []byte
}

// Sender sends events to all webhooks of a log.
type Sender struct {
	config Config
	post   *poster

	mu sync.Mutex
	// receivers are those of webhooks that send, positions those of all, as they were when their receiver last changed.
	receivers map[string]*receiver
	positions map[string]position
	dirty     bool
	// warned is the error of the last save, so that it is logged only once.
	warned string
	// barred are webhooks of which the home does not know what they got: they are parked before anything else happens.
	barred map[string]bool
	// unparked is why a webhook could not be parked, so that it is logged only when that changes.
	unparked map[string]string
	// accepted and failed count the events that were sent.
	accepted, failed atomic.Uint64
	// changed wakes the goroutine that saves.
	changed chan struct{}
}

// New returns a Sender, which does nothing until Run. It looks which webhooks there are: one that is created afterwards
// has got nothing.
func New(config Config) *Sender {
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	if config.Patience == 0 {
		config.Patience = Patience
	}
	positions, known, err := load(config.Store)
	if err != nil {
		config.Logger.Warn("which events the webhooks have got cannot be read; they are parked", "why", err)
	}
	s := &Sender{
		config:    config,
		post:      newPoster(config.Allowed, config.Version),
		receivers: map[string]*receiver{},
		positions: positions,
		dirty:     true,
		barred:    map[string]bool{},
		unparked:  map[string]string{},
		changed:   make(chan struct{}, 1),
	}
	hooks, _ := s.hooks()
	for _, x := range hooks {
		s.barred[x.ID] = !known && x.Parked == nil
	}
	return s
}

// Run sends until ctx ends. It stops all receivers and saves their positions before it returns.
func (s *Sender) Run(ctx context.Context, source Source) {
	defer s.post.close()
	saving := make(chan struct{})
	go func() { s.saveOften(ctx); close(saving) }()
	for failures := 0; ctx.Err() == nil; {
		hooks, head := s.hooks()
		s.reconcile(ctx, source, hooks, head)
		select {
		case s.changed <- struct{}{}:
		default: // it saves soon
		}
		if !s.bar() {
			failures = 0
			s.await(ctx, hooks)
			continue
		}
		failures++ // the log took no event, such as with a full disk
		again, done := context.WithTimeout(ctx, pauseAfter(failures, longestParking))
		s.await(again, hooks)
		done()
	}
	s.stop()
	<-saving
	s.save()
}

// bar reports whether a webhook has still to be parked before positions are saved.
func (s *Sender) bar() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Contains(slices.Collect(maps.Values(s.barred)), true)
}

// await returns when a webhook is not as it was, or when ctx ends.
func (s *Sender) await(ctx context.Context, hooks []*projections.Webhook) {
	var newest uint64
	for _, x := range hooks {
		newest = max(newest, x.Changed)
	}
	_ = s.config.Handler.Await(ctx, func(state *projections.State) bool {
		there := 0
		for x := range state.Webhooks() {
			if there++; x.Changed > newest {
				return true
			}
		}
		return there != len(hooks)
	}, engine.AnyWebhook)
}

// hooks returns the webhooks and the committed head.
func (s *Sender) hooks() (hooks []*projections.Webhook, head uint64) {
	s.config.Handler.View(func(state *projections.State) {
		head = state.Head().Sequence
		for x := range state.Webhooks() {
			hooks = append(hooks, x)
		}
	})
	return hooks, head
}

// reconcile makes the receivers those of the webhooks that send. One whose webhook changed is replaced once it has
// stopped, so that no two send events of the same subject.
func (s *Sender) reconcile(ctx context.Context, source Source, hooks []*projections.Webhook, head uint64) {
	there, want := map[string]bool{}, map[string]*projections.Webhook{}
	for _, x := range hooks {
		there[x.ID] = true
		if !s.bars(ctx, x) && x.Parked == nil {
			want[x.ID] = x
		}
	}
	for id, r := range s.running() {
		if x := want[id]; x != nil && x.Changed == r.hook.Changed {
			delete(want, id)
			continue
		}
		s.end(id, r)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.barred, func(id string, _ bool) bool { return !there[id] })
	maps.DeleteFunc(s.unparked, func(id, _ string) bool { return !there[id] })
	for id := range s.positions {
		if !there[id] { // it was deleted
			delete(s.positions, id)
			s.dirty = true
		}
	}
	for id, x := range want {
		from, ok := s.positions[id]
		if !ok {
			from.Next = x.After
		}
		r := newReceiver(s, x, source, from.after(x.After, head))
		s.receivers[id], s.positions[id], s.dirty = r, r.position(), true
		r.start(ctx)
	}
}

// bars reports whether nothing may be sent to a webhook, because this home does not know what it got. It parks it,
// unless it is parked: by an earlier try, whose answer was lost.
func (s *Sender) bars(ctx context.Context, x *projections.Webhook) bool {
	s.mu.Lock()
	barred := s.barred[x.ID]
	s.mu.Unlock()
	if barred && (x.Parked != nil || s.park(ctx, x, &commands.ParkWebhook{Why: events.ParkUnknown})) {
		s.mu.Lock()
		delete(s.barred, x.ID)
		s.mu.Unlock()
	}
	return barred
}

// end stops a receiver and keeps its position.
func (s *Sender) end(id string, r *receiver) {
	r.stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.receivers, id)
	s.positions[id], s.dirty = r.position(), true
}

// stop stops all receivers.
func (s *Sender) stop() {
	for id, r := range s.running() {
		s.end(id, r)
	}
}

func (s *Sender) running() map[string]*receiver {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.receivers)
}

// park has the system park a webhook. It reports whether that was decided: if not, it has to be tried again later.
func (s *Sender) park(ctx context.Context, x *projections.Webhook, command *commands.ParkWebhook) bool {
	command.WebhookID = x.ID
	key := engine.Request{By: commands.System(), Command: command, Key: parkKey(x)}
	_, err := s.config.Handler.Do(ctx, key)
	if s.couldNotPark(x.ID, err) {
		s.config.Logger.Warn("a webhook could not be parked", "webhook", x.ID, "why", err)
	}
	if err == nil {
		s.config.Logger.Warn("a webhook is parked", "webhook", x.ID, "why", string(command.Why),
			"problem", command.Problem, "next", "see `maestro webhook get "+x.ID+"`")
	}
	return err == nil
}

// couldNotPark reports whether a failure to park a webhook is to be logged: it is tried again and again, such as while
// a disk is full, for the same reason.
func (s *Sender) couldNotPark(id string, err error) bool {
	if errors.Is(err, context.Canceled) {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.unparked[id]
	if err == nil {
		delete(s.unparked, id)
		return false
	}
	s.unparked[id] = err.Error()
	return before != err.Error()
}

// saveOften saves the positions from time to time, and when the receivers changed, until ctx ends.
func (s *Sender) saveOften(ctx context.Context) {
	tick := time.NewTicker(saveEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-s.changed:
		case <-ctx.Done():
			return
		}
		s.save()
	}
}

// save saves the positions that changed. Only one goroutine at a time may call it: of two that save at once, the one
// with the older positions could be the last.
func (s *Sender) save() {
	s.mu.Lock()
	for id, r := range s.receivers {
		if r.moved() {
			s.positions[id], s.dirty = r.position(), true
		}
	}
	if !s.dirty || slices.Contains(slices.Collect(maps.Values(s.barred)), true) {
		s.mu.Unlock() // a home without positions stays one until its webhooks are parked
		return
	}
	s.dirty = false
	positions := maps.Clone(s.positions)
	s.mu.Unlock()
	err := save(s.config.Store, positions)
	s.mu.Lock()
	defer s.mu.Unlock()
	why := ""
	if err != nil {
		s.dirty, why = true, err.Error()
	}
	if why != "" && why != s.warned { // it is tried again every second
		s.config.Logger.Warn("which events the webhooks have got could not be saved", "why", err)
	}
	s.warned = why
}

// Check refuses a URL to which nothing would be sent.
func (s *Sender) Check(url string) error { return allowed(s.config.Allowed).checkURL(url) }

// Doubt says why it is not certain that anything is sent to a URL that Check accepts; "" if nothing is known.
func (s *Sender) Doubt(url string) string { return allowed(s.config.Allowed).doubt(url) }

// TryNow tries at once what is to be tried again later.
func (s *Sender) TryNow(id string) {
	s.mu.Lock()
	r := s.receivers[id]
	s.mu.Unlock()
	if r == nil {
		return
	}
	select {
	case r.hurry <- struct{}{}:
	default: // it was told already
	}
}

// Sent counts the events that receivers accepted, and the tries that failed, since the start.
func (s *Sender) Sent() (accepted, failed uint64) { return s.accepted.Load(), s.failed.Load() }

// Delivery returns how far a webhook is; false if it was not tried yet.
func (s *Sender) Delivery(id string, head uint64) (wire.Delivery, bool) {
	s.mu.Lock()
	r, at := s.receivers[id], s.positions[id]
	_, known := s.positions[id]
	s.mu.Unlock()
	if r != nil {
		return r.delivery(head), true
	}
	// Nobody looks which of the newer events are for it.
	return wire.Delivery{UpTo: at.upTo(), Behind: head - min(head, at.upTo())}, known
}

// Test sends a message once, and says how that went.
func (s *Sender) Test(ctx context.Context, url string, secret []byte, id string, body []byte) wire.WebhookTest {
	out := s.post.post(ctx, url, secret, message{id, body})
	return wire.WebhookTest{
		ID:       id,
		Accepted: out.problem == "",
		Status:   out.status,
		Problem:  out.problem,
		Took:     out.took.Milliseconds(),
	}
}
