package api

import (
	"encoding/base64"
	"net/http"
	"reflect"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"maestro/api/compat"
	"maestro/internal/safetext"
	"maestro/projections"
	"maestro/service"
	"maestro/service/wire"
)

// A list comes in pages: `limit` says how many items, and the header Maestro-Next holds the cursor of the next page
// as long as there is one. The routes that older clients know answer whole lists unless a limit or a cursor is
// given.

const (
	// pageUsual is how many items a page has if none is asked for, pageMost how many it has at most.
	pageUsual = 1000
	pageMost  = 10_000
)

// PageUsual and PageMost are documented with the limits.
const (
	PageUsual = pageUsual
	PageMost  = pageMost
)

// inPages are the routes whose lists come in pages whether that is asked for or not.
var inPages = map[string]bool{
	"/api/sessions/{id}/timeline": true,
	"/api/tasks/{id}/timeline":    true,
	"/api/projects/{id}/tree":     true,
	"/api/inputs":                 true,
	"/api/inbox":                  true,
	"/api/queues":                 true,
	"/api/tokens":                 true,
	"/api/audit/denials":          true,
}

// pageParam documents the parameter that asks for the next page; nil for a route whose list comes whole.
func pageParam(path string) *huma.Param {
	if !inPages[path] {
		return nil
	}
	return &huma.Param{
		Name:        "cursor",
		In:          "query",
		Description: "what " + wire.HeaderNext + " of the page before held",
		Schema:      &huma.Schema{Type: huma.TypeString},
	}
}

// place is where an item stands in its list: lists are in order of a number that rarely changes, or that alone.
type place struct {
	id    string
	order int64
}

// placeOf gives the place of an item of a list that has pages.
func placeOf(item any) (place, bool) {
	switch x := item.(type) {
	case projections.ProjectView:
		return place{x.ID, x.CreatedAt}, true
	case projections.TaskView:
		return place{x.ID, x.CreatedAt}, true
	case compat.SessionBody:
		return place{x.ID, x.StartedAt}, true
	case projections.EntryView:
		return place{x.ID, int64(x.Sequence)}, true
	case projections.InputView:
		return place{x.ID, x.AskedAt}, true
	case projections.InboxItem:
		id := []string{string(x.Kind), x.ProjectID, x.TaskID, x.SessionID, x.Queue, x.InputID, x.EntryID}
		return place{strings.Join(id, " "), x.Order}, true
	}
	return place{}, false
}

// pageOf is a page that its route cut itself. next is the cursor of the next page, "" if there is none.
type pageOf[T any] struct {
	items []T
	next  string
}

// Schema implements huma.SchemaProvider: a page is documented as the list that it is.
func (pageOf[T]) Schema(r huma.Registry) *huma.Schema {
	return huma.SchemaFromType(r, reflect.TypeFor[[]T]())
}

func (p pageOf[T]) page() (items any, next string) { return p.items, p.next }

// page cuts what a route answers to the page that is asked for.
func (w *response) page(v any) (any, error) {
	if ready, ok := v.(interface{ page() (any, string) }); ok {
		items, next := ready.page()
		w.next(next)
		return items, nil
	}
	switch v := v.(type) {
	case service.TaskPage:
		w.next(endOf(v.Next))
		return v, nil
	case service.TreePage:
		w.next(endOf(v.Next))
		return v, nil
	}
	list, ok := v.(listed)
	if r := reflect.ValueOf(v); !ok && r.Kind() == reflect.Slice && !r.IsNil() {
		list, ok = slice{r}, true
	}
	query := w.request.URL.Query()
	_, path, _ := strings.Cut(w.request.Pattern, " ")
	asked := inPages[path] || query.Has("cursor") || query.Has("limit")
	if !ok || w.request.Method != http.MethodGet || !asked {
		return v, nil
	}
	limit, err := pageLimit(query.Get("limit"))
	if err != nil {
		return nil, err
	}
	cursor, err := parseCursor(query.Get("cursor"))
	if err != nil {
		return nil, err
	}
	items, next := cut(list, cursor, limit)
	w.next(next)
	return items, nil
}

// pageAsked reads which part of a list a request asks for.
func pageAsked(r *http.Request) (service.PageOf, error) {
	query := r.URL.Query()
	_, path, _ := strings.Cut(r.Pattern, " ")
	if !inPages[path] && !query.Has("cursor") && !query.Has("limit") {
		return service.PageOf{}, nil
	}
	limit, err := pageLimit(query.Get("limit"))
	if err != nil {
		return service.PageOf{}, err
	}
	after, err := parseCursor(query.Get("cursor"))
	if after == nil || err != nil {
		return service.PageOf{Limit: limit}, err
	}
	return service.PageOf{
		Limit:    limit,
		After:    after.id,
		Position: after.position,
		From:     after.order,
	}, nil
}

// endOf gives the cursor of the page behind one that was cut by the service.
func endOf(end *service.PageEnd) string {
	if end == nil {
		return ""
	}
	return cursor{place{end.ID, end.Order}, end.Position}.String()
}

func (w *response) next(cursor string) {
	if cursor != "" {
		w.Header()[wire.HeaderNext] = []string{cursor}
	}
}

// pageLimit gives how many items a page has.
func pageLimit(text string) (int, error) {
	if text == "" {
		return pageUsual, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > pageMost {
		most := strconv.Itoa(pageMost)
		return 0, service.InvalidRequest(
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

// parseCursor gives nil for the beginning.
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
	return nil, service.InvalidRequest("",
		"cursor must be what "+wire.HeaderNext+" held, not '"+safetext.Printable(text)+"'")
}

// cut gives the items behind a cursor, and the cursor of the page behind them. The item of the cursor may be gone
// by now: then what stands behind its place in the order follows. It keeps no item but those of the page.
func cut(list listed, after *cursor, limit int) (items []any, next string) {
	from := 0
	if after != nil {
		from = behind(list, after)
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

// behind gives where a list goes on behind a cursor: after its item or, if that is gone, at its place in the order, or
// at its position in a list without an order.
func behind(list listed, after *cursor) int {
	at, place := 0, -1
	found, ordered := false, false
	list.Each(func(item any) bool {
		here, ok := placeOf(item)
		ordered = ordered || ok
		found = ok && here == after.place // one that moved is as good as gone
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
