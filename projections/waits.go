package projections

import (
	"strconv"
	"strings"

	"maestro/events"
)

// WaitsNamed bounds the dependencies that are named as what an item waits for; the others are counted.
const WaitsNamed = 5

// WaitsLooked bounds the dependencies that one list of items examines to say what they wait for.
const WaitsLooked = 100_000

// WaitsFor says what a queued item waits for, "" if nothing. It first names what will not happen by itself.
func (s *State) WaitsFor(q *Queue, item *Item) string {
	t := s.Task(item.TaskID)
	if t == nil {
		return "its task was deleted"
	}
	if t.Status != events.TaskTodo && t.Status != events.TaskInProgress {
		return "its task is " + string(t.Status)
	}
	var named, open []string
	unmet := 0
	for _, id := range t.Dependencies {
		if s.satisfied(id, q.TrustReports) {
			continue
		}
		unmet++
		switch d := s.tasks.get(id); {
		case !d.Deleted && d.Status != events.TaskCancelled:
			if len(open) < WaitsNamed {
				open = append(open, id)
			}
		case len(named) == WaitsNamed:
		case d.Deleted:
			named = append(named, id+" (deleted)")
		default:
			named = append(named, id+" (cancelled)")
		}
	}
	if unmet == 0 {
		return ""
	}
	named = append(named, open[:min(len(open), WaitsNamed-len(named))]...)
	text := "waits for " + strings.Join(named, ", ")
	if more := unmet - len(named); more > 0 {
		text += " and " + strconv.Itoa(more) + " more"
	}
	return text
}
