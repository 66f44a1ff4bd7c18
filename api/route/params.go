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
	// In is path, query or header.
	Name, In, Doc string
	// Words are its possible values; nil for any text.
	Words []string

	field []int // of the request's type; nil if the server reads it for every route
}

// ParamsOf returns the parameters that the tags of a request's type declare: `path` and `query` give the name, `doc`
// the description, and `flag` the possible values of some. It panics if one is not a string.
func ParamsOf(request reflect.Type) (params []Param) {
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
				Words: WordsOf(field),
				field: field.Index,
			})
		}
	}
	return params
}

// WordsOf returns the possible values of a field, which its flag tag lists; nil if it lists none.
func WordsOf(field reflect.StructField) []string {
	tag := field.Tag.Get("flag")
	words := strings.Split(tag[strings.LastIndexByte(tag, ' ')+1:], "|")
	if len(words) == 1 {
		return nil
	}
	return words
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
