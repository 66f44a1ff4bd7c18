package api

import (
	"net"
	"net/http"

	"maestro/service"
)

// admit admits a call, or returns the limit that it exceeds. The caller must release an admitted call.
func (s *server) admit(c *call, r *http.Request) (err error) {
	ctx, deaf := hear(r, false)
	defer deaf()
	c.admission, err = s.Admit(ctx, c.Caller, s.demandOf(r))
	return err
}

// demandOf returns what a request uses. The route alone decides, so no query parameter moves a call to a higher limit.
func (s *server) demandOf(r *http.Request) service.Demand {
	d := service.Demand{ReadsLog: s.queryOf(r).ReadsLog()}
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		return d
	}
	if isMCP(r) { // it writes only through requests of its own, which pay
		return d
	}
	d.Writes, d.Bytes = true, r.ContentLength
	if r.ContentLength < 0 { // only its end shows its length
		d.Bytes = maxRequest
	}
	return d
}

// addressOf returns the address of a caller without its port.
func addressOf(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}
