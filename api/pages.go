package api

import (
	"net/http"
	"reflect"

	"maestro/service"
	"maestro/service/wire"
)

// A list comes in pages: `limit` gives the number of items, and the header Maestro-Next holds the cursor of the next
// page if there is one. The routes that older clients know return whole lists unless a limit or a cursor is given.

// page cuts a route's answer to the requested page.
func (w *response) page(v any) (any, error) {
	switch v := v.(type) {
	case service.CutPage:
		items, next := v.Cut()
		w.next(next)
		return items, nil
	case service.TaskPage:
		w.next(v.Next.Cursor())
		return v, nil
	case service.TreePage:
		w.next(v.Next.Cursor())
		return v, nil
	case service.PageWithin:
		w.next(v.NextCursor())
		return v, nil
	}
	list, ok := v.(service.Listed)
	if r := reflect.ValueOf(v); !ok && r.Kind() == reflect.Slice && !r.IsNil() {
		list, ok = slice{r}, true
	}
	if !ok || w.request.Method != http.MethodGet {
		return v, nil
	}
	asked, err := w.server.pageAsked(w.request)
	if err != nil || asked.Limit == 0 {
		return v, err
	}
	items, next := service.Cut(list, asked)
	w.next(next)
	return items, nil
}

// pageAsked parses which part of a list a request asks for.
func (s *server) pageAsked(r *http.Request) (service.PageOf, error) {
	query := r.URL.Query()
	if !s.queries[r.Pattern].InPages() && !query.Has("cursor") && !query.Has("limit") {
		return service.PageOf{}, nil
	}
	return service.ReadPage(query.Get("limit"), query.Get("cursor"))
}

func (w *response) next(cursor string) {
	if cursor != "" {
		w.Header()[wire.HeaderNext] = []string{cursor}
	}
}
