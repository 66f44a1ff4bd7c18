package projections

import (
	"slices"

	"maestro/events"
)

// ItemsListed bounds the items of a queue in one answer.
const ItemsListed = 10_000

// ItemSearch collects items of a queue, in as many portions as needed; the state may change between two of them.
// [State.ItemsOn] continues the search until it is done, then Choose selects the listed items, and Show starts to show
// them.
type ItemSearch struct {
	chores

	state *State
	queue *Queue
	keep  func(*Item) bool
	// after is the push after which items are collected, most how many are wanted; 0 for all.
	after uint64
	most  int
	// last is the push after which no item is wanted; 0 while unknown.
	last  uint64
	items []*Item
	// found counts the matching items, including those that were dropped because they come after the wanted ones.
	found int
	key   []byte
}

// SearchItems starts to collect the items of a queue that keep accepts, all if it is nil: the first ones of those that
// were pushed after one, by its [Item.Push], or of all if after is 0; at most so many, or all if most is 0.
func (s *State) SearchItems(q *Queue, keep func(*Item) bool, after uint64, most int) *ItemSearch {
	x := &ItemSearch{
		state: s,
		queue: q,
		keep:  keep,
		after: after,
		most:  most,
		key:   []byte(queueKey(q.ProjectID, q.Name) + "/"),
	}
	x.add(each(s.itemTasks.get(queueKey(q.ProjectID, q.Name)), x.gather))
	return x
}

func (x *ItemSearch) gather(task string) {
	item := x.item(task)
	if item == nil || x.after > 0 && item.Push() <= x.after {
		return
	}
	x.found++
	if x.last > 0 && item.Push() > x.last {
		return
	}
	x.items = append(x.items, item)
	if x.most > 0 && len(x.items) >= 2*x.most+roomFor {
		x.cut()
	}
}

// roomFor is how many items are collected in addition to twice the wanted number, before the last ones are dropped.
const roomFor = 64

// cut drops the items after the wanted ones.
func (x *ItemSearch) cut() {
	inOrder(x.items)
	x.state.work(uint64(len(x.items)))
	clear(x.items[x.most:])
	x.items = x.items[:x.most]
	x.last = x.items[x.most-1].Push()
}

// item returns the item of a task if keep accepts it, or nil.
func (x *ItemSearch) item(task string) *Item {
	prefix := len(x.key)
	x.key = append(x.key, task...)
	item := x.state.items.at(x.key)
	x.key = x.key[:prefix]
	if item == nil || item.Removed || x.keep != nil && !x.keep(item) {
		return nil
	}
	return item
}

// ItemsOn continues until the state has counted so many steps, and reports whether it is done.
func (s *State) ItemsOn(x *ItemSearch, until uint64) (done bool) {
	x.state = s
	return x.on(s, until)
}

// Choose returns the listed items, in order of their pushes, and counts the others. Of a whole list with more than
// [ItemsListed] it drops the finished items, oldest first, and then the last ones. It does not read the state.
func (x *ItemSearch) Choose() (listed []*Item, more int) {
	inOrder(x.items)
	if x.most > 0 {
		listed = x.items[:min(x.most, len(x.items))]
		return listed, x.found - len(listed)
	}
	more = max(0, len(x.items)-ItemsListed)
	left := more
	listed = make([]*Item, 0, len(x.items)-more)
	for _, item := range x.items {
		switch {
		case left > 0 && item.done():
			left--
		case len(listed) < ItemsListed:
			listed = append(listed, item)
		}
	}
	return listed, more
}

// ItemViews creates the views of listed items, a portion at a time; the state may change between two of them.
type ItemViews struct {
	search ItemSearch
	left   []*Item
	// looks is how many more dependencies it may examine.
	looks int
}

// Show starts to create the views of the listed items.
func (x *ItemSearch) Show(listed []*Item) *ItemViews {
	return &ItemViews{
		search: ItemSearch{queue: x.queue, keep: x.keep, key: slices.Clone(x.key)},
		left:   listed,
		looks:  WaitsLooked,
	}
}

// ViewItems adds the views of the next items, until there are so many or the state has counted so many steps. An item
// that was removed since has none. It reports whether all are created.
func (s *State) ViewItems(x *ItemViews, views []ItemView, most int, until uint64) (made []ItemView, done bool) {
	x.search.state = s
	for ; len(x.left) > 0 && len(views) < most && s.Steps() < until; x.left = x.left[1:] {
		item := x.search.item(x.left[0].TaskID)
		if item == nil {
			continue
		}
		view := s.viewOfItem(item)
		if item.Status == events.ItemQueued {
			view.Waits = s.waitsWithin(&x.looks, x.search.queue, item)
		}
		views = append(views, view)
	}
	return views, len(x.left) == 0
}

// Push orders the items of a queue by their last push.
func (i *Item) Push() uint64 { return i.Place &^ notReturned }

// done reports whether the item is finished.
func (i *Item) done() bool {
	return i.Status == events.ItemCompleted || i.Status == events.ItemFailed || i.Status == events.ItemSkipped
}
