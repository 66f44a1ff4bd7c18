package service

import (
	"slices"
	"strings"
	"unsafe"
)

// pageOf creates the views of a page, in portions, and of nothing outside it: show looks an id up, and says whether it
// is shown. The cursor of the page names its last id, so the ids must be unique, and keep their order. The caller must
// not hold the state.
func pageOf[T any](
	v View, asked PageOf, rest []restOf, show func(v View, project, id string) (view T, shown bool),
) (page Page[T], err error) {
	page.Items = []T{}
	rest, at := afterCursor(rest, asked)
	var last restOf
	lastAt := 0
	held := v.holding(func() int64 { return int64(cap(page.Items)) * int64(unsafe.Sizeof(*new(T))) })
	defer held.free()
	err = v.listingWith(held, func(v View, until uint64) (done bool) {
		for ; len(rest) > 0; at++ {
			of := &rest[0]
			if len(of.ids) == 0 {
				rest = rest[1:]
				at--
				continue
			}
			if v.Steps() >= until {
				return false
			}
			view, shown := show(v, of.project, of.ids[0])
			switch {
			case shown && asked.Limit > 0 && len(page.Items) == asked.Limit:
				page.Next = cursor{place{id: last.nameOf(last.ids[0])}, lastAt}.String()
				return true
			case shown:
				page.Items = append(page.Items, view)
				last, lastAt = restOf{of.project, of.ids[:1], part{}}, at
			}
			of.ids = of.ids[1:]
		}
		return true
	})
	return page, err
}

// afterCursor returns what follows a cursor, and the number of ids before it: what follows the cursor's id or, if that
// is gone, its position.
func afterCursor(rest []restOf, asked PageOf) (left []restOf, at int) {
	if asked.cursor == nil && asked.After == "" {
		return slices.Clone(rest), 0
	}
	for i, of := range rest {
		id, ok := of.idOf(asked.After)
		if found := slices.Index(of.ids, id); ok && found >= 0 {
			left = slices.Clone(rest[i:])
			left[0].ids = of.ids[found+1:]
			return left, at + found + 1
		}
		at += len(of.ids)
	}
	left, at = slices.Clone(rest), 0
	for skip := asked.Position + 1; len(left) > 0 && skip > 0; {
		n := min(skip, len(left[0].ids))
		left[0].ids = left[0].ids[n:]
		at, skip = at+n, skip-n
		if len(left[0].ids) == 0 {
			left = left[1:]
		}
	}
	return left, at
}

// nameOf returns an id with its project, as a cursor names it.
func (r *restOf) nameOf(id string) string {
	if r.project == "" {
		return id
	}
	return r.project + "/" + id
}

// idOf is the reverse of nameOf; ok says that the name belongs to this project.
func (r *restOf) idOf(name string) (id string, ok bool) {
	if r.project == "" {
		return name, true
	}
	id, ok = strings.CutPrefix(name, r.project)
	if !ok {
		return "", false
	}
	return strings.CutPrefix(id, "/")
}
