package service

import (
	"errors"
	"testing"

	"maestro/commands"
	"maestro/service/wire"
)

// The service decides, for every interface, what a session that has ended may read: without a query, nothing.
func TestEndedSessionQueries(t *testing.T) {
	s := newStage(t)
	ended := new(*s.worker)
	ended.Ended = true
	look := func(c *Caller) error { return s.Look(t.Context(), c, func(View) error { return nil }) }
	for query, want := range map[Query]Kind{
		"": KindNotAllowed, "session-info": -1, "input-get": -1, "task-list": KindNotAllowed, "new": KindNotAllowed,
	} {
		c := new(*ended)
		if query != "" {
			if got := kindFor(s, c, s.Ask(c, query)); got != want {
				t.Errorf("%q gets %v, not %v", query, got, want)
			}
		}
		if got := kindFor(s, c, look(c)); got != want {
			t.Errorf("a read of %q gets %v, not %v", query, got, want)
		}
	}
	if _, err := s.Since(t.Context(), new(*ended), &wire.SinceQuery{}); kindFor(s, ended, err) != KindNotAllowed {
		t.Errorf("since: %v", err)
	}
}

// A caller without a credential that may be a page in a browser cannot read the whole log.
func TestBrowserPageCannotReadLog(t *testing.T) {
	s := newStage(t)
	page := &Caller{By: commands.Admin(commands.AuthnNone), Anonymous: true}
	if _, err := s.Since(t.Context(), page, &wire.SinceQuery{}); !errors.Is(err, ErrPage) {
		t.Errorf("a page: %v", err)
	}
	page.Program = true
	if _, err := s.Since(t.Context(), page, &wire.SinceQuery{}); err != nil {
		t.Errorf("a program: %v", err)
	}
}
