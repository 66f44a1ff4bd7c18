// Package logtest is the conformance suite for engine.Log: the embedded server, a cluster and the simulated log all run
// it. A log is accepted if it passes every trap, or its Fixture says why the trap cannot occur there.
package logtest

import (
	"context"
	"testing"

	"maestro/engine"
	"maestro/events"
)

// Fixture is an empty log and what a test can do to its implementation. A nil capability needs a reason in Cannot.
type Fixture struct {
	Log engine.Log

	// Stranger stores one message without a guard. It returns when the message is stored or refused, or ctx ends.
	Stranger func(ctx context.Context, m events.Message) error
	// Second is another writer on the same log. A look-up by Log may cost it an acknowledgement, so it must not wait
	// long.
	Second engine.Log
	// Crash immediately ends the process of the log as kill -9 would, and opens what survived.
	Crash func(t *testing.T) engine.Log
	// LoseAck loses the acknowledgements of appends until found is called. The appends are executed.
	LoseAck func(t *testing.T) (found func())
	// StepDown makes the log's leader step down, possibly during appends.
	StepDown func(t *testing.T)
	// FillDisk leaves hardly any room; MakeRoom frees it again.
	FillDisk, MakeRoom func(t *testing.T)
	// Damage stops the log, damages it, and reopens it. It returns an error if the log refuses to open.
	Damage func(t *testing.T, harm Harm) (engine.Log, error)

	// Cannot says for a capability, by its field's name, why it does not exist here.
	Cannot map[string]string
}

// Harm is damage to a stopped log by a disk, or its owner.
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

// can reports whether the fixture has a capability. A capability that is missing without a reason fails the test.
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
