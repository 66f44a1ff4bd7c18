package engine

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"strconv"

	"maestro/commands"
	"maestro/events"
	"maestro/projections"
)

// Verifier audits a log by deciding it again. It checks that each event continues the chain, permits and decides the
// event's command on the state before it, by the rules of its time, and compares the outcome with the stored event. It
// is given the log message by message, so that it serves the server, an export and a backup alike.
type Verifier struct {
	state     *projections.State
	decoder   events.Decoder
	witnesses []Witnessed
	texts     textsNamed
	// rules is the highest rules version of the events so far; 0 before the first event.
	rules   int
	verdict Verdict
	damaged error
	// newer is set if a newer maestro wrote an event.
	newer   error
	written []byte // a buffer
	// ended says that nothing more can be judged.
	ended bool
}

// Verdict is the result of an audit. It is good when there are no faults.
type Verdict struct {
	Head    events.Head `json:"head"`
	Events  uint64      `json:"events"`
	Decided uint64      `json:"decided"`
	// Withheld counts the bodies that an export left out. Their place in the chain was checked; their decisions cannot
	// be.
	Withheld uint64 `json:"withheld"`
	// Unauthenticated counts the events whose actor was not authenticated (authn none).
	Unauthenticated uint64 `json:"unauthenticated"`
	// Witnesses counts the heads remembered outside the log that it was compared with.
	Witnesses int     `json:"witnesses"`
	Faults    []Fault `json:"faults"`
	// FaultsMore counts the faults beyond the first 100.
	FaultsMore int `json:"faultsMore,omitempty"`
	// Views is the SHA-256 of the rebuilt state.
	Views events.Hash `json:"views"`
	// Texts counts the long texts to which the log refers. TextsChecked says that each was compared with its digest.
	Texts        int  `json:"texts"`
	TextsChecked bool `json:"textsChecked"`
	// Redactions are the events that redacted a long text, which is not among Texts: the first 100, and
	// RedactionsMore counts the others.
	Redactions     []uint64 `json:"redactions,omitempty"`
	RedactionsMore int      `json:"redactionsMore,omitempty"`
	// FirstUnjudged and LastUnjudged are the events that could not be judged, because of a fault before them; 0 if all
	// were.
	FirstUnjudged uint64 `json:"firstUnjudged,omitempty"`
	LastUnjudged  uint64 `json:"lastUnjudged,omitempty"`
}

// maxFaults bounds the length of a verdict, because every event after a broken link is at fault.
const maxFaults = 100

// NewVerifier starts at the empty log.
func NewVerifier() *Verifier {
	return &Verifier{state: projections.New(), verdict: Verdict{Faults: []Fault{}}}
}

// State returns the state rebuilt so far.
func (v *Verifier) State() *projections.State { return v.state }

// Fault records a fault that the caller found, such as a witness that disagrees.
func (v *Verifier) Fault(sequence uint64, rule FaultRule, format string, args ...any) {
	if len(v.verdict.Faults) < maxFaults {
		v.verdict.Faults = append(v.verdict.Faults, Fault{sequence, rule, fmt.Sprintf(format, args...), rule.Next()})
	} else {
		v.verdict.FaultsMore++
	}
	if rule.Breaks() && rule != FaultWitness { // what a witness shows depends on whose it is; see disagrees
		v.damage(sequence, format, args...)
	}
}

// Witness adds a head with which the log is compared. It must be called before the event at the head's sequence.
func (v *Verifier) Witness(seen Witnessed) { v.witnesses = append(v.witnesses, seen) }

// Skip notes events that cannot be judged, because of a fault before them. Calls go upwards.
func (v *Verifier) Skip(from, to uint64) {
	if from > to {
		return
	}
	if v.verdict.FirstUnjudged == 0 {
		v.verdict.FirstUnjudged = from
	}
	v.verdict.LastUnjudged = to
}

// Event judges the next message. It reports false when nothing after it can be judged; what is told after that is
// only noted.
func (v *Verifier) Event(m events.Message) bool {
	if v.ended {
		v.Skip(m.Sequence, m.Sequence)
		return false
	}
	v.ended = !v.judge(m)
	return !v.ended
}

func (v *Verifier) judge(m events.Message) bool {
	event, ok := v.examine(m)
	return ok && v.apply(m, event)
}

