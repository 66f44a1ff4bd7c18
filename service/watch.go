package service

import (
	"cmp"
	"context"
	"errors"
	"time"

	"maestro/commands"
	"maestro/engine"
	"maestro/events"
	"maestro/projections"
)

// Frame is a committed event, with what it changed, as a caller may see it. Its values are immutable.
type Frame struct {
	// Position is the position after it: a watch continues from there.
	Position
	// Event is nil if the caller may see what it changed but not the event, because it belongs to another project.
	Event *events.Event
	// Changes are in order, limited to what the caller may see and its filter selects.
	Changes []projections.Change

	// stored is the stored event; nil if the caller may not read all of it.
	stored []byte
}

// Text returns the event: the stored bytes, or an event without what the caller may not see.
func (f *Frame) Text() ([]byte, error) {
	if f.stored != nil {
		return f.stored, nil
	}
	return f.Event.Append(nil)
}

// Watch returns one frame after another to a caller. It is not safe for concurrent use.
type Watch struct {
	service  *Service
	caller   *Caller
	filter   WatchFilter
	follower *engine.Follower
	good     context.Context
	done     func()
	leave    func()

	at Position
	// frames were read and not returned yet; readTo is the position up to which commits were read.
	frames []Frame
	readTo Position
}

// Watch starts to return what was committed after a position: first the history, and then what is committed from now
// on, without gaps and duplicates. It ends with the caller's credential. The caller must call Close.
//
// It fails with a *RestartError when the log has no such position, with a *Problem, or with a *commands.Refusal.
func (s *Service) Watch(ctx context.Context, c *Caller, after Position, filter WatchFilter) (*Watch, error) {
	leave, err := s.admitted(ctx, c, Demand{})
	if err != nil {
		return nil, err
	}
	if err = s.mayWatch(c, filter); err == nil {
		err = s.checkPosition(ctx, after)
	}
	if err != nil {
		leave()
		return nil, err
	}
	w, err := s.watch(ctx, c, filter, leave, func(*projections.State) (uint64, error) { return after.Sequence, nil })
	if err == nil {
		w.at = after
	}
	return w, err
}

// WatchNow shows the committed state and starts to return what is committed after it: a snapshot, and its changes. see
// must not retain the state. The watch's Position is that of the snapshot.
func (s *Service) WatchNow(
	ctx context.Context, c *Caller, filter WatchFilter, see func(View) error,
) (*Watch, error) {
	leave, err := s.admitted(ctx, c, Demand{})
	if err != nil {
		return nil, err
	}
	if err := s.mayWatch(c, filter); err != nil {
		leave()
		return nil, err
	}
	var head uint64
	w, err := s.watch(ctx, c, filter, leave, func(state *projections.State) (uint64, error) {
		head = state.Head().Sequence
		err := see(s.At(state, c))
		c.chargeSteps(int(state.Steps())) //nolint:gosec // a follower's read is bounded
		return head, err
	})
	if err != nil {
		return nil, err
	}
	if w.at, err = s.positionAt(ctx, head); err != nil {
		w.Close()
		return nil, err
	}
	return w, nil
}

// watch starts a watch for an admitted caller; leave releases it.
func (s *Service) watch(
	ctx context.Context, c *Caller, filter WatchFilter, leave func(),
	see func(*projections.State) (uint64, error),
) (*Watch, error) {
	if err := s.beginWait(ctx, c); err != nil {
		leave()
		return nil, err
	}
	follower, err := s.Handler.Follow(ctx, see)
	if err != nil {
		leave()
	}
	if errors.Is(err, engine.ErrReadTooLong) {
		return nil, tooMuchToRead()
	}
	if errors.Is(err, engine.ErrReplays) {
		return nil, tooManyReplays(err)
	}
	if err != nil {
		return nil, err
	}
	w := &Watch{
		service:  s,
		caller:   c,
		filter:   filter,
		follower: follower,
		leave:    leave,
	}
	w.good, w.done = s.WhileGood(ctx, c)
	return w, nil
}

func tooManyReplays(err error) *Problem {
	return &Problem{
		Kind:       KindBusy,
		Code:       "TOO_MANY_REQUESTS",
		Message:    "Too many watches read the history at once",
		Why:        err.Error(),
		Next:       "wait, or start from a snapshot",
		RetryAfter: time.Second,
	}
}

