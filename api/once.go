package api

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"maestro/internal/safetext"
	"maestro/service"
	"maestro/service/wire"
)

// onceHeaders are the headers whose value the API reads, besides those of checkOrigin and identify, which refuse
// repeated ones themselves. Traceparent is not included: the standard requires to ignore it.
var onceHeaders = []string{
	"Content-Type",
	wire.HeaderKey,
	wire.HeaderClient,
	wire.HeaderOccurredAt,
}

// saidOnce refuses a request that repeats a header or a query parameter: a proxy, a log or another server may use the
// other value. It also refuses a query that cannot be parsed, because a part of it would be ignored.
func saidOnce(r *http.Request) error {
	for _, name := range onceHeaders {
		if len(r.Header[name]) > 1 {
			p := service.InvalidRequest("", "The request has more than one "+name+" header")
			p.Why, p.Next = "the server cannot know which one you mean", "send the header once"
			return p
		}
	}
	if r.URL.RawQuery == "" {
		return nil
	}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return unreadableQuery(err)
	}
	for _, name := range slices.Sorted(maps.Keys(query)) {
		if len(query[name]) > 1 {
			p := service.InvalidRequest("", "The query has "+safetext.Printable(name)+" more than once")
			p.Why, p.Next = "the server cannot know which one you mean", "send it once"
			return p
		}
	}
	if query.Has("dryRun") {
		return dryRunOf(r)
	}
	return nil
}

// dryRunOf refuses ?dryRun for a request without a dry run, because the request would be executed.
func dryRunOf(r *http.Request) error {
	if r.Method == http.MethodGet || r.Method == http.MethodHead || strings.HasPrefix(r.URL.Path, commandsPath) {
		return nil
	}
	p := service.InvalidRequest("", "This route has no dry run")
	p.Why, p.Next = "only commands have one", "use POST "+commandsPath+"<command>?dryRun=true"
	return p
}

func unreadableQuery(err error) error {
	p := service.InvalidRequest("", "The query cannot be read: "+safetext.Printable(err.Error()))
	p.Why, p.Next = "a part of it would be ignored", "correct the part after the ? and send it again"
	return p
}
