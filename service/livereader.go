package service

import (
	"context"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"maestro/commands"
	"maestro/engine"
	"maestro/internal/safetext"
	"maestro/projections"
	"maestro/service/wire"
)

// The bounds of one part of a snapshot, in bytes, and of the frames that are looked at together.
const (
	livePart  = 64 << 10
	liveBatch = 64
)

// LiveMessage is one message to a reader. Data is JSON; Position is where the reader continues after it, the zero value
// for a part of a snapshot, which is not resumed.
type LiveMessage struct {
	Kind string
	Position
	Data []byte
}

// LiveReader gives one message after another to a caller. It is not safe for concurrent use.
type LiveReader struct {
	service *Service
	caller  *Caller
	filter  WatchFilter
	good    context.Context
	done    func()
	leave   func()

	at Position
	// keys are the views of the snapshot that were not sent yet; snapshot says that its parts are being sent.
	keys     []projections.ViewKey
	snapshot bool
	// moved says that the position is ahead of what was sent last, because the frames since then showed nothing.
	// movedAt is when the reader was last told of such a position.
	moved   bool
	movedAt time.Time
	// heardAt is when the waiting session was last noted as heard.
	heardAt time.Time
	// passed is the position after frames that show nothing, behind those that are pending.
	passed Position
	// ready is the sequence at which the snapshot is whole, 0 once that was said.
	ready uint64
	// until is the sequence at which the reading ends, if once is set.
	until uint64
	once  bool
	// history reads what is not kept any more; nil otherwise.
	history *liveHistory
	// frames were read last; pending are the messages that they became.
	frames  []*liveFrame
	pending []LiveMessage
}

// liveHistory encodes frames from the log, until they are kept.
type liveHistory struct {
	projection *engine.Projection
	index      *projections.ViewIndex
}

// Live starts to send the live views: from a position on, or a snapshot first if there is none, or if the log has no
// such position. It ends with the caller's credential. The caller must call Close. It fails with a *Problem, or with a
// *commands.Refusal.
func (s *Service) Live(ctx context.Context, c *Caller, in *wire.LiveFilter) (*LiveReader, error) {
	leave, err := s.admitted(ctx, c, Demand{})
	if err != nil {
		return nil, err
	}
	filter, after, err := liveAsked(in)
	if err == nil {
		err = s.mayWatch(c, filter)
	}
	if err == nil {
		err = s.beginWait(ctx, c)
	}
	if err == nil {
		err = s.Views.enter(ctx)
	}
	if err != nil {
		leave()
		return nil, err
	}
	r := &LiveReader{
		service: s,
		caller:  c,
		filter:  filter,
		heardAt: time.Now(),
		at:      after,
		leave:   func() { s.Views.leave(); leave() },
	}
	r.good, r.done = s.WhileGood(ctx, c)
	if err := r.begin(ctx, in.After); err != nil {
		r.Close()
		return nil, err
	}
	if in.Follow == "false" {
		r.endNow()
	}
	return r, nil
}

// begin sets where the reading begins.
func (r *LiveReader) begin(ctx context.Context, after string) (err error) {
	s := r.service
	switch after {
	case "":
		return r.beginSnapshot(ctx)
	case wire.LiveAfterNow:
		head := uint64(0)
		s.Handler.View(func(state *projections.State) { head = state.Head().Sequence })
		r.at, err = s.positionAt(ctx, head)
	default:
		err = s.checkPosition(ctx, r.at)
		if errors.As(err, new(*RestartError)) {
			return r.beginSnapshot(ctx)
		}
	}
	if err == nil { // tell the client at once that it continues from its position
		r.pending = append(r.pending, LiveMessage{Kind: wire.LiveKindAt, Position: r.at})
	}
	return err
}

// liveAsked reads what a caller asks of the live views.
func liveAsked(in *wire.LiveFilter) (filter WatchFilter, after Position, err error) {
	filter = WatchFilter{Project: in.ProjectID, Session: in.Session, Task: in.Task}
	known := wire.LiveFilter{}.KindNames()
	for kind := range strings.SplitSeq(in.Kinds, ",") {
		if kind = strings.TrimSpace(kind); kind == "" {
			continue
		}
		if !slices.Contains(known, kind) {
			return filter, after, Invalid("/kinds", "'%s' is not a kind of view; it is one of: %s",
				safetext.Printable(kind), strings.Join(known, ", "))
		}
		filter.Kinds = append(filter.Kinds, projections.Kind(kind))
	}
	if in.Follow != "" && in.Follow != "true" && in.Follow != "false" {
		return filter, after, Invalid("/follow", "follow is true or false, not '%s'", safetext.Printable(in.Follow))
	}
	if in.After != wire.LiveAfterNow {
		after, err = ParsePosition(in.After)
	}
	return filter, after, err
}

// Position returns the position up to which everything was sent.
func (r *LiveReader) Position() Position { return r.at }