// Try is Event for a message that is taken only if it has no fault. Otherwise it returns the faults, and nothing else
// changes.
func (v *Verifier) Try(m events.Message) []Fault {
	if v.ended {
		const why = "it cannot be judged, because of a fault before it"
		return []Fault{{m.Sequence, FaultUnreadable, why, FaultUnreadable.Next()}}
	}
	before := *v
	v.verdict.Faults, v.verdict.FaultsMore = nil, 0
	event, ok := v.examine(m)
	v.disagree(m.Sequence, events.Next(v.state.Head().Hash, events.BodyHash(m.Body)))
	if ok && len(v.verdict.Faults) == 0 && v.apply(m, event) {
		v.verdict.Faults, v.verdict.FaultsMore = before.verdict.Faults, before.verdict.FaultsMore
		return nil
	}
	faults := v.verdict.Faults
	v.verdict, v.damaged, v.newer, v.rules = before.verdict, before.damaged, before.newer, before.rules
	return faults
}

// examine judges a message against the state before it.
func (v *Verifier) examine(m events.Message) (*events.Event, bool) {
	v.verdict.Events++
	event, err := v.decoder.Decode(m.Body)
	if err != nil {
		v.newer = cmp.Or(v.newer, newerType(m.Sequence, err))
		v.Fault(m.Sequence, FaultUnreadable, "it cannot be read: %s", err)
		return nil, false
	}
	if event.Authn == commands.AuthnNone {
		v.verdict.Unauthenticated++
	}
	if kind, id := event.Data.Aggregate(); m.Subject != "" && m.Subject != events.Subject(event.Project, kind, id) {
		v.Fault(m.Sequence, FaultSubject, "it is stored under the subject %s", m.Subject)
	}
	if what := v.unlike(event, m.Body); what != "" {
		v.Fault(m.Sequence, FaultDecision, "%s", what)
	}
	v.decide(m.Sequence, event)
	return event, true
}

// apply continues the chain and the state with an event.
func (v *Verifier) apply(m events.Message, event *events.Event) bool {
	if _, err := v.state.Apply(m.Sequence, event, events.BodyHash(m.Body)); err != nil {
		v.Fault(m.Sequence, FaultChain, "%s", whyDamaged(err))
		return false
	}
	v.verdict.Head = v.state.Head()
	v.texts.add(m.Sequence, event.Data)
	v.disagree(m.Sequence, v.verdict.Head.Hash)
	return true
}

// disagree records the witnesses that saw another hash at a sequence.
func (v *Verifier) disagree(sequence uint64, hash events.Hash) {
	for _, seen := range v.witnesses {
		if seen.Sequence == sequence && seen.Hash != hash {
			what := "%s saw hash %s here, and the log has %s"
			if seen.Brought {
				what = "%s has hash %s here, and the log has %s"
			}
			v.disagrees(seen, sequence, what, seen.By, seen.Hash, hash)
		}
	}
}

// disagrees records that the log is not what a witness saw. One of the home's own shows damage; a head that somebody
// brings may be of another log.
func (v *Verifier) disagrees(seen Witnessed, sequence uint64, format string, args ...any) {
	v.Fault(sequence, FaultWitness, format, args...)
	if !seen.Brought {
		v.damage(sequence, format, args...)
		return
	}
	if last := len(v.verdict.Faults) - 1; v.verdict.Faults[last].Sequence == sequence {
		v.verdict.Faults[last].Next = nextBrought
	}
}

// unread records a witness that cannot be read: the log may have been longer.
func (v *Verifier) unread(seen Witnessed, last uint64) {
	v.Fault(last, FaultWitness, "%s cannot be read, so it does not show whether the log was longer: %s", seen.By,
		seen.Unread)
	if n := len(v.verdict.Faults); v.verdict.FaultsMore == 0 {
		v.verdict.Faults[n-1].Next = nextUnread
	}
}

// damage keeps the first fault that shows that the log was changed, whatever the rules say.
func (v *Verifier) damage(sequence uint64, format string, args ...any) {
	if v.damaged == nil {
		v.damaged = &events.DamageError{Sequence: sequence, Why: fmt.Sprintf(format, args...)}
	}
}

// Damage returns the first fault that is damage to the log, or nil.
func (v *Verifier) Damage() error { return v.damaged }

// Newer says which event a newer maestro wrote, or nil: no server of this version writes to such a log.
func (v *Verifier) Newer() error { return v.newer }

