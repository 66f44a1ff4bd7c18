package engine

import "slices"

// List returns the records that a reader wants, newest last. The values are copies.
func (d *Denials) List(wanted func(*Denial) bool) []Denial {
	return d.Newest(d.shares.bounds.Records, wanted)
}

// Newest returns at most so many of the records that a reader wants: the newest, newest last. The values are copies.
func (d *Denials) Newest(limit int, wanted func(*Denial) bool) []Denial {
	d.mu.Lock()
	defer d.mu.Unlock()
	list := []Denial{}
	for at := d.shares.all.Back(); at != nil && len(list) < limit; at = at.Prev() {
		if r := at.Value.(*denialRecord); wanted == nil || wanted(&r.Denial) {
			list = append(list, r.Denial)
		}
	}
	slices.Reverse(list)
	return list
}

// Page returns at most so many of the records that a reader wants behind the one with a number, 0 for the first, in the
// order in which they began. more says that there are others behind them. The values are copies.
func (d *Denials) Page(behind uint64, limit int, wanted func(*Denial) bool) (list []Denial, more bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	list = []Denial{}
	for at := d.shares.all.Front(); at != nil; at = at.Next() {
		r := at.Value.(*denialRecord)
		if r.Number <= behind || wanted != nil && !wanted(&r.Denial) {
			continue
		}
		if len(list) == limit {
			return list, true
		}
		list = append(list, r.Denial)
	}
	return list, false
}

// Count returns how many of the records a reader wants.
func (d *Denials) Count(wanted func(*Denial) bool) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := 0
	for at := d.shares.all.Front(); at != nil; at = at.Next() {
		if wanted(&at.Value.(*denialRecord).Denial) {
			n++
		}
	}
	return n
}
