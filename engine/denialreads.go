package engine

import "slices"

// List returns copies of the records that match, newest last.
func (d *Denials) List(wanted func(*Denial) bool) []Denial {
	return d.Newest(d.shares.bounds.Records, wanted)
}

// Newest returns copies of the newest records that match, at most limit, newest last.
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

// Page returns copies of at most limit matching records after the one with a number, in the order in which they began;
// 0 starts with the first. more reports whether others follow.
func (d *Denials) Page(after uint64, limit int, wanted func(*Denial) bool) (list []Denial, more bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	list = []Denial{}
	for at := d.shares.all.Front(); at != nil; at = at.Next() {
		r := at.Value.(*denialRecord)
		if r.Number <= after || wanted != nil && !wanted(&r.Denial) {
			continue
		}
		if len(list) == limit {
			return list, true
		}
		list = append(list, r.Denial)
	}
	return list, false
}

// Count returns the number of records that match.
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
