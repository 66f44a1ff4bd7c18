package route

import (
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"maestro/service"
	"maestro/service/wire"
)

// Param is a parameter of a route.
type Param struct {
	// In is path or query.
	Name, In, Doc string

	field []int // of the request's type; nil if the server reads it for every route
}

// paramsOf returns the parameters that the tags of a request's type declare: `path` and `query` give the name, `doc`
// the description. It panics if one is not a string.
func paramsOf(request reflect.Type) (params []Param) {
	for _, field := range reflect.VisibleFields(request) {
		for _, in := range []string{"path", "query"} {
			name := field.Tag.Get(in)
			if name == "" {
				continue
			}
			if field.Type.Kind() != reflect.String {
				panic("route: " + request.String() + "." + field.Name + " is not a string")
			}
			params = append(params, Param{
				Name:  name,
				In:    in,
				Doc:   field.Tag.Get("doc"),
				field: field.Index,
			})
		}
	}
	return params
}

// withPages adds the parameters that the server reads for every read, and for every list that comes in pages.
func withPages(params []Param, query service.Query) []Param {
	all := append(slices.Clip(params), Param{
		Name: "minSeq",
		In:   "query",
		Doc:  "wait until the views have reached this sequence",
	})
	if query.HasPast() {
		all = append(all, Param{
			Name: "at",
			In:   "query",
			Doc:  "the answer as it was after the event with this sequence, or at this time (RFC 3339)",
		})
	}
	declared := slices.ContainsFunc(params, func(p Param) bool { return p.Name == "cursor" })
	if query.InPages() && !declared {
		all = append(all, Param{
			Name: "cursor",
			In:   "query",
			Doc:  "what " + wire.HeaderNext + " of the page before held",
		})
	}
	return all
}

// bind sets the fields of a request to its parameters.
func bind(in reflect.Value, params []Param, r *http.Request) {
	for _, p := range params {
		value := r.PathValue(p.Name)
		if p.In == "query" {
			value = queryValue(r.URL.RawQuery, p.Name)
		}
		if value != "" {
			in.FieldByIndex(p.field).SetString(value)
		}
	}
}

// queryValue returns the first value of a parameter. A parameter without one is true, as in ?active. A value that is
// not encoded correctly is "".
func queryValue(query, name string) string {
	for pair := range strings.SplitSeq(query, "&") {
		key, value, given := strings.Cut(pair, "=")
		if found, err := url.QueryUnescape(key); err != nil || found != name {
			continue
		}
		if !given {
			return "true"
		}
		value, err := url.QueryUnescape(value)
		if err != nil {
			return ""
		}
		return value
	}
	return ""
}
