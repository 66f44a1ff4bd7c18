package api

import (
	"net/http"
)

// countedAs gives what a call is counted as while it is in progress. The route decides, so no query makes a call into
// one that there may be more of.
func (s *server) countedAs(r *http.Request) resource {
	route := s.routeOf(r)
	if longReads[route] {
		return useStreams
	}
	return useParallel
}

// demand is how much of each rate a request uses.
type demand [rates]float64

func demandOf(r *http.Request) (d demand) {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		d[useReads] = 1
		return d
	}
	d[useCommands] = 1
	d[useBytes] = float64(r.ContentLength)
	if r.ContentLength < 0 { // it says so only by ending
		d[useBytes] = maxRequest
	}
	return d
}
