package service

import (
	"unsafe"

	"maestro/projections"
)

// ItemPage is a list of a queue's items, or a page of it. The views are created while the page is written, a few at a
// time, each as of the sequence of the answer or later, so that nothing is created that nobody reads.
type ItemPage struct {
	Items List[projections.ItemView]
	// More counts the items after a page, or those that a long list omits.
	More int

	next *PageEnd
	held int64
}

// QueuePage is a [wire.QueueBody] whose items are created while it is written.
type QueuePage struct {
	projections.QueueView
	ItemPage
}

// Parts returns a queue in parts.
func (p QueuePage) Parts() (head any, names []string, members []any) {
	names, members = p.Members()
	return p.QueueView, names, members
}

// Members returns the members of the page by name, as for an object that is rendered in parts.
func (p ItemPage) Members() (names []string, members []any) {
	if p.More == 0 {
		return []string{"items"}, []any{p.Items}
	}
	return []string{"items", "itemsMore"}, []any{p.Items, p.More}
}

// NextCursor returns the cursor of the next page, "" if there is none.
func (p ItemPage) NextCursor() string { return p.next.Cursor() }

// Held is the memory that the page takes in addition to the bytes written.
func (p ItemPage) Held() int64 { return p.held }

// PageWithin is an object with one list that comes in pages.
type PageWithin interface{ NextCursor() string }

// itemViewSize is the approximate size of an item's view, including what it waits for, in bytes.
const itemViewSize = int64(unsafe.Sizeof(projections.ItemView{})) + 256

// ListItems starts to collect the items of a queue with a status, all if it is "". The returned function continues, and
// runs without the state.
func (v View) ListItems(q *projections.Queue, status string) (func() (ItemPage, error), error) {
	asked, err := v.Caller.page()
	if err != nil {
		return nil, err
	}
	search := v.SearchItems(q, withStatus(status), uint64(max(asked.From, 0)), asked.Limit)
	return func() (ItemPage, error) {
		err := v.listing(func(v View, until uint64) (done bool) { return v.ItemsOn(search, until) })
		if err != nil {
			return ItemPage{}, err
		}
		listed, more := search.Choose()
		page := ItemPage{
			Items: v.shownItems(search, listed),
			More:  more,
			held:  int64(len(listed))*itemSize + int64(min(len(listed), tasksAtOnce))*itemViewSize,
		}
		if asked.Limit > 0 && more > 0 {
			last := listed[len(listed)-1]
			page.next = &PageEnd{ID: last.TaskID, Order: int64(last.Push())} //nolint:gosec // pushes are counted
		}
		return page, nil
	}, nil
}

// shownItems creates the views of items as they are written.
func (v View) shownItems(search *projections.ItemSearch, listed []*projections.Item) List[projections.ItemView] {
	return List[projections.ItemView]{func(yield func(projections.ItemView) bool) {
		show := search.Show(listed)
		ready := make([]projections.ItemView, 0, min(len(listed), tasksAtOnce))
		for done := len(listed) == 0; !done; {
			v.again(func(v View) { ready, done = v.ViewItems(show, ready[:0], tasksAtOnce, v.portionSteps()) })
			for _, view := range ready {
				if !yield(view) {
					return
				}
			}
		}
	}}
}
