package engine

import (
	"slices"

	"maestro/events"
)

// Fault is one problem that an audit found.
type Fault struct {
	Sequence uint64    `json:"sequence"`
	Rule     FaultRule `json:"rule"`
	What     string    `json:"what"`
	// Next is the advice for the operator.
	Next string `json:"next"`
}

// FaultRule names the rule that a fault breaks.
type FaultRule string

// The rules of an audit.
const (
	FaultMissing    FaultRule = "missing"    // every sequence holds an event
	FaultUnreadable FaultRule = "unreadable" // every event can be read
	FaultChain      FaultRule = "chain"      // each event follows the one before it
	FaultWitness    FaultRule = "witness"    // the log agrees with the heads that were remembered outside it
	FaultSubject    FaultRule = "subject"    // an event is stored under its own subject
	FaultVersion    FaultRule = "version"    // the rules that decided the event are known
	FaultOlderRules FaultRule = "rules"      // no event was decided by older rules than one before it
	FaultActor      FaultRule = "actor"      // the event's actor and command are known
	FaultPermitted  FaultRule = "permitted"  // the event's actor was permitted to cause it
	FaultDecision   FaultRule = "decision"   // deciding the command again yields the same event
	FaultViews      FaultRule = "views"      // the server's views match a replay of the log
	FaultText       FaultRule = "text"       // every long text that the log refers to is present and unchanged
	FaultSignature  FaultRule = "signature"  // a backup is signed by the key that is expected
)

const (
	nextSalvage = "stop the server, and run `maestro salvage --new-home NEWHOME`: it recovers every readable " +
		"event, and fills gaps from backups (name their directory too, if `serve` has a --backup-dir); then " +
		"start the server with MAESTRO_HOME=NEWHOME"
	nextBrought = "check that it is a head of this home: `maestro audit head` prints the current one; if it is, then " +
		nextSalvage
	nextForged = "somebody wrote this event around the server: see `maestro audit replay`, then restore a backup " +
		"from before it with `maestro restore FILE --home NEWHOME --head SEQ:HASH`"
)

var nextSteps = map[FaultRule]string{
	FaultMissing:    nextSalvage,
	FaultUnreadable: nextSalvage,
	FaultChain:      nextSalvage,
	FaultWitness:    nextSalvage,
	FaultSubject:    nextForged,
	FaultVersion:    "use a newer maestro: this version does not know how the event was decided",
	FaultOlderRules: nextForged,
	FaultActor:      nextForged,
	FaultPermitted:  nextForged,
	FaultDecision:   nextForged,
	FaultViews: "stop the server, delete the directory snapshots in the home, and start the server again: it " +
		"rebuilds the views from the log",
	FaultText: "stop the server, and run `maestro salvage --new-home NEWHOME --with BACKUP`: it takes the text from " +
		"a backup that has it; then start the server with MAESTRO_HOME=NEWHOME",
	FaultSignature: "use a backup that this home made, or restore with --accept-faults if you know who made this one",
}

// FaultRules lists every rule, in the order of docs/operations.md.
func FaultRules() []FaultRule {
	return []FaultRule{
		FaultMissing, FaultUnreadable, FaultChain, FaultWitness, FaultSubject, FaultVersion, FaultOlderRules,
		FaultActor, FaultPermitted, FaultDecision, FaultViews, FaultText, FaultSignature,
	}
}

// Next returns the advice for a fault of a home's log.
func (r FaultRule) Next() string { return nextSteps[r] }

const (
	nextFile = "use another backup or export, or ask the server with `maestro audit verify`"
	// nextAccept is the advice for faults with which a log can still be served.
	nextAccept = nextFile + "; `maestro restore FILE --accept-faults` restores this one in spite of such faults"
)

var nextForFiles = map[FaultRule]string{
	FaultMissing:    nextFile,
	FaultUnreadable: nextFile,
	FaultChain:      nextFile,
	FaultWitness:    "this file is of another log, or was made before that head; " + nextFile,
	FaultSubject:    nextAccept,
	FaultVersion:    nextSteps[FaultVersion],
	FaultOlderRules: nextAccept,
	FaultActor:      nextAccept,
	FaultPermitted:  nextAccept,
	FaultDecision:   nextAccept,
	FaultViews:      nextFile,
	FaultText: "restore it with `maestro restore FILE --texts-from BACKUP`, with a backup that has the text; " +
		"or without the text with --accept-faults",
	FaultSignature: nextSteps[FaultSignature],
}

// AdviseForFile sets the advice for all faults of a log in a backup or an export. Such a file, unlike a home's log, can
// be fetched again; FILE stands for its name. With a fault that no flag accepts, no other one is accepted either.
func AdviseForFile(faults []Fault) {
	unacceptable := slices.ContainsFunc(faults, func(f Fault) bool { return nextForFiles[f.Rule] == nextFile })
	for i := range faults {
		next := nextForFiles[faults[i].Rule]
		if unacceptable && next == nextAccept {
			next = nextFile
		}
		faults[i].Next = next
	}
}

// Breaks reports whether a log with such a fault must not be served for writing, because nothing after the fault can
// be judged.
func (r FaultRule) Breaks() bool {
	return r == FaultMissing || r == FaultUnreadable || r == FaultChain || r == FaultWitness
}

// NamedText is a long text that an event of the log refers to.
type NamedText struct {
	// Sequence is the first event that refers to it, Field the field that holds it.
	Sequence uint64 `json:"sequence"`
	Field    string `json:"field"`
	Digest   string `json:"digest"`
}

// textsNamed collects the long texts that events refer to, each once.
//
// A redacted text is not among them: its absence is no loss, and its presence no proof.
type textsNamed struct {
	list []NamedText
	seen map[string]bool
	// redacted are those that were redacted.
	redacted map[string]bool
	// redactions are the events that say so.
	redactions     []uint64
	redactionsMore int
}

func (t *textsNamed) add(sequence uint64, data events.Data) {
	if r, ok := data.(*events.TextRedacted); ok {
		t.remove(r.Text)
		if len(t.redactions) < maxFaults {
			t.redactions = append(t.redactions, sequence)
		} else {
			t.redactionsMore++
		}
	}
	for _, d := range events.Digests(data) {
		if t.seen[d.Digest] || t.redacted[d.Digest] {
			continue
		}
		if t.seen == nil {
			t.seen = make(map[string]bool)
		}
		t.seen[d.Digest] = true
		t.list = append(t.list, NamedText{sequence, d.Field, d.Digest})
	}
}

// remove removes a text that was redacted. An event cannot name it again.
func (t *textsNamed) remove(digest string) {
	delete(t.seen, digest)
	t.list = slices.DeleteFunc(t.list, func(named NamedText) bool { return named.Digest == digest })
	if t.redacted == nil {
		t.redacted = make(map[string]bool)
	}
	t.redacted[digest] = true
}
