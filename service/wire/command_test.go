package wire_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"maestro/service/wire"
)

// The encoder without reflection writes the same as encoding/json.
func TestEncoderMatchesJSON(t *testing.T) {
	event := json.RawMessage(`{"id":"e","data":{"message":"<b>&"}}`)
	for name, done := range map[string]wire.Done{
		"already so": {Outcome: wire.Outcome{Sequence: 7}},
		"an event":   {Outcome: wire.Outcome{Sequence: 7, Event: event}, Retried: true},
		"a dry run":  {Outcome: wire.Outcome{Sequence: 7, Event: event}, DryRun: true},
		"everything": {
			Outcome:  wire.Outcome{Sequence: 1 << 60, Event: event},
			DryRun:   true,
			Asked:    "input_1",
			Token:    "mss_s.1.x",
			Below:    wire.Below{Also: []string{"a", "b"}, LivingBelow: 3},
			LeftOpen: wire.LeftOpen{LeavesOpen: []string{"t"}, LeavesOpenMore: 2, LeavesOpenNext: "<b>&"},
			Warnings: []string{"a", "<b>"},
			Start:    &wire.Start{Item: &wire.Item{TaskID: "t"}, Held: true, Queue: "q"},
			Revoked:  &wire.Revoked{Kept: []string{"k"}, Running: 1},
		},
		"one below": {Below: wire.Below{Also: []string{"a"}}},
	} {
		got, err := done.AppendJSON([]byte("before "))
		if err != nil {
			t.Fatal(err)
		}
		want := bytes.NewBufferString("before ")
		encoder := json.NewEncoder(want)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(done); err != nil {
			t.Fatal(err)
		}
		if string(got)+"\n" != want.String() {
			t.Errorf("%s:\n%s\nnot\n%s", name, got, want)
		}
	}
}

// Other programs depend on the names of headers, so this test repeats them.
func TestHeaders(t *testing.T) {
	for got, want := range map[string]string{
		wire.HeaderKey:         "Idempotency-Key",
		wire.HeaderOccurredAt:  "Maestro-Occurred-At",
		wire.HeaderClient:      "Maestro-Client",
		wire.HeaderTraceParent: "Traceparent",
		wire.HeaderSequence:    "Maestro-Sequence",
		wire.HeaderRetried:     "Maestro-Retried",
		wire.HeaderNext:        "Maestro-Next",
		wire.HeaderMail:        "Maestro-Mail",
		wire.HeaderDamage:      "Maestro-Damage",
		wire.HeaderDigest:      "Maestro-Digest",
		wire.HeaderLease:       "Maestro-Lease",
		wire.HeaderEnded:       "Maestro-Ended",
	} {
		if got != want {
			t.Errorf("%s is %s on the wire", want, got)
		}
	}
}
