package api

import (
	"net/http"

	"maestro/service"
)

// A new client always gets a connection: it could be the admin, and the listener cannot know before it has read the
// request. The holder with the most connections loses one.

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

// served is a call on a connection.
type served struct{ on *connection }

// serving notes whose call a connection carries. The call is not busy until its body has arrived.
func serving(r *http.Request, c *call) served {
	on, ok := r.Context().Value(connectionKey{}).(*connection)
	if !ok {
		return served{}
	}
	on.listener.mu.Lock()
	defer on.listener.mu.Unlock()
	on.holder = holderOf(c)
	on.place()
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
	s.on.busy = busy && !s.on.holder.ended
	s.on.place()
}
