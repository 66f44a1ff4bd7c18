package service

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"maestro/service/wire"
)

// The answer to a revocation names the tokens that it keeps and the sessions that continue.
func TestRevocationNamesWhatContinues(t *testing.T) {
	w := newWorld(t)
	project := w.make(w.admin(), "project:create", `{"name":"P"}`)
	task := w.make(w.admin(), "task:create", `{"project":"`+project+`","title":"T"}`)
	maker := w.token(`{"name":"maker","kind":"admin"}`)
	child := w.caller(w.do(maker, "token:create", `{"name":"child","kind":"admin"}`).Token)
	spawn := `{"project":"` + project + `","taskIds":["` + task + `"]}`
	w.do(w.admin(), "session:spawn", spawn)
	w.do(maker, "session:spawn", spawn)
	ended := w.make(child, "session:spawn", spawn)
	w.do(child, "session:spawn", spawn)
	w.do(w.admin(), "session:kill", `{"sessionId":"`+ended+`"}`)
	if done, err := w.try(w.admin(), "session:kill", `{"sessionId":"`+ended+`"}`, "k"); err != nil ||
		done.Revoked != nil {
		t.Errorf("the answer to another command has %+v, %v", done.Revoked, err)
	}
	for _, step := range []struct{ body, want string }{
		{`{"name":"maker","keepChildren":true}`, "&{[child] 1}"},
		{`{"name":"maker","keepChildren":true}`, "&{[child] 1}"}, // already revoked
		{`{"name":"maker"}`, "&{[] 2}"},
	} {
		if got := fmt.Sprint(w.do(w.admin(), "token:revoke", step.body).Revoked); got != step.want {
			t.Errorf("the answer to %s has %s, expected %s", step.body, got, step.want)
		}
	}
}

// Sessions continue when the token that spawned them expires. The list of tokens and the project's status name them
// until they end, or the token is revoked or created again.
func TestSessionsOfAnExpiredTokenAreNamed(t *testing.T) {
	for name, deal := range map[string]func(w *world, session string){
		"ended": func(w *world, session string) { w.do(w.admin(), "session:kill", `{"sessionId":"`+session+`"}`) },
		"revoked": func(w *world, _ string) {
			if told := w.do(w.admin(), "token:revoke", `{"name":"brief"}`).Revoked; told == nil || told.Running != 1 {
				w.Errorf("the revocation's answer has %+v", told)
			}
		},
		"made anew": func(w *world, _ string) { w.token(`{"name":"brief","kind":"admin"}`) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				project := w.make(w.admin(), "project:create", `{"name":"P"}`)
				task := w.make(w.admin(), "task:create", `{"project":"`+project+`","title":"T"}`)
				spawn := `{"project":"` + project + `","taskIds":["` + task + `"]}`
				brief := w.token(`{"name":"brief","kind":"admin","expiresIn":3600000}`)
				w.do(w.token(`{"name":"lasting","kind":"admin"}`), "session:spawn", spawn)
				w.do(w.admin(), "session:spawn", spawn)
				session := w.make(brief, "session:spawn", spawn)
				ended := w.make(brief, "session:spawn", spawn)
				w.do(w.admin(), "session:kill", `{"sessionId":"`+ended+`"}`)
				named := func(when string, want ...string) {
					t.Helper()
					list, err := w.view(w.admin()).ListTokens()
					if err != nil {
						t.Fatal(err)
					}
					tokens, err := list()
					var running []string
					for _, token := range tokens.Items {
						running = append(running, token.Running...)
					}
					if err != nil || !slices.Equal(running, want) {
						t.Errorf("%s the list of tokens names %v, %v; expected %v", when, running, err, want)
					}
					count, err := w.view(w.admin()).GetProjectStatus(&wire.ProjectID{ID: project})
					if err != nil {
						t.Fatal(err)
					}
					status, err := count()
					var said []string
					for _, x := range status.SpawnedByExpired {
						said = append(said, x.SessionID)
						if x.Token != "brief" || x.ExpiredAt.Time().After(time.Now()) {
							t.Errorf("the status has %+v", x)
						}
					}
					if err != nil || !slices.Equal(said, want) {
						t.Errorf("%s the status names %v, %v; expected %v", when, said, err, want)
					}
				}
				named("before")
				time.Sleep(time.Hour)
				named("after", session)
				deal(w, session)
				named("once it is dealt with")
			})
		})
	}
}
