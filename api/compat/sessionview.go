package compat

import (
	"maestro/projections"
	"maestro/service"
)

// Session shows a session with the types of entries that older clients know: a task that was taken from a session was
// always shown to them as completed. Nothing else shows it so.
func Session(b service.SessionBody) service.SessionBody {
	entries := b.Timeline
	b.Timeline = service.List[projections.EntryView]{Items: func(yield func(projections.EntryView) bool) {
		for e := range entries.Items {
			if e.Type == projections.TypeUnlinked {
				e.Type = "task_completed"
			}
			if !yield(e) {
				return
			}
		}
	}}
	return b
}

// Sessions shows a list of sessions as Session does.
func Sessions(list service.List[service.SessionBody]) service.List[service.SessionBody] {
	return service.List[service.SessionBody]{Items: func(yield func(service.SessionBody) bool) {
		for b := range list.Items {
			if !yield(Session(b)) {
				return
			}
		}
	}}
}