// mayWatch refuses a caller that may not watch at all, or not the project of its filter. It also refuses a filter that
// names a session or a task that does not exist.
func (s *Service) mayWatch(c *Caller, filter WatchFilter) (err error) {
	s.Handler.View(func(state *projections.State) {
		v := s.At(state, c)
		err = cmp.Or(v.permitWatch(filter.Project), v.namedSession(filter.Session), v.namedTask(filter.Task),
			v.permitWatchOf(filter))
	})
	return err
}

// watchRow is the row that permits a watch.
const watchRow = "watch"

func (v View) permitWatch(project string) error {
	if err := v.Permit(watchRow, ""); err != nil {
		return err
	}
	if project == "" {
		return nil
	}
	if !v.ProjectExisted(project) {
		return NotFound("Project", project)
	}
	return v.Permit(watchRow, project)
}

// permitWatchOf permits to watch the session and the task of a filter.
func (v View) permitWatchOf(filter WatchFilter) error {
	for _, project := range []string{v.SessionProject(filter.Session), v.TaskProject(filter.Task)} {
		if project == "" {
			continue
		}
		if err := v.Permit(watchRow, project); err != nil {
			return err
		}
	}
	return nil
}

// Position returns the position up to which everything was returned, including what the filter dropped.
func (w *Watch) Position() Position { return w.at }

// Next returns the next frame, and waits until there is one. It fails with a *RestartError when the reader was too
// slow, with a *Problem or *commands.Refusal when the caller may no longer watch, or with the error of ctx: then Next
// may be called again.
func (w *Watch) Next(ctx context.Context) (Frame, error) {
	for len(w.frames) == 0 {
		if err := w.read(ctx); err != nil {
			return Frame{}, err
		}
	}
	frame := w.frames[0]
	w.frames[0] = Frame{}
	w.frames = w.frames[1:]
	w.at = frame.Position
	if len(w.frames) == 0 {
		w.at = w.readTo
	}
	return frame, nil
}

// read takes the next commits, and keeps of them what the caller may see and asked for.
func (w *Watch) read(ctx context.Context) error {
	commits, err := w.wait(ctx)
	if err != nil {
		return err
	}
	w.frames = w.frames[:0]
	for i := range commits {
		if err = w.frame(&commits[i]); err != nil {
			break
		}
	}
	if over := w.service.endedSince(w.caller, err); over != nil {
		return over
	}
	if err != nil {
		return err
	}
	last := &commits[len(commits)-1]
	w.readTo = positionOf(last.Sequence, last.Body)
	if len(w.frames) == 0 {
		w.at = w.readTo
	}
	return nil
}

// frame adds what the caller may see of a commit. The changes of one event are bounded, and charged.
func (w *Watch) frame(commit *engine.Commit) (err error) {
	w.service.Handler.View(func(state *projections.State) {
		v := w.service.At(state, w.caller)
		if err = v.permitWatch(""); err != nil {
			return
		}
		if frame, ok := newSight(v, w.filter).frame(commit); ok {
			w.frames = append(w.frames, frame)
		}
	})
	w.caller.chargeSteps(len(commit.Changes) * (1 + len(w.filter.Kinds)/namesPerStep))
	return err
}

// wait returns the next commits. A waiting session counts as heard.
func (w *Watch) wait(ctx context.Context) ([]engine.Commit, error) {
	for {
		if over := w.caller.EndReason(w.good); over != nil {
			return nil, over
		}
		commits, err := w.waitOnce(ctx)
		var behind *engine.BehindError
		switch {
		case err == nil:
			return commits, nil
		case errors.As(err, &behind):
			return nil, &RestartError{w.at, "the reader was too slow: " + behind.Error()}
		case w.caller.EndReason(w.good) != nil:
			return nil, w.caller.EndReason(w.good)
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case w.good.Err() != nil:
			return nil, w.good.Err()
		case !errors.Is(err, context.DeadlineExceeded):
			return nil, err
		}
		if w.service.Leases != nil && w.caller.By.Kind == commands.ActorSession {
			if err := w.service.Leases.Heard(ctx, w.caller.By.Name); err != nil {
				return nil, err
			}
		}
	}
}

// waitOnce waits until there are commits, the credential ends, or a session is due to be noted as heard again.
func (w *Watch) waitOnce(ctx context.Context) ([]engine.Commit, error) {
	waiting, cancel := context.WithTimeout(ctx, w.service.hearEvery())
	defer cancel()
	defer context.AfterFunc(w.good, cancel)()
	return w.follower.Next(waiting)
}

// Close ends the watch. A second Close does nothing.
func (w *Watch) Close() {
	w.follower.Close()
	w.done()
	w.leave()
	w.leave = func() {}
}