// decide decides the event's command again.
func (v *Verifier) decide(sequence uint64, event *events.Event) {
	rules, ok := commands.Rules(event.Rules)
	if !ok {
		v.newer = cmp.Or(v.newer, newerRules(sequence, event))
		v.Fault(sequence, FaultVersion, "it was decided by rules %q, which this version does not know", event.Rules)
		return
	}
	// A table of its own time gives the forger of an event more rights, so a log never returns to one.
	version, _ := strconv.Atoi(event.Rules) // what is known is a number
	if version < v.rules {
		v.Fault(sequence, FaultOlderRules, "it names rules %d, but an earlier event was decided by rules %d", version,
			v.rules)
		return
	}
	v.rules = version
	by, err := commands.ActorOf(event)
	if err != nil {
		v.Fault(sequence, FaultActor, "%s", err)
		return
	}
	by = by.Current(v.state)
	command, err := commands.CommandOf(event)
	if err != nil {
		v.Fault(sequence, FaultActor, "%s", err)
		return
	}
	call := commands.Call{
		By:         by,
		Project:    commands.ProjectOf(v.state, command, by),
		At:         event.Time,
		ID:         event.ID,
		Rules:      event.Rules,
		OccurredAt: occurredAt(event.OccurredAt, event.Time),
	}
	if err := commands.PermitAt(v.state, rules, call, command.ID()); err != nil {
		v.Fault(sequence, FaultPermitted, "%s was not permitted to %s: %s", command.ID(), by, reasonOf(err))
		return
	}
	data, err := commands.Decide(v.state, command, call)
	switch {
	case err != nil:
		v.Fault(sequence, FaultDecision, "%s would be refused: %s", command.ID(), reasonOf(err))
	case data == nil:
		v.Fault(sequence, FaultDecision, "%s would change nothing", command.ID())
	case !sameData(data, event.Data):
		v.Fault(sequence, FaultDecision, "%s would become another event", command.ID())
	case event.Project != projectOf(call, data):
		v.Fault(sequence, FaultDecision, "%s would be filed under the project %q, not %q", command.ID(), projectOf(call,
			data), event.Project)
	case commands.CauseOf(v.state, by, event.Rules, event.Data) != (projections.Cause{
		Event: event.CausationID,
		First: event.CorrelationID,
	}):
		v.Fault(sequence, FaultDecision, "%s would have another cause than %q, of the chain of %q", command.ID(),
			event.CausationID, event.CorrelationID)
	default:
		v.verdict.Decided++
	}
}

func sameData(a, b events.Data) bool {
	if a.EventType() != b.EventType() {
		return false
	}
	first, err := events.AppendData(nil, a)
	if err != nil {
		return false
	}
	second, err := events.AppendData(nil, b)
	return err == nil && bytes.Equal(first, second)
}

// Verdict closes the audit.
func (v *Verifier) Verdict() (Verdict, error) {
	v.verdict.Texts, v.verdict.Redactions = len(v.texts.list), v.texts.redactions
	v.verdict.RedactionsMore = v.texts.redactionsMore
	for _, seen := range v.witnesses {
		if seen.Unread == nil {
			v.verdict.Witnesses++
		}
		switch last := v.verdict.Head.Sequence; {
		case seen.Unread != nil:
			v.unread(seen, last)
		case seen.Sequence <= last:
		case seen.Brought:
			v.disagrees(seen, last, "the log ends here, before %s %s", seen.By, seen.Head)
		default:
			v.disagrees(seen, v.verdict.Head.Sequence+1, "the log ends at %d, and %s saw %s", v.verdict.Head.Sequence,
				seen.By, seen.Head)
		}
	}
	state, err := v.state.Encode()
	if err != nil {
		return Verdict{}, err
	}
	v.verdict.Views = events.BodyHash(state)
	return v.verdict, nil
}

// whyDamaged returns the reason alone: the place stands in the fault.
func whyDamaged(err error) string {
	var damage *events.DamageError
	if errors.As(err, &damage) {
		return damage.Why
	}
	return err.Error()
}

// reasonOf returns a refusal with the rule behind it.
func reasonOf(err error) string {
	text := err.Error()
	var refusal *commands.Refusal
	if !errors.As(err, &refusal) {
		return text
	}
	if refusal.Why != "" {
		text += ": " + refusal.Why
	}
	if refusal.Rule != "" {
		text += " (row " + refusal.Rule + " of docs/permissions.md)"
	}
	return text
}
