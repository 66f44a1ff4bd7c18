package api

import (
	"encoding/base64"
	"net/http"
	"reflect"
	"strconv"
	"strings"

	"maestro/commands"
	"maestro/projections"
)

// A list comes in pages: `limit` says how many items, and the header Maestro-Next holds the cursor of the next page
// as long as there is one. The routes that older clients know answer whole lists unless a limit or a cursor is
// given.

const (
	// pageUsual is how many items a page has if none is asked for, pageMost how many it has at most.
	pageUsual = 1000
	pageMost  = 10_000
	// headerNext holds the cursor of the next page.
	headerNext = "Maestro-Next"
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
	"/api/inputs":                 true,
	"/api/inbox":                  true,
	"/api/queues":                 true,
	"/api/tokens":                 true,
	"/api/audit/denials":          true,
}

// place is where an item stands in its list: lists are in order of a number that never changes, or that alone.
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
	case sessionBody:
		return place{x.ID, x.StartedAt}, true
	case projections.EntryView:
		return place{x.ID, int64(x.Sequence)}, true
	case projections.InputView:
		return place{x.ID, x.AskedAt}, true
	case commands.Denial:
		return place{x.Actor + " " + x.ID, x.Last}, true
	case projections.InboxItem:
		id := []string{string(x.Kind), x.ProjectID, x.TaskID, x.SessionID, x.Queue, x.InputID}
		return place{strings.Join(id, " "), x.Since}, true
	}
	return place{}, false
}

// page cuts what a route answers to the page that is asked for.
func (w *response) page(v any) (any, error) {
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
	limit := pageUsual
	if text := query.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > pageMost {
			most := strconv.Itoa(pageMost)
			return nil, routeInvalid("", "limit must be a number from 1 to "+most+", not '"+printable(text)+"'")
		}
		limit = n
	}
	cursor, err := parseCursor(query.Get("cursor"))
	if err != nil {
		return nil, err
	}
	items, next := cut(list, cursor, limit)
	if next != "" {
		w.Header()[headerNext] = []string{next}
	}
	return items, nil
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
	return nil, routeInvalid("", "cursor must be what "+headerNext+" held, not '"+printable(text)+"'")
}

// cut gives the items behind a cursor, and the cursor of the page behind them. The item of the cursor may be gone
// by now: then what stands behind its place in the order follows.
func cut(list listed, after *cursor, limit int) (items []any, next string) {
	all := []any{}
	from := 0
	list.each(func(item any) bool {
		if after != nil && from == 0 {
			if at, ok := placeOf(item); ok && at.id == after.id {
				from = len(all) + 1
			}
		}
		all = append(all, item)
		return from == 0 && after != nil || len(all) <= from+limit
	})
	if after != nil && from == 0 {
		from = behind(all, after)
	}
	end := min(from+limit, len(all))
	items = all[from:end]
	if end < len(all) {
		last, _ := placeOf(all[end-1])
		next = cursor{last, end - 1}.String()
	}
	return items, next
}

// behind gives where a list goes on whose item of the cursor is gone.
func behind(all []any, after *cursor) int {
	if len(all) == 0 {
		return 0
	}
	if _, ordered := placeOf(all[0]); !ordered {
		return min(after.position+1, len(all))
	}
	for i, item := range all {
		if at, _ := placeOf(item); at.order >= after.order {
			return i
		}
	}
	return len(all)
}
