package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"maestro/events"
)

func TestEveryFaultHasANextStep(t *testing.T) {
	seen := map[FaultRule]bool{}
	for _, rule := range FaultRules() {
		if seen[rule] {
			t.Errorf("%s is listed twice", rule)
		}
		seen[rule] = true
		v := NewVerifier()
		v.Fault(1, rule, "x")
		if fault := v.verdict.Faults[0]; fault.Next == "" || fault.Rule != rule {
			t.Errorf("a fault of rule %q says %+v", rule, fault)
		}
		ofFile := []Fault{{Rule: rule}}
		AdviseForFile(ofFile)
		next := ofFile[0].Next
		if next == "" || strings.Contains(next, "salvage") || strings.Contains(next, "the server,") {
			t.Errorf("the next step for a file with a fault of rule %q is %q", rule, next)
		}
	}
	if len(seen) != len(nextSteps) || len(seen) != len(nextForFiles) {
		t.Errorf("%d rules are listed, %d have a next step", len(seen), len(nextSteps))
	}
}

// With a fault that --accept-faults does not accept, nothing recommends that flag.
func TestAdviceForFileIsOfAllFaults(t *testing.T) {
	faults := []Fault{{Rule: FaultPermitted}, {Rule: FaultDecision}}
	AdviseForFile(faults)
	if !strings.Contains(faults[0].Next, "--accept-faults") {
		t.Errorf("alone, its advice is %q", faults[0].Next)
	}
	faults = append(faults, Fault{Rule: FaultChain})
	AdviseForFile(faults)
	for _, f := range faults {
		if f.Next != nextFile {
			t.Errorf("beside a broken chain, %s advises %q", f.Rule, f.Next)
		}
	}
}

// textStore answers for the long texts as a test tells it to.
type textStore map[string]error

func (s textStore) Blob(_ context.Context, digest string) ([]byte, error) { return nil, s[digest] }

func TestVerifyChecksLongTexts(t *testing.T) {
	log := everything(t).log
	judge := func(store textStore) (Verdict, error) {
		v := NewVerifier()
		for _, m := range log.messages {
			v.Event(m)
		}
		if err := v.CheckTexts(t.Context(), store); err != nil {
			return Verdict{}, err
		}
		return v.Verdict()
	}
	named, err := NamedTexts(t.Context(), log, log.head())
	if err != nil || len(named) < 3 {
		t.Fatalf("the log names %v, %v", named, err)
	}
	fields := map[string]bool{}
	for _, text := range named {
		fields[text.Field] = true
	}
	if !fields["description"] || !fields["manifestDigest"] {
		t.Errorf("the texts belong to %v", fields)
	}
	verdict, err := judge(nil)
	if err != nil || len(verdict.Faults) != 0 || !verdict.TextsChecked || verdict.Texts != len(named) {
		t.Errorf("with all texts: %+v, %v", verdict, err)
	}
	for i, why := range []error{events.ErrNoBlob, events.ErrBadBlob} {
		verdict, err := judge(textStore{named[i].Digest: fmt.Errorf("%w: gone", why)})
		if err != nil || len(verdict.Faults) != 1 {
			t.Fatalf("%v: %+v, %v", why, verdict.Faults, err)
		}
		fault := verdict.Faults[0]
		if fault.Rule != FaultText || fault.Sequence != named[i].Sequence ||
			!strings.Contains(fault.What, named[i].Digest) ||
			!strings.Contains(fault.What, "gone") {
			t.Errorf("%v: %+v", why, fault)
		}
	}
	if _, err := judge(textStore{named[0].Digest: errors.New("the store is being reopened")}); err == nil {
		t.Error("a text that cannot be read at the moment is taken for lost")
	}
}
