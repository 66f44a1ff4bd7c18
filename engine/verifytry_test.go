package engine

import (
	"reflect"
	"testing"

	"maestro/events"
)

// Try takes an event without a fault as Event does. After an event with one, the audit is where it was before it.
func TestTryTakesOnlyWhatHasNoFault(t *testing.T) {
	log := everything(t).log.messages
	want := verify(t, log)
	for what, edit := range map[string]func(e *events.Event){
		"an unknown version of the rules": func(e *events.Event) { e.Rules = "99" },
		"another cause":                   func(e *events.Event) { e.CausationID = e.ID.String() },
		"another place in the chain":      nil,
	} {
		v := NewVerifier()
		for i, m := range log {
			forged := m
			if edit != nil {
				forged = forge(t, log, i, edit)[i]
			} else {
				forged.Sequence++
			}
			if faults := v.Try(forged); len(faults) == 0 {
				t.Fatalf("%s: event %d has no fault", what, m.Sequence)
			}
			if faults := v.Try(m); len(faults) > 0 {
				t.Fatalf("%s: event %d: %+v", what, m.Sequence, faults)
			}
			if i == 20 { // for each event, forge makes the whole log anew
				edit = nil
			}
		}
		got, err := v.Verdict()
		if err != nil || !reflect.DeepEqual(got, want) || v.Newer() != nil || v.Damage() != nil {
			t.Errorf("%s: %+v, expected %+v; %v, %v, %v", what, got, want, err, v.Newer(), v.Damage())
		}
	}
	v := NewVerifier()
	v.Witness(Witnessed{Head: events.Head{Sequence: 1}, By: "the head file"})
	if faults := v.Try(log[0]); len(faults) != 1 || faults[0].Rule != FaultWitness || v.Damage() != nil {
		t.Errorf("an event that a witness contradicts: %+v, %v", faults, v.Damage())
	}
	v = NewVerifier()
	v.Event(events.Message{Sequence: 1, Body: []byte("junk")})
	if faults := v.Try(log[0]); len(faults) == 0 {
		t.Error("an event after one that cannot be read has no fault")
	}
}
