package service

import (
	"context"
	"errors"
	"strconv"
	"time"

	"maestro/commands"
	"maestro/engine"
	"maestro/projections"
)

// The kinds of what a reader of the live views is sent.
const (
	// LiveSnapshot is a part of the views at the beginning: {"seq":…,"items":[{"kind":…,"id":…,"value":…}]}.
	LiveSnapshot = "snapshot"
	// LiveFrame is an event with the views that it changed: {"seq":…,"event":…,"changes":[…]}.
	LiveFrame = "frame"
	// LiveReady says that the reader has the views as they are after its position: {"seq":…}.
	LiveReady = "ready"
	// LiveAt only moves the position of the reader, to whom the events up to there show nothing.
	LiveAt = "at"
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
	// ready is the sequence at which the snapshot is whole, 0 once that was said.
	ready uint64
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
func (s *Service) Live(ctx context.Context, c *Caller, after Position, filter WatchFilter) (*LiveReader, error) {
	leave, err := s.admitted(ctx, c, Demand{})
	if err != nil {
		return nil, err
	}
	if err = s.mayWatch(c, filter); err == nil {
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
		at:      after,
		leave:   func() { s.Views.leave(); leave() },
	}
	r.good, r.done = s.WhileGood(ctx, c)
	err = s.checkPosition(ctx, after)
	if restart := new(RestartError); after.Sequence == 0 || errors.As(err, &restart) {
		err = r.beginSnapshot(ctx)
	}
	if err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// Position returns the position up to which everything was sent.
func (r *LiveReader) Position() Position { return r.at }

// Next returns the next message, and waits until there is one. It fails with a *Problem or *commands.Refusal when the
// caller may no longer watch, or with the error of ctx.
func (r *LiveReader) Next(ctx context.Context) (LiveMessage, error) {
	for len(r.pending) == 0 {
		if err := r.read(ctx); err != nil {
			return LiveMessage{}, err
		}
	}
	message := r.pending[0]
	r.pending = r.pending[1:]
	if message.Kind != LiveSnapshot {
		r.at = message.Position
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
	if err != nil {
		if over := r.caller.EndReason(r.good); over != nil {
			return over
		}
		return err
	}
	return r.send()
}

// beginSnapshot lists the views that a snapshot consists of.
func (r *LiveReader) beginSnapshot(ctx context.Context) (err error) {
	head := r.service.Views.list(func(key projections.ViewKey) { r.keys = append(r.keys, key) })
	r.snapshot = true
	r.at, err = r.service.positionAt(ctx, head)
	return err
}

// part encodes the next part of a snapshot. Its views may be newer than the beginning of the snapshot: the frames from
// there on follow, up to the position of the newest one.
func (r *LiveReader) part() error {
	l := r.service.Views
	l.mu.RLock()
	state, index := l.state, l.index
	if state == nil {
		l.mu.RUnlock()
		return errNotKept
	}
	r.ready = state.Head().Sequence
	var items []liveChange
	bytes := 0
	for len(r.keys) > 0 && bytes < livePart {
		item := liveView(state, index, r.keys[0], nil)
		r.keys = r.keys[1:]
		items = append(items, item)
		bytes += len(item.whole)
	}
	l.mu.RUnlock()
	data := strconv.AppendUint([]byte(`{"seq":`), r.at.Sequence, 10)
	data = append(data, `,"items":[`...)
	shown := 0
	err := r.seeing(func(s *sight) {
		for i := range items {
			if !r.shows(s, &items[i]) || string(items[i].whole) == "null" {
				continue
			}
			if shown++; shown > 1 {
				data = append(data, ',')
			}
			data = r.appendChange(data, s, &items[i])
		}
	})
	if err != nil {
		return err
	}
	if shown > 0 {
		r.pending = append(r.pending, LiveMessage{Kind: LiveSnapshot, Data: append(data, `]}`...)})
	}
	if len(r.keys) == 0 {
		if r.snapshot = false; r.ready <= r.at.Sequence {
			r.sayReady(r.at)
		}
	}
	return nil
}

// sayReady says that the snapshot is whole.
func (r *LiveReader) sayReady(at Position) {
	data := append(strconv.AppendUint([]byte(`{"seq":`), at.Sequence, 10), '}')
	r.pending = append(r.pending, LiveMessage{LiveReady, at, data})
	r.ready = 0
}

// nextFrames waits for frames behind the reader's position.
func (r *LiveReader) nextFrames(ctx context.Context) error {
	clear(r.frames)
	r.frames = r.frames[:0]
	for {
		frames, news, err := r.service.Views.from(r.at.Sequence+1, r.frames, liveBatch)
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
		if err := r.await(ctx, news); err != nil {
			return err
		}
	}
}

// await waits for news. A waiting session counts as heard.
func (r *LiveReader) await(ctx context.Context, news <-chan struct{}) error {
	hear := time.NewTimer(r.service.hearEvery())
	defer hear.Stop()
	select {
	case <-news:
	case <-r.good.Done():
		return r.good.Err()
	case <-ctx.Done():
		return ctx.Err()
	case <-hear.C:
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
		r.history = &liveHistory{p, projections.NewViewIndex(p.State())}
	}
	h := r.history
	return h.projection.Next(ctx, func() {}, func(c *engine.Commit) {
		r.frames = append(r.frames, frameOf(h.projection.State(), h.index, c))
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
	shown := false
	err := r.seeing(func(s *sight) {
		for _, f := range r.frames {
			data, ok := r.frame(s, f)
			if shown = ok; ok {
				r.pending = append(r.pending, LiveMessage{LiveFrame, f.Position, data})
			}
			if r.ready > 0 && f.Sequence >= r.ready {
				r.sayReady(f.Position)
				shown = true
			}
		}
	})
	if last := r.frames[len(r.frames)-1]; err == nil && !shown {
		r.pending = append(r.pending, LiveMessage{Kind: LiveAt, Position: last.Position})
	}
	return err
}

// seeing shows what the caller may see now. It fails when it may not watch any more.
func (r *LiveReader) seeing(see func(*sight)) (err error) {
	r.service.Handler.View(func(state *projections.State) {
		v := r.service.At(state, r.caller)
		if err = v.permitWatch(""); err == nil {
			see(newSight(v, r.filter))
		}
	})
	if over := r.service.endedSince(r.caller, err); over != nil {
		return over
	}
	return err
}

// shows reports whether the caller may see a change, and its filter selects it.
func (r *LiveReader) shows(s *sight, l *liveChange) bool {
	return (l.every || s.sees(l.project)) && r.filter.passes(l)
}

// frame encodes what a reader is shown of a frame; false if that is nothing.
func (r *LiveReader) frame(s *sight, f *liveFrame) ([]byte, bool) {
	data := append(make([]byte, 0, f.size+64), `{"seq":`...)
	data = strconv.AppendUint(data, f.Sequence, 10)
	sees := s.sees(f.event.Project)
	if sees {
		data = append(append(data, `,"event":`...), eventText(s, f)...)
	}
	data = append(data, `,"changes":[`...)
	changes := 0
	for i := range f.changes {
		if !r.shows(s, &f.changes[i]) {
			continue
		}
		if changes++; changes > 1 {
			data = append(data, ',')
		}
		data = r.appendChange(data, s, &f.changes[i])
	}
	_, by, _ := projections.SessionOfSource(f.event.Source)
	whole := sees && len(r.filter.Kinds) == 0 && r.filter.Task == "" &&
		(r.filter.Project == "" || f.event.Project == r.filter.Project) &&
		(r.filter.Session == "" || by == r.filter.Session)
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

// appendChange appends a view, or it without what the caller may not see.
func (r *LiveReader) appendChange(data []byte, s *sight, l *liveChange) []byte {
	value := l.whole
	if l.open != nil {
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

// Close ends the reading. A second Close does nothing.
func (r *LiveReader) Close() {
	r.endHistory()
	r.done()
	r.leave()
	r.leave = func() {}
}
