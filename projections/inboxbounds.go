package projections

import (
	"strconv"

	"maestro/events"
)

// What one session, or one queue, can add to an inbox.
const (
	// InboxListed bounds the listed items of one kind, the longest wait first; InboxLateListed the late reports, the
	// newest. One more item counts the others.
	InboxListed     = 100
	InboxLateListed = 5
	// InboxText bounds the shown part of a message, in bytes.
	InboxText = events.PreviewText
)

// itemScope is the scope of a bound: the items of a kind that one session or one queue adds.
type itemScope struct {
	kind           InboxKind
	session, queue string
}

// wanted is an item to be shown.
type wanted struct {
	found

	// more counts the items of its crowd that it stands for, 0 for an ordinary item; they wait since moreSince.
	more      int
	moreSince []int64
}

// bounded lists each crowd's items up to its bound, and replaces the others by one item in the place of their first.
// Only items that are listed, and wanted, get a text.
func (b *inbox) bounded(part InboxPart) []wanted {
	const unwanted = -1
	b.sort()
	size, seen, more := map[itemScope]int{}, map[itemScope]int{}, map[itemScope]int{}
	for i := range b.found {
		size[b.found[i].itemScope]++
	}
	var kept []wanted
	for _, f := range b.found {
		place := seen[f.itemScope]
		seen[f.itemScope]++
		listed := place < InboxListed
		if f.kind == InboxLate {
			listed = place >= size[f.itemScope]-InboxLateListed
		}
		at, counted := more[f.itemScope]
		switch {
		case listed && part.has(f):
			kept = append(kept, wanted{found: f})
			continue
		case listed, counted && at == unwanted:
			continue
		case !counted && !part.has(f):
			more[f.itemScope] = unwanted
			continue
		case !counted:
			at = len(kept)
			more[f.itemScope] = at
			kept = append(kept, wanted{found: f})
		}
		kept[at].more++
		kept[at].moreSince = append(kept[at].moreSince, f.since)
	}
	return kept
}

// StandsFor makes the item stand for n more that wait since a time.
func (item *InboxItem) StandsFor(n int, since int64) {
	item.More += n
	for range n {
		item.since = append(item.since, since)
	}
}

// others returns the item that stands for the rest of its crowd.
func (item *InboxItem) others() InboxItem {
	rest := InboxItem{
		Kind:        item.Kind,
		ProjectID:   item.ProjectID,
		SessionID:   item.SessionID,
		SessionName: item.SessionName,
		Queue:       item.Queue,
		What:        item.What,
		Since:       item.Since,
	}
	switch {
	case item.Queue != "":
		rest.SessionID, rest.SessionName, rest.What = "", "", item.Queue
		rest.Next = []string{"maestro queue list --project " + item.ProjectID + " --queue " + item.Queue}
	case item.SessionID != "":
		rest.Next = []string{"maestro inbox --session " + item.SessionID + " --kind " + string(item.Kind)}
	default:
		rest.What = item.ProjectID
		for _, status := range statusesOf(item.Kind) {
			rest.Next = append(rest.Next, "maestro task list --project "+item.ProjectID+" --status "+string(status))
		}
	}
	return rest
}

// statusesOf returns the statuses of the tasks that a kind of items without a session is about.
func statusesOf(kind InboxKind) []events.TaskStatus {
	switch kind {
	case InboxStuck:
		return []events.TaskStatus{events.TaskTodo}
	case InboxUnattended:
		return []events.TaskStatus{events.TaskInProgress, events.TaskTodo}
	default:
		return []events.TaskStatus{events.TaskBlocked}
	}
}

func (item *InboxItem) sayHowMany() {
	item.Message = strconv.Itoa(item.More) + " more of this kind"
	if item.Kind == InboxLate {
		item.Message = strconv.Itoa(item.More) + " earlier late reports"
	}
}

// cut truncates a long message at a character boundary.
func (item *InboxItem) cut() {
	item.Message, item.Cut = events.Preview(item.Message, InboxText)
}
