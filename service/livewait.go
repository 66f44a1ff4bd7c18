package service

import (
	"slices"
	"strings"
	"sync"

	"maestro/projections"
)

// liveWaits finds the readers that a frame may show something. Most readers wait for little, and events come often:
// whoever would be shown nothing is not woken.
type liveWaits struct {
	mu      sync.Mutex
	byTopic map[liveTopic]map[liveFilter]*liveWait
	// over are the waits that ended since the last take, whose readers are not woken yet.
	over []*liveWait
}

// liveWait is what readers with the same filter wait for that have all frames. It ends with the first frame that may
// show them something.
type liveWait struct {
	topic  liveTopic
	filter liveFilter
	kinds  []projections.Kind
	// readers is how many wait.
	readers int
	// over says that the wait has ended; before is then the position before the frame that ended it. ended is closed
	// soon afterwards.
	over   bool
	before Position
	ended  chan struct{}
}

// liveFilter is a WatchFilter that can be compared.
type liveFilter struct{ project, session, task, kinds string }

// liveTopic is the narrowest thing that a filter selects by. A frame looks for waits only below its own topics.
type liveTopic struct{ session, task, project string }

// topic returns the topic below which a wait with a filter is found.
func (f *WatchFilter) topic() liveTopic {
	switch {
	case f.Session != "":
		return liveTopic{session: f.Session}
	case f.Task != "":
		return liveTopic{task: f.Task}
	}
	return liveTopic{project: f.Project}
}

// join adds a reader to those that wait with a filter. It must leave.
func (x *liveWaits) join(f *WatchFilter) *liveWait {
	kinds := make([]string, len(f.Kinds))
	for i, kind := range f.Kinds {
		kinds[i] = string(kind)
	}
	key := liveFilter{f.Project, f.Session, f.Task, strings.Join(kinds, ",")}
	topic := f.topic()
	x.mu.Lock()
	defer x.mu.Unlock()
	w := x.byTopic[topic][key]
	if w == nil {
		w = &liveWait{
			topic:  topic,
			filter: key,
			kinds:  f.Kinds,
			ended:  make(chan struct{}),
		}
		if x.byTopic == nil {
			x.byTopic = map[liveTopic]map[liveFilter]*liveWait{}
		}
		if x.byTopic[topic] == nil {
			x.byTopic[topic] = map[liveFilter]*liveWait{}
		}
		x.byTopic[topic][key] = w
	}
	w.readers++
	return w
}

// leave ends the waiting of a reader, and reports whether the wait had ended.
func (x *liveWaits) leave(w *liveWait) (over bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if w.readers--; w.readers == 0 && !w.over {
		x.remove(w)
	}
	return w.over
}

func (x *liveWaits) remove(w *liveWait) {
	delete(x.byTopic[w.topic], w.filter)
	if len(x.byTopic[w.topic]) == 0 {
		delete(x.byTopic, w.topic)
	}
}

// add finds the waits that a frame ends.
func (x *liveWaits) add(f *liveFrame, before Position) {
	x.mu.Lock()
	defer x.mu.Unlock()
	look := func(topic liveTopic) {
		for _, w := range x.byTopic[topic] {
			filter := WatchFilter{w.filter.project, w.filter.session, w.filter.task, w.kinds}
			if filter.mayShow(f) {
				x.remove(w)
				x.end(w, before)
			}
		}
	}
	look(liveTopic{})
	look(liveTopic{project: f.event.Project})
	if f.by != "" {
		look(liveTopic{session: f.by})
	}
	for i := range f.changes {
		l := &f.changes[i]
		look(liveTopic{project: l.project})
		for _, about := range []*projections.About{&l.concerns, &l.concerned} {
			for _, session := range about.Sessions {
				look(liveTopic{session: session})
			}
			for _, task := range about.Tasks {
				look(liveTopic{task: task})
			}
		}
	}
}

// endAll ends all waits.
func (x *liveWaits) endAll() {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, waits := range x.byTopic {
		for _, w := range waits {
			x.end(w, Position{})
		}
	}
	clear(x.byTopic)
}

func (x *liveWaits) end(w *liveWait, before Position) {
	w.over, w.before = true, before
	x.over = append(x.over, w)
}

// take returns the waits that have ended, whose readers are to be woken, and how many these are.
func (x *liveWaits) take() (over []*liveWait, readers int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	over, x.over = x.over, nil
	for _, w := range over {
		readers += w.readers
	}
	return over, readers
}

// wake wakes the readers of waits.
func wake(over []*liveWait) {
	for _, w := range over {
		close(w.ended)
	}
}

// selectsEvent reports whether a filter selects a frame for its event, whatever it changed.
func (f *WatchFilter) selectsEvent(frame *liveFrame) bool {
	return len(f.Kinds) == 0 && f.Task == "" &&
		(f.Project == "" || frame.event.Project == f.Project) && (f.Session == "" || frame.by == f.Session)
}

// mayShow reports whether a reader with a filter may be shown something of a frame, whatever the caller may see.
func (f *WatchFilter) mayShow(frame *liveFrame) bool {
	return f.selectsEvent(frame) || slices.ContainsFunc(frame.changes, func(l liveChange) bool {
		passes, _ := f.passes(&l)
		return passes
	})
}