// endNow ends the reading when the reader has the views as they are now.
func (r *LiveReader) endNow() {
	r.once = true
	r.service.Handler.View(func(state *projections.State) { r.until = state.Head().Sequence })
}

// isOver reports whether a reading that ends has shown everything.
func (r *LiveReader) isOver() bool {
	return r.once && !r.snapshot && r.ready == 0 && r.at.Sequence >= r.until
}

// HasNext reports whether Next returns a message without waiting.
func (r *LiveReader) HasNext() bool { return len(r.pending) > 0 }

// Next returns the next message, and waits until there is one. It fails with a *Problem or *commands.Refusal when the
// caller may no longer watch, with the error of ctx, or with io.EOF if the filter's Follow
// is false and everything was sent.
func (r *LiveReader) Next(ctx context.Context) (LiveMessage, error) {
	for len(r.pending) == 0 {
		if r.isOver() {
			return LiveMessage{}, io.EOF
		}
		if err := r.read(ctx); err != nil {
			return LiveMessage{}, err
		}
	}
	message := r.pending[0]
	r.pending = r.pending[1:]
	if message.Kind != wire.LiveKindSnapshot {
		r.at = message.Position
		r.moved = false
		if len(r.pending) == 0 && r.passed.Sequence > r.at.Sequence {
			r.at, r.moved = r.passed, true
		}
	}
	return message, nil
}

func (r *LiveReader) read(ctx context.Context) error {
	if over := r.caller.EndReason(r.good); over != nil {
		return over
	}
	if r.snapshot {
		return r.part()
	}
	err := r.nextFrames(ctx)
	switch over := r.caller.EndReason(r.good); {
	case err != nil && over != nil:
		return over
	case err != nil:
		return err
	case len(r.frames) == 0: // only the position is told
		return nil
	}
	return r.send()
}

// nextFrames waits for frames after the reader's position.
func (r *LiveReader) nextFrames(ctx context.Context) error {
	clear(r.frames)
	r.frames = r.frames[:0]
	for {
		frames, wait, err := r.service.Views.from(r.at.Sequence+1, r.frames, liveBatch, r.waitsFor())
		switch {
		case errors.Is(err, errNotKept):
			return r.fromHistory(ctx)
		case err != nil:
			return err
		case len(frames) > 0:
			r.frames = frames
			r.endHistory()
			return nil
		}
		r.endHistory()
		if err := r.await(ctx, wait); err != nil || len(r.pending) > 0 {
			return err
		}
	}
}

// waitsFor returns the filter of what wakes the reader: everything, while it waits for a sequence.
func (r *LiveReader) waitsFor() *WatchFilter {
	if r.once || r.ready > 0 {
		return &WatchFilter{}
	}
	return &r.filter
}

// tellPosition tells the reader its position, where it continues if it is cut off.
func (r *LiveReader) tellPosition(at Position) {
	r.moved, r.movedAt = false, time.Now()
	r.pending = append(r.pending, LiveMessage{Kind: wire.LiveKindAt, Position: at})
}

// await waits for frames that may be shown. The position moves past the others, and is told from time to time. A
// waiting session counts as heard.
func (r *LiveReader) await(ctx context.Context, wait *liveWait) error {
	err := r.awaitFrames(ctx, wait)
	at, came := r.service.Views.endWait(wait)
	if at.Sequence > r.at.Sequence {
		r.at, r.moved = at, true
	}
	if err == nil && !came && r.moved && time.Since(r.movedAt) >= r.service.Views.rest {
		err = r.seeing(nil) // what happened may have ended its permission
		r.tellPosition(r.at)
	}
	return err
}

// awaitFrames waits for frames that may be shown, or for the time at which the reader is told its position.
func (r *LiveReader) awaitFrames(ctx context.Context, wait *liveWait) error {
	rested := r.service.Views.rest
	if r.moved {
		rested -= time.Since(r.movedAt)
	}
	rest := time.NewTimer(rested)
	defer rest.Stop()
	hear := time.NewTimer(r.service.hearEvery() - time.Since(r.heardAt))
	defer hear.Stop()
	select {
	case <-rest.C:
	case <-wait.ended:
	case <-r.good.Done():
		return r.good.Err()
	case <-ctx.Done():
		return ctx.Err()
	case <-hear.C:
		r.heardAt = time.Now()
		if r.service.Leases != nil && r.caller.By.Kind == commands.ActorSession {
			return r.service.Leases.Heard(ctx, r.caller.By.Name)
		}
	}
	return nil
}

