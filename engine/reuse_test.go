package engine

import (
	"testing"

	"maestro/commands"
)

// A new token with a used name does not get the answers to the earlier token's keys.
func TestLaterTokenHasKeysOfItsOwn(t *testing.T) {
	w := newWorld(t)
	ask := func(key string) (Answer, error) {
		return w.h.Do(
			t.Context(), Request{By: w.actor("token:ci"), Command: &commands.CreateProject{Name: "Fleet"}, Key: key},
		)
	}
	w.must("admin", "token:create", `{"name":"ci","kind":"admin"}`)
	first, err := ask("fleet")
	if err != nil {
		t.Fatal(err)
	}
	again, err := ask("fleet")
	if err != nil || !again.Retried || again.Sequence != first.Sequence {
		t.Fatalf("the same token: %+v, %v", again, err)
	}
	w.must("admin", "token:revoke", `{"name":"ci"}`)
	w.must("admin", "token:create", `{"name":"ci","kind":"auditor"}`)
	if answer, err := ask("fleet"); code(err) != commands.CodeNotAllowed {
		t.Errorf("a later token that writes nothing: %+v, %v", answer, err)
	}
	w.must("admin", "token:revoke", `{"name":"ci"}`)
	w.must("admin", "token:create", `{"name":"ci","kind":"admin"}`)
	later, err := ask("fleet")
	if err != nil || later.Retried || later.Sequence == first.Sequence {
		t.Errorf("a later token: %+v, %v", later, err)
	}
	again, err = ask("fleet")
	if err != nil || !again.Retried || again.Sequence != later.Sequence {
		t.Errorf("the later token again: %+v, %v", again, err)
	}
}
