package api

import (
	"context"
	"net/http"
	"strings"
	"time"

	"maestro/service/wire"
)

// mailNamed bounds the number of ids in the header: clients limit the headers that they accept.
const mailNamed = 20

// heard notes that a session calls, whatever it asks for, and names its unread mail. One that has ended confirms no
// mail any more, so that only whoami names it: otherwise each of its commands would show the same mail.
func (s *server) heard(ctx context.Context, header http.Header, c *call) error {
	if len(c.Mail) > 0 && (!c.Ended || c.request.URL.Path == "/api/whoami") {
		header.Set(wire.HeaderMail, strings.Join(c.Mail[:min(len(c.Mail), mailNamed)], ","))
	}
	return s.Heard(ctx, c.Caller)
}

// lastWords is how long a client may take to read the rest of a stream once the server stops.
const lastWords = 500 * time.Millisecond

// open serves a route that may stay open for long, and gives its reader little time once the server stops.
func (s *server) open(serve http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		defer context.AfterFunc(s.Stopping, func() {
			_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(lastWords))
		})()
		serve(w, r)
	}
}
