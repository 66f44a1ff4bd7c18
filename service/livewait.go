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
	// came are the waits for which frames came since the last tell.
	came []*liveWait
}

// liveWait is what readers with the same filter wait for that have all frames. It ends with the first frame that may
// show them something.
type liveWait struct {
	topic  liveTopic
	filter liveFilter
	kinds  []projections.Kind
	// readers is how many wait.
	readers int
	// ended is closed when the wait ends; before is the position before the first frame that ended it then.
	ended  chan struct{}
	before Position
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
		w = &liveWait{topic: topic, filter: key, kinds: f.Kinds, ended: make(chan struct{})}
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

// leave ends the waiting of a reader.
func (x *liveWaits) leave(w *liveWait) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if w.readers--; w.readers == 0 && x.byTopic[w.topic][w.filter] == w {
		x.remove(w)
	}
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
				w.before = before
				x.remove(w)
				x.came = append(x.came, w)
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

// tell wakes those that wait for what came.
func (x *liveWaits) tell() {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, w := range x.came {
		close(w.ended)
	}
	clear(x.came)
	x.came = x.came[:0]
}

// tellAll wakes all.
func (x *liveWaits) tellAll() {
	x.mu.Lock()
	for _, waits := range x.byTopic {
		for _, w := range waits {
			x.came = append(x.came, w)
		}
	}
	clear(x.byTopic)
	x.mu.Unlock()
	x.tell()
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