// fromHistory reads the next frames from the log.
func (r *LiveReader) fromHistory(ctx context.Context) error {
	if r.history == nil {
		p, err := r.service.Handler.NewProjection(ctx, r.at.Sequence)
		if errors.Is(err, engine.ErrReplays) {
			return tooManyReplays(err)
		}
		if err != nil {
			return err
		}
		r.service.Views.rereads.Add(1)
		r.history = &liveHistory{p, projections.NewViewIndex(p.State())}
	}
	h := r.history
	return h.projection.Next(ctx, func() {}, func(c *engine.Commit) {
		r.frames = append(r.frames, frameOf(h.projection.State(), h.index, c, r.service.TemplateIn))
	})
}

func (r *LiveReader) endHistory() {
	if r.history != nil {
		r.history.projection.Close()
		r.history = nil
	}
}

// send turns the frames into messages: what the caller may see of them, and what its filter selects.
func (r *LiveReader) send() error {
	lastShown := false
	see := r.seeing
	if r.ready == 0 && !slices.ContainsFunc(r.frames, r.filter.mayShow) {
		see = func(func(*sight)) error { return r.seeing(nil) }
	}
	err := see(func(s *sight) {
		for _, f := range r.frames {
			r.caller.chargeSteps(1 + len(f.changes))
			data, ok := r.frame(s, f)
			if lastShown = ok; ok {
				r.pending = append(r.pending, LiveMessage{wire.LiveKindFrame, f.Position, data})
			}
			if r.ready > 0 && f.Sequence >= r.ready {
				r.sayReady(f.Position)
				lastShown = true
			}
		}
	})
	switch last := r.frames[len(r.frames)-1].Position; {
	case err != nil || lastShown:
	case time.Since(r.movedAt) >= r.service.Views.rest:
		r.tellPosition(last)
	case len(r.pending) > 0:
		r.passed = last
	default:
		r.at, r.moved = last, true
	}
	return err
}

// seeing shows what the caller may see now; see may be nil. It fails when the caller may not watch any more.
func (r *LiveReader) seeing(see func(*sight)) (err error) {
	r.service.Handler.View(func(state *projections.State) {
		v := r.service.At(state, r.caller)
		if err = v.permitWatch(""); err == nil && see != nil {
			see(newSight(v, r.filter))
		}
	})
	if over := r.service.endedSince(r.caller, err); over != nil {
		return over
	}
	return err
}

// shows reports whether the caller may see a change, and its filter selects it; left says that the object is no longer
// among those that the filter selects.
func (r *LiveReader) shows(s *sight, l *liveChange) (shows, left bool) {
	if !l.every && !s.sees(l.project) || !s.lists(l.Kind, l.project) ||
		l.input != nil && s.maySeeQuestion(l.input) != nil {
		return false, false
	}
	return r.filter.passes(l)
}

// frame encodes what a reader is shown of a frame; false if that is nothing.
func (r *LiveReader) frame(s *sight, f *liveFrame) ([]byte, bool) {
	data := append(make([]byte, 0, f.size+64), `{"seq":`...)
	data = strconv.AppendUint(data, f.Sequence, 10)
	sees := s.sees(f.event.Project)
	if sees {
		data = append(append(data, `,"event":`...), eventText(s, f)...)
		if redacted := RedactedIn(s.State, f.event.Data); redacted != nil {
			data = append(append(data, `,"redacted":`...), encoded(redacted)...)
		}
	}
	data = append(data, `,"changes":[`...)
	changes := 0
	for i := range f.changes {
		shows, left := r.shows(s, &f.changes[i])
		if !shows {
			continue
		}
		if changes++; changes > 1 {
			data = append(data, ',')
		}
		data = r.appendChange(data, s, &f.changes[i], left)
	}
	whole := sees && r.filter.selectsEvent(f)
	return append(data, `]}`...), whole || changes > 0
}

// eventText returns the stored event, or it without what the caller may not see.
func eventText(s *sight, f *liveFrame) []byte {
	shown := s.eventAsSeen(f.event)
	if shown == f.event {
		return f.text
	}
	text, err := shown.Append(nil)
	if err != nil { // it was decoded
		panic(err)
	}
	return text
}

// appendChange appends a view, or it without what the caller may not see; null if the object left the filter.
func (r *LiveReader) appendChange(data []byte, s *sight, l *liveChange, left bool) []byte {
	value := l.whole
	switch {
	case left:
		value = []byte("null")
	case l.open != nil:
		may := r.caller.seesEnvOf(l.owner)
		if l.mail {
			may = s.readsMailOf(l.owner)
		}
		if !may {
			value = l.open
		}
	}
	data = append(append(data, `{"kind":"`...), l.Kind...)
	data = append(append(data, `","id":`...), encoded(l.ID)...)
	return append(append(append(data, `,"value":`...), value...), '}')
}

// Unread notes that the reader does not read what it is sent.
func (r *LiveReader) Unread() { r.service.Views.unread.Add(1) }

// Close ends the reading. A second Close does nothing.
func (r *LiveReader) Close() {
	r.endHistory()
	r.done()
	r.leave()
	r.leave = func() {}
}
