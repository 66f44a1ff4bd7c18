package projections

// InboxSearch finds and describes what needs a person in a project, in as many portions as needed. The state may change
// between two of them: each thing is described as of the time when it is examined. [State.SearchOn] continues the
// search until everything is found; then Want selects what to describe, and SearchOn continues with that.
type InboxSearch struct {
	in    *inbox
	items []InboxItem
	// told is the number of described items.
	told int
}

// InboxScope reports whether the reader of an inbox deals with a session, or with a task; each is "" for none.
type InboxScope func(session, task string) bool

// SearchInbox starts to search a project.
func (s *State) SearchInbox(project string) *InboxSearch {
	return &InboxSearch{in: s.listen().newInbox(project), items: []InboxItem{}}
}

// SearchOn continues until the state has counted so many steps, and reports whether it is done. concerns restricts the
// inbox, nil for all; it is applied to the present state.
func (s *State) SearchOn(x *InboxSearch, concerns InboxScope, until uint64) (done bool) {
	x.in.concerns = concerns
	return x.in.on(s, until)
}

// Stop ends the search early, and names what was not examined, or only in part; nothing if the search was complete.
func (x *InboxSearch) Stop() (unread []string) { return x.in.stop() }

// Found is the number of things that were found.
func (x *InboxSearch) Found() int { return len(x.in.found) }

// Size is the approximate memory that the search takes, in bytes.
func (x *InboxSearch) Size() int64 {
	const itemSize = 480 // with the words that are made for it, and while it is chosen
	return x.in.size() + int64(len(x.items))*itemSize
}

// Want selects what to describe: a part, longest wait first, with a limit for each session or queue.
func (x *InboxSearch) Want(part InboxPart) { x.tell(x.in.bounded(part)) }

// WantAll is Want without a limit for each session or queue.
func (x *InboxSearch) WantAll(part InboxPart) {
	x.in.sort()
	var all []wanted
	for _, f := range x.in.found {
		if part.has(f) {
			all = append(all, wanted{found: f})
		}
	}
	x.tell(all)
}

// Items returns the described items.
func (x *InboxSearch) Items() []InboxItem { return x.items[:x.told] }

func (x *InboxSearch) tell(all []wanted) {
	x.items = make([]InboxItem, len(all))
	x.in.add(each(all, func(w wanted) {
		x.told++
		x.in.item(&x.items[x.told-1], w)
	}))
}

// Inbox returns what needs a person in a project, longest wait first. concerns restricts it; nil for all. The items of
// each session or queue are limited.
func (s *State) Inbox(project string, concerns InboxScope) []InboxItem {
	x := s.SearchInbox(project)
	s.SearchOn(x, concerns, untilDone)
	x.Want(InboxPart{})
	s.SearchOn(x, concerns, untilDone)
	return x.Items()
}

// InboxPart selects items of an inbox; all if it is zero.
type InboxPart struct {
	Kind InboxKind
	// From is the latest beginning of their waits; Most bounds the items with shorter waits, 0 for no limit.
	From int64
	Most int
}

// has reports whether an item is wanted, and counts those with waits that began after From. It is called for one item
// after the other.
func (p *InboxPart) has(f found) bool {
	if p.Kind != "" && p.Kind != f.kind || f.since < p.From || p.Most < 0 {
		return false
	}
	if p.Most > 0 && f.since > p.From {
		if p.Most--; p.Most == 0 {
			p.Most = -1
		}
	}
	return true
}
