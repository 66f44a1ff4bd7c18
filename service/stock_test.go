package service

import (
	"context"
	"errors"
	"testing"

	"maestro/commands"
	"maestro/engine"
)

// TestWhoHangsUpHasPaid: what may still happen is not given back, what certainly did not is.
func TestWhoHangsUpHasPaid(t *testing.T) {
	refusal := &commands.Refusal{Code: commands.CodeRule, Message: "no"}
	for what, test := range map[string]struct {
		answer engine.Answer
		err    error
		left   float64
	}{
		"made":                    {engine.Answer{Event: []byte("{}")}, nil, 0},
		"a retry":                 {engine.Answer{Event: []byte("{}"), Retried: true}, nil, 1},
		"already so":              {engine.Answer{}, nil, 1},
		"refused":                 {engine.Answer{}, refusal, 1},
		"the caller went away":    {engine.Answer{}, context.Canceled, 0},
		"the log takes no writes": {engine.Answer{}, &engine.UnavailableError{Err: errors.New("full")}, 0},
	} {
		var limits Limits
		if err := limits.Set("session-spawns=0.000001/1"); err != nil {
			t.Fatal(err)
		}
		l := newLedger(&limits)
		a := &Admission{ledger: l, credential: l.hold(OfSession, "s")}
		if over := a.pay(demand{useSpawns: 1}); over != nil {
			t.Fatal(over)
		}
		a.made = demand{useSpawns: 1}
		a.unused(test.answer, test.err)
		if left := float64(int(l.left(a.credential, useSpawns))); left != test.left {
			t.Errorf("%s: %v spawns are left, want %v", what, left, test.left)
		}
	}
}
