// Package logtest is the one conformance suite for engine.Log: the embedded server, a cluster and the simulated log all
// run it. A log is accepted when every trap passes or its Fixture says why the trap cannot occur there.
package logtest

import (
	"context"
	"testing"

	"maestro/engine"
	"maestro/events"
)

// Fixture is an empty log and what its implementation lets a test do to it. A nil capability needs a reason in Cannot.
type Fixture struct {
	Log engine.Log

	// Stranger stores one message outside every guard. It returns when the message is stored or refused, or ctx ends.
	Stranger func(ctx context.Context, m events.Message) error
	// Second is another writer on the same log. A look-up by Log may cost it an acknowledgement, so it must not wait
	// long.
	Second engine.Log
	// Crash ends the process that keeps the log as kill -9 would, now, and opens what survived.
	Crash func(t *testing.T) engine.Log
	// LoseAck makes the acknowledgements of appends get lost, until found is called. The appends happen.
	LoseAck func(t *testing.T) (found func())
	// StepDown makes the log's leader give up its place, while appends may be under way.
	StepDown func(t *testing.T)
	// FillDisk leaves no room, or next to none; MakeRoom gives it back.
	FillDisk, MakeRoom func(t *testing.T)
	// Damage stops the log, does the harm, and opens it again. A log that refuses to be opened answers an error.
	Damage func(t *testing.T, harm Harm) (engine.Log, error)

	// Cannot says for a capability, by its field's name, why it does not exist here.
	Cannot map[string]string
}

// Harm is what a disk, or its owner, does to a stopped log.
type Harm int

const (
	// FlipOldBit changes one bit in a message that is neither among the first nor among the last.
	FlipOldBit Harm = iota
	// FlipLastBit changes one bit in the last message.
	FlipLastBit
	// CutTail removes the last message, or a part of it.
	CutTail
)

func (h Harm) String() string {
	return [...]string{"a flipped bit in an old block", "a flipped bit in the last block", "a cut tail"}[h]
}

// can reports whether the fixture has a capability. One that is missing without a reason fails the test.
func (f Fixture) can(t *testing.T, name string, has bool) bool {
	t.Helper()
	if has {
		return true
	}
	reason, declared := f.Cannot[name]
	if !declared {
		t.Fatalf("the fixture has no %s and does not say why in Cannot", name)
	}
	t.Logf("not run: this log has no %s: %s", name, reason)
	return false
}
