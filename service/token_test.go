package service

import (
	"fmt"
	"testing"
)

// A revocation tells what it leaves behind: the tokens that it keeps, and the sessions that go on.
func TestARevocationTellsWhatGoesOn(t *testing.T) {
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
		t.Errorf("another command tells %+v, %v", done.Revoked, err)
	}
	for _, step := range []struct{ body, want string }{
		{`{"name":"maker","keepChildren":true}`, "&{[child] 1}"},
		{`{"name":"maker","keepChildren":true}`, "&{[child] 1}"}, // already so
		{`{"name":"maker"}`, "&{[] 2}"},
	} {
		if got := fmt.Sprint(w.do(w.admin(), "token:revoke", step.body).Revoked); got != step.want {
			t.Errorf("%s tells %s, expected %s", step.body, got, step.want)
		}
	}
}
