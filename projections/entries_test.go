package projections

import (
	"iter"
	"slices"
	"sync"

	"maestro/events"
)

// folded holds the events that tests fold, by the hash of the chain after them: a state keeps only their places.
var folded sync.Map

func remember(e *events.Event, body []byte) {
	folded.Store(events.Next(e.PrevHash, events.BodyHash(body)), e)
}

// logOf returns the events that lead to a state.
func logOf(s *State) []*events.Event {
	log := make([]*events.Event, s.Head().Sequence)
	hash := s.Head().Hash
	for i := len(log) - 1; i >= 0; i-- {
		e, ok := folded.Load(hash)
		if !ok {
			panic("the test did not remember an event")
		}
		log[i] = e.(*events.Event)
		hash = log[i].PrevHash
	}
	return log
}

// read reads the entries of a timeline; session is that of a session's timeline.
func read(s *State, timeline Timeline, session string) (entries []*Entry) {
	log := logOf(s)
	for _, p := range timeline {
		entries = append(entries, p.Entry(log[p.Sequence()-1], session))
	}
	return entries
}

func sessionEntries(s *State, id string) []*Entry { return read(s, s.SessionTimeline(id), id) }

func taskEntries(s *State, id string) []*Entry { return read(s, s.TaskTimeline(id), "") }

func viewsOf(entries []*Entry) []EntryView {
	views := []EntryView{}
	for _, e := range entries {
		views = append(views, e.View())
	}
	return views
}

// newestFirst returns entries as SessionMessages asks for them.
func newestFirst(entries []*Entry) func(late bool) iter.Seq[*Entry] {
	return func(late bool) iter.Seq[*Entry] {
		return func(yield func(*Entry) bool) {
			for _, e := range slices.Backward(entries) {
				if e.Late == late && !yield(e) {
					return
				}
			}
		}
	}
}

// places counts the entries of all timelines.
func places(s *State) int {
	seen := map[Place]bool{}
	for state := s; state != nil; state = state.under {
		tasks, sessions := &state.taskTimelines, &state.sessionTimelines
		for _, timelines := range []map[string]Timeline{tasks.rows, tasks.sealed, sessions.rows, sessions.sealed} {
			for _, timeline := range timelines {
				for _, p := range timeline {
					seen[p>>markBits] = true
				}
			}
		}
	}
	return len(seen)
}
