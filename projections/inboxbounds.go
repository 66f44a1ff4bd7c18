package projections

import (
	"cmp"
	"strconv"
	"unicode/utf8"

	"maestro/events"
)

// What one session, or one queue, can add to an inbox.
const (
	// InboxListed is how many items of one kind are listed, the longest wait first; InboxLateListed how many late
	// reports, the newest. One item more says how many there are beside.
	InboxListed     = 100
	InboxLateListed = 5
	// InboxText is how much of a message is shown, in bytes.
	InboxText = events.PreviewText
)

func longestWait(x, y InboxItem) int { return cmp.Compare(x.Since, y.Since) }

// crowd is what shares a bound: the items of a kind that one session or one queue adds.
type crowd struct {
	kind           InboxKind
	session, queue string
}

func (item *InboxItem) crowd() crowd {
	if item.Queue != "" {
		return crowd{kind: item.Kind, queue: item.Queue}
	}
	return crowd{kind: item.Kind, session: item.SessionID}
}

// bounded lists what each crowd may list, and puts one item in the place of the others: where their first one stands.
func bounded(items []InboxItem) []InboxItem {
	size, seen, more := map[crowd]int{}, map[crowd]int{}, map[crowd]int{}
	for i := range items {
		size[items[i].crowd()]++
	}
	kept := make([]InboxItem, 0, len(items))
	for _, item := range items {
		of := item.crowd()
		place := seen[of]
		seen[of]++
		listed := place < InboxListed
		if item.Kind == InboxLate {
			listed = place >= size[of]-InboxLateListed
		}
		if listed {
			item.cut()
			kept = append(kept, item)
			continue
		}
		at, counted := more[of]
		if !counted {
			at = len(kept)
			more[of] = at
			kept = append(kept, item.others())
		}
		kept[at].count(item.Since)
	}
	return kept
}

// others is the item that stands for more of its crowd.
func (item *InboxItem) others() InboxItem {
	rest := InboxItem{
		Kind: item.Kind, ProjectID: item.ProjectID, SessionID: item.SessionID, Queue: item.Queue, What: item.What,
		Since: item.Since,
	}
	switch {
	case item.Queue != "":
		rest.SessionID, rest.What = "", item.Queue
		rest.Next = "maestro queue list --project " + item.ProjectID + " --queue " + item.Queue
	case item.SessionID != "":
		rest.Next = "maestro inbox --session " + item.SessionID + " --kind " + string(item.Kind)
	default:
		rest.What = item.ProjectID
		rest.Next = "maestro task list --project " + item.ProjectID + " --status " + string(events.TaskBlocked)
	}
	return rest
}

func (item *InboxItem) count(since int64) {
	item.StandsFor(1, since)
	item.Message = strconv.Itoa(item.More) + " more of this kind"
	if item.Kind == InboxLate {
		item.Message = strconv.Itoa(item.More) + " earlier late reports"
	}
}

// cut leaves the beginning of a long message, to a whole character.
func (item *InboxItem) cut() {
	item.Message, item.Cut = beginning(item.Message, InboxText)
}

// beginning gives at most so many bytes of a text, to a whole character, and whether there is more.
func beginning(text string, most int) (string, bool) {
	if len(text) <= most {
		return text, false
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most] + "…", true
}
