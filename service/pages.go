package service

import (
	"encoding/base64"
	"strconv"
	"strings"

	"maestro/internal/safetext"
	"maestro/projections"
)

// A list comes in pages: a limit gives the number of items, and each page but the last comes with the cursor of the
// next one.

// PageUsual is the default number of items of a page, PageMost the maximum.
const (
	PageUsual = 1000
	PageMost  = 10_000
)

// ReadPage parses which page is requested, from its limit and the cursor of the page before; "" means that either is
// not given.
func ReadPage(limit, cursor string) (asked PageOf, err error) {
	if asked.Limit, err = pageLimit(limit); err != nil {
		return PageOf{}, err
	}
	asked.cursor, err = parseCursor(cursor)
	if after := asked.cursor; after != nil {
		asked.After, asked.Position, asked.From = after.id, after.position, after.order
	}
	return asked, err
}

// Listed is a list that is iterated item by item.
type Listed interface{ Each(yield func(any) bool) }

// PageItem is an item of an interface's own list. It knows its place: an id, and a number that rarely changes.
type PageItem interface {
	Place() (id string, order int64)
}

// Page is a page that a query cut itself. Next is the cursor of the next page, "" if there is none.
type Page[T any] struct {
	Items []T
	Next  string
}

// CutPage is a Page of any type.
type CutPage interface {
	Cut() (items any, next string)
}

// Cut implements CutPage.
func (p Page[T]) Cut() (items any, next string) { return p.Items, p.Next }

// Cursor returns the cursor of the page after the one that ends here; "" after the last.
func (e *PageEnd) Cursor() string {
	if e == nil {
		return ""
	}
	return cursor{place{e.ID, e.Order}, e.Position}.String()
}

// Cut returns the items of the requested page, and the cursor of the page after it.
func Cut(list Listed, asked PageOf) (items []any, next string) {
	return cut(list, asked.cursor, asked.Limit)
}

// place is an item's position in its list: lists are in order of a number that rarely changes, or of the position
// alone.
type place struct {
	id    string
	order int64
}

// placeOf returns the place of an item of a list that has pages.
func placeOf(item any) (place, bool) {
	switch x := item.(type) {
	case projections.ProjectView:
		return place{x.ID, int64(x.CreatedAt)}, true
	case projections.TaskView:
		return place{x.ID, int64(x.CreatedAt)}, true
	case PageItem:
		id, order := x.Place()
		return place{id, order}, true
	case projections.EntryView:
		return place{x.ID, int64(x.Sequence)}, true
	case projections.InputView:
		return place{x.ID, int64(x.AskedAt)}, true
	case projections.InboxItem:
		id := []string{string(x.Kind), x.ProjectID, x.TaskID, x.SessionID, x.Queue, x.InputID, x.EntryID}
		return place{strings.Join(id, " "), x.Order}, true
	}
	return place{}, false
}

// pageLimit returns the number of items of a page.
func pageLimit(text string) (int, error) {
	if text == "" {
		return PageUsual, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > PageMost {
		most := strconv.Itoa(PageMost)
		return 0, InvalidRequest(
			"",
			"limit must be a number from 1 to "+most+", not '"+safetext.Printable(text)+"'",
		)
	}
	return n, nil
}

// cursor is the last item of the page before, with its position.
type cursor struct {
	place
	position int
}

func (c cursor) String() string {
	text := strconv.Itoa(c.position) + " " + strconv.FormatInt(c.order, 10) + " " + c.id
	return base64.RawURLEncoding.EncodeToString([]byte(text))
}

// parseCursor returns nil for the beginning.
func parseCursor(text string) (*cursor, error) {
	if text == "" {
		return nil, nil
	}
	decoded, err := base64.RawURLEncoding.DecodeString(text)
	parts := strings.SplitN(string(decoded), " ", 3)
	if err == nil && len(parts) == 3 {
		position, errPosition := strconv.Atoi(parts[0])
		order, errOrder := strconv.ParseInt(parts[1], 10, 64)
		if errPosition == nil && errOrder == nil {
			return &cursor{place{parts[2], order}, position}, nil
		}
	}
	return nil, InvalidRequest("",
		"cursor must be what the page before named as the next, not '"+safetext.Printable(text)+"'")
}

// cut returns the items after a cursor, and the cursor of the page after them. If the cursor's item is gone by now, it
// continues after the item's place in the order. It retains only the items of the page.
func cut(list Listed, after *cursor, limit int) (items []any, next string) {
	from := 0
	if after != nil {
		from = indexAfter(list, after)
	}
	items = []any{}
	at, more := 0, false
	list.Each(func(item any) bool {
		switch {
		case at < from:
		case len(items) < limit:
			items = append(items, item)
		default:
			more = true
		}
		at++
		return !more
	})
	if more {
		last, _ := placeOf(items[limit-1])
		next = cursor{last, from + limit - 1}.String()
	}
	return items, next
}

// indexAfter returns where a list continues after a cursor: after the cursor's item or, if that is gone, at its place
// in the order, or at its position in a list without an order.
func indexAfter(list Listed, after *cursor) int {
	at, place := 0, -1
	found, ordered := false, false
	list.Each(func(item any) bool {
		here, ok := placeOf(item)
		ordered = ordered || ok
		found = ok && here == after.place // an item that moved counts as gone
		if ok && place < 0 && here.order >= after.order {
			place = at
		}
		at++
		return !found
	})
	switch {
	case found, ordered && place < 0:
		return at
	case ordered:
		return place
	}
	return min(after.position+1, at)
}
