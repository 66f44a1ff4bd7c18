package bus

import (
	"context"
	"fmt"
	"testing"

	"maestro/events"
)

func loadDenials(t *testing.T, b *Bus) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := b.LoadDenials(t.Context(), func(d events.StoredDenial) error {
		found[d.Actor+" "+d.Slot] = string(d.Body)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// A slot holds the newest record, even after the store was reopened.
func TestDenialsKeepTheNewestOfASlot(t *testing.T) {
	dir := t.TempDir()
	b, err := Open(t.Context(), Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if found := loadDenials(t, b); len(found) != 0 {
		t.Fatalf("an empty store has %v", found)
	}
	store := func(records ...events.StoredDenial) {
		t.Helper()
		if err := b.StoreDenials(context.Background(), records); err != nil {
			t.Fatal(err)
		}
	}
	const session = "/projects/p/sessions/a.b *"
	store(events.StoredDenial{Actor: session, Slot: "0", Body: []byte(`{"count":1}`)},
		events.StoredDenial{Actor: session, Slot: "1", Body: []byte(`{"count":7}`)})
	store(events.StoredDenial{Actor: session, Slot: "0", Body: []byte(`{"count":2}`)},
		events.StoredDenial{Actor: "/users/x", Slot: "kept-0", Body: []byte(`{}`)})
	want := fmt.Sprint(map[string]string{
		session + " 0": `{"count":2}`, session + " 1": `{"count":7}`,
		"/users/x kept-0": `{}`,
	})
	if found := fmt.Sprint(loadDenials(t, b)); found != want {
		t.Errorf("found %s, want %s", found, want)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if b, err = Open(t.Context(), Options{Dir: dir}); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}()
	if found := fmt.Sprint(loadDenials(t, b)); found != want {
		t.Errorf("after a reopen: %s, want %s", found, want)
	}
	if head, err := b.Sync(t.Context()); err != nil || head != 0 {
		t.Errorf("the log has %d events, %v: refusals are not part of it", head, err)
	}
}
