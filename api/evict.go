package api

import (
	"net/http"
	"time"

	"maestro/service"
)

// A new client always gets a connection: it could be the admin, and the listener cannot know before it has read the
// request. The holder with the most connections loses one.

// rooms is the fraction of the connections that calls of sessions leave to new clients: 1/rooms.
const rooms = 8

// holder is the owner of a connection: an unknown caller at an address, until a call shows a credential. project is the
// root of a session's project.
type holder struct {
	credential, project string
	class               service.Class
	// ended says that it is a session that has ended.
	ended bool
}

// holderOf returns the holder of the connection of a call.
func holderOf(c *call) holder {
	h := holder{credential: service.AccountName(c.By), class: service.ClassOf(c.By), ended: c.Ended}
	h.project = h.credential
	if h.class == service.ClassSession && c.By.Project != "" {
		h.project = "project " + c.Root
	}
	return h
}

// count adds n connections to the shares of a holder. The caller holds mu.
func (l *Listener) count(h holder, n int) {
	for share, name := range map[*map[string]int]string{&l.credentials: h.credential, &l.projects: h.project} {
		if (*share)[name] += n; (*share)[name] <= 0 {
			delete(*share, name)
		}
	}
}

// leastDue returns the connection to close so that another gets in: one of a session that has ended, or else one that
// serves no call, or else a call of a session, or else one of a reader. Among those it prefers the credential and
// project with the most connections, and then the longest idle. Calls of sessions come first once they leave hardly any
// other connections, because otherwise new clients would only close each other. It returns nil if all serve calls of
// admins. The caller holds mu.
func (l *Listener) leastDue(among func(*connection) bool) (least *connection) {
	all, free := 0, 0
	for c := range l.open {
		if among(c) {
			all++
			if !c.busy {
				free++
			}
		}
	}
	crowded := free < all/rooms
	order := func(c *connection) int {
		switch {
		case !c.busy && c.holder.ended:
			return 0
		case c.busy && c.holder.class == service.ClassSession && crowded:
			return 1
		case !c.busy:
			return 2
		case c.holder.class == service.ClassSession:
			return 3
		case c.holder.class == service.ClassReader:
			return 4
		}
		return 5
	}
	for c := range l.open {
		if !among(c) || order(c) == 5 {
			continue
		}
		if least == nil || l.before(c, least, order) {
			least = c
		}
	}
	return least
}

// before reports whether to close a connection rather than another. The caller holds mu.
func (l *Listener) before(c, other *connection, order func(*connection) int) bool {
	if a, b := order(c), order(other); a != b {
		return a < b
	}
	if a, b := l.share(c.holder), l.share(other.holder); a != b {
		return a > b
	}
	return c.idle.Before(other.idle)
}

// share is how many connections a holder has, for comparison. For sessions, many connections of one count as much as
// many sessions of one project.
func (l *Listener) share(h holder) int {
	if h.class != service.ClassSession {
		return l.credentials[h.credential]
	}
	return l.credentials[h.credential] * l.projects[h.project]
}

// served is a call on a connection.
type served struct{ on *connection }

// serving notes whose call a connection carries. The call is not busy until its body has arrived.
func serving(r *http.Request, c *call) served {
	on, ok := r.Context().Value(connectionKey{}).(*connection)
	if !ok {
		return served{}
	}
	h, l := holderOf(c), on.listener
	l.mu.Lock()
	defer l.mu.Unlock()
	on.idle = time.Now()
	if _, open := l.open[on]; open && on.holder != h {
		l.count(on.holder, -1)
		l.count(h, 1)
		on.holder = h
	}
	return served{on}
}

// begin marks the connection as busy: the whole call has arrived. A session that has ended is never busy.
func (s served) begin() { s.mark(true) }

// end marks the end of the call.
func (s served) end() { s.mark(false) }

func (s served) mark(busy bool) {
	if s.on == nil {
		return
	}
	s.on.listener.mu.Lock()
	defer s.on.listener.mu.Unlock()
	s.on.busy, s.on.idle = busy && !s.on.holder.ended, time.Now()
}
