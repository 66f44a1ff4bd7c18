package service

import (
	"errors"
	"testing"

	"maestro/commands"
	"maestro/service/wire"
)

// A session that the user spawned for an orchestrator may have permissions that the orchestrator lacks. So the
// orchestrator gets the secrets only of the sessions that it spawned itself.
func TestWhoGetsASessionsSecret(t *testing.T) {
	w := newWorld(t)
	project := w.make(w.admin(), "project:create", `{"name":"P"}`)
	task := w.make(w.admin(), "task:create", `{"project":"`+project+`","title":"T"}`)
	spawn := func(by *Caller, more string) (Done, string) {
		done := w.do(by, "session:spawn", `{"project":"`+project+`","taskIds":["`+task+`"]`+more+`}`)
		_, id := done.Data.Aggregate()
		return done, id
	}
	lead, leadID := spawn(w.admin(), `,"role":"orchestrator"`)
	other, _ := spawn(w.admin(), `,"role":"orchestrator"`)
	own, ownID := spawn(w.caller(lead.Token), "")
	given, givenID := spawn(w.admin(), `,"role":"orchestrator","spawnedBy":"`+leadID+`"`)
	for _, one := range []struct {
		name, by, session, secret string
		may                       bool
	}{
		{"the user, of the orchestrator's", "", ownID, own.Token, true},
		{"the user, of their own", "", givenID, given.Token, true},
		{"the orchestrator, of what it spawned", lead.Token, ownID, own.Token, true},
		{"the orchestrator, of what the user spawned for it", lead.Token, givenID, given.Token, false},
		{"another orchestrator", other.Token, ownID, own.Token, false},
		{"the worker itself", own.Token, ownID, own.Token, false},
	} {
		c := w.admin()
		if one.by != "" {
			c = w.caller(one.by)
		}
		var got wire.Credential
		err := w.Look(w.Context(), c, func(v View) (err error) {
			got, err = v.GetCredential(&wire.SessionID{ID: one.session})
			return err
		})
		var refusal *commands.Refusal
		switch {
		case one.may && (err != nil || got.Token != one.secret):
			t.Errorf("%s: got %q, %v", one.name, got.Token, err)
		case !one.may && (!errors.As(err, &refusal) || refusal.Code != commands.CodeNotAllowed):
			t.Errorf("%s: got %q, %v", one.name, got.Token, err)
		}
	}
}
