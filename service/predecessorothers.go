package service

import (
	"cmp"
	"iter"
	"slices"

	"maestro/events"
	"maestro/projections"
	"maestro/workers/manifest"
)

// others returns the sessions whose every entry concerns the task, newest first, but for one: what a worker of a queue,
// or a session that goes on with something else, says without naming a task may be about another one.
func (x *predecessors) others(told string) iter.Seq[*predecessor] {
	return func(yield func(*predecessor) bool) {
		for _, before := range x.sessions {
			if before.ID != told && before.about == "" && before.Strategy != events.StrategyQueue && !yield(before) {
				return
			}
		}
	}
}

// withUntold adds to the entries of the task's timeline, newest first, what other sessions said without naming a task.
func (x *predecessors) withUntold(
	newest iter.Seq[*projections.Entry], told string,
) iter.Seq[*projections.Entry] {
	return func(yield func(*projections.Entry) bool) {
		entries := slices.Collect(newest)
		for before := range x.others(told) {
			x.earlier.sessions[before.ID] = before.Session
			found := 0
			for e := range before.newest(before.timeline[max(0, len(before.timeline)-earlierLooked):]) {
				if e.TaskID != "" || before.WordKind(e) == "" {
					continue
				}
				of := *e
				of.SessionID = before.ID
				entries = append(entries, &of)
				if found++; found > earlierWords { // more are not told of all
					break
				}
			}
		}
		slices.SortStableFunc(entries, func(a, b *projections.Entry) int { return cmp.Compare(b.Sequence, a.Sequence) })
		for _, e := range entries {
			if !yield(e) {
				return
			}
		}
	}
}

// addFiles adds the files that the other sessions named, as far as there is room: the newest ones stay.
func (x *predecessors) addFiles(told *manifest.Predecessor) {
	looks, cut := newestLooked, false
	named := make(map[string]bool, len(told.Files))
	for _, name := range told.Files {
		named[name] = true
	}
	for before := range x.others(told.SessionID) {
		from := max(0, len(before.timeline)-looks)
		looks, cut = looks-(len(before.timeline)-from), cut || from > 0
		older := slices.DeleteFunc(filesIn(before.newest(before.timeline[from:])), func(name string) bool {
			again := named[name]
			named[name] = true
			return again
		})
		told.Files = append(older, told.Files...)
	}
	if over := len(told.Files) - predecessorFiles; over > 0 {
		told.Files, cut = told.Files[over:], true
	}
	if cut {
		told.LeftOut = append(told.LeftOut, "older files of the sessions before it")
	}
}
