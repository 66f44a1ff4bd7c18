package service

import (
	"errors"
	"fmt"
	"testing"

	"maestro/commands"
	"maestro/projections"
	"maestro/service/wire"
)

// A session that the user spawned for an orchestrator may have permissions that the orchestrator lacks. So the
// orchestrator gets the secrets only of the sessions that it spawned itself.
func TestSessionSecretAccess(t *testing.T) {
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
		{"the worker itself", own.Token, ownID, own.Token, true},
		{"a worker, of the orchestrator's", own.Token, leadID, lead.Token, false},
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

// A retried spawn shows the secret of the session while it lives, and a retried creation that of the token.
func TestRetryHidesSecretOfEndedSession(t *testing.T) {
	w := newWorld(t)
	task, team := w.team()
	spawn := fmt.Sprintf(`{"taskIds":[%q]}`, task)
	retry := func() string {
		done, err := w.try(team.orchestrator, "session:spawn", spawn, "the same key")
		if err != nil {
			t.Fatal(err)
		}
		return done.Token
	}
	first := retry()
	if first == "" || retry() != first {
		t.Error("a retry while the session lives shows another secret")
	}
	w.do(w.admin(), "session:kill", `{"sessionId":"`+w.caller(first).By.Name+`"}`)
	if got := retry(); got != "" {
		t.Errorf("after its end: %q", got)
	}
	create := func() string {
		done, err := w.try(w.admin(), "token:create", `{"name":"eve","kind":"auditor"}`, "a key")
		if err != nil {
			t.Fatal(err)
		}
		return done.Token
	}
	if made := create(); made == "" || create() != made {
		t.Error("the creation of a token and its retry show different secrets, or none")
	}
	w.do(w.admin(), "token:revoke", `{"name":"eve"}`)
	if got := create(); got != "" {
		t.Errorf("after its revocation: %q", got)
	}
}

// A session that has ended is told that it may use what it may use then, and nothing else.
func TestEndedSessionLearnsWhatItMayDo(t *testing.T) {
	w := newWorld(t)
	_, team := w.team()
	allowed := func(c *Caller, id string) bool {
		var check wire.CommandCheck
		w.Handler.View(func(state *projections.State) {
			var err error
			if check, err = w.At(state, c).CheckCommand(&wire.CommandID{ID: id}); err != nil {
				t.Fatal(err)
			}
		})
		if !check.Allowed && check.Why == "" {
			t.Errorf("%s: no reason", id)
		}
		return check.Allowed
	}
	for _, id := range []string{"whoami", "task:get", "session:info", "task:complete", "session:spawn", "since"} {
		if !allowed(team.orchestrator, id) {
			t.Errorf("a living orchestrator may not use %s", id)
		}
	}
	w.do(w.admin(), "session:kill", `{"sessionId":"`+team.orchestrator.By.Name+`"}`)
	for id, want := range map[string]bool{
		"whoami": true, "task:get": true, "session:info": true,
		"task:complete": false, "session:spawn": false, "since": false, "report:progress": false,
	} {
		if got := allowed(team.orchestrator, id); got != want {
			t.Errorf("after its end it is told of %s: %t", id, got)
		}
	}
}
