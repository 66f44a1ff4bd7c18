package projections

// InboxSearch finds what needs a person in a project, and tells of it, in as many portions as it takes. The state may
// move between two of them: each thing is told as it is when it is looked at. [State.SearchOn] takes it on, until all
// is found; then Want says what is to be told, and SearchOn takes it on again.
type InboxSearch struct {
	in    *inbox
	items []InboxItem
	// told is how many of the items are told.
	told int
}

// SearchInbox starts to search a project.
func (s *State) SearchInbox(project string) *InboxSearch {
	return &InboxSearch{in: s.listen().newInbox(project), items: []InboxItem{}}
}

// SearchOn continues until the state has counted so many steps, and reports whether all is done. concerns narrows the
// inbox to what certain sessions did, nil for everything; it is asked as the state is now.
func (s *State) SearchOn(x *InboxSearch, concerns func(session string) bool, until uint64) (done bool) {
	x.in.concerns = concerns
	return x.in.on(s, until)
}

// Stop ends the search before all is found, and names what was not looked at, or only in part; nothing if all was.
func (x *InboxSearch) Stop() (unread []string) { return x.in.stop() }

// Want says what is to be told of what was found: a part, longest wait first, and of what one session or queue does a
// limited number of items.
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

// Items returns what was told.
func (x *InboxSearch) Items() []InboxItem { return x.items[:x.told] }

func (x *InboxSearch) tell(all []wanted) {
	x.items = make([]InboxItem, len(all))
	x.in.add(each(all, func(w wanted) {
		x.told++
		x.in.item(&x.items[x.told-1], w)
	}))
}

// Inbox returns what needs a person in a project, longest wait first. concerns narrows it to what certain sessions did;
// nil for everything. Of what one session or queue does, it lists a limited number of items.
func (s *State) Inbox(project string, concerns func(session string) bool) []InboxItem {
	x := s.SearchInbox(project)
	s.SearchOn(x, concerns, untilDone)
	x.Want(InboxPart{})
	s.SearchOn(x, concerns, untilDone)
	return x.Items()
}

// InboxPart says which items of an inbox are wanted; all if it is zero.
type InboxPart struct {
	Kind InboxKind
	// From is since when they wait, at most; Most how many are wanted of those that wait for less, 0 for all.
	From int64
	Most int
}

// has reports whether an item is wanted, and counts those that wait since later than From. It is asked for one item
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
