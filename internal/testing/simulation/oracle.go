package simulation

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"maestro/events"
	documents "maestro/internal/oracle"
	"maestro/internal/testing/simlog"
	"maestro/projections"
)

// oracle follows the events on disk and knows what must be true after each of them. Events on disk never change, so it
// looks at each event once. internal/oracle says what was allowed, and what the result of a command must be.
type oracle struct {
	wishes []wish            // everything submitted
	byWish map[string][]wish // by the id that its event had when it was submitted

	messages []events.Message
	// grounds are the states on which an answer may still be based: those after each sequence, starting with first.
	first   uint64
	grounds []*ground
	chain   []events.Hash // after each sequence
	byID    map[string]uint64
	hashes  []string // the request hash of each event; hashes[0] is unused
	at      string   // time of the last event
	starts  map[string][]uint64
	holders *holders
	// due checks an event caused by the server's Leases against the state before it.
	due func(before *model, w wish) *Failure

	blobs   *simlog.Blobs
	state   *projections.State // the product's fold, from an empty state, one event after another
	encoded map[uint64]events.Hash
}

// ground is the state after a sequence, for the judge and for clients.
type ground struct {
	*documents.Judge
	seen *model
}

func (g *ground) model() *model {
	if g.seen == nil {
		g.seen = viewed(g.State())
	}
	return g.seen
}

func newOracle(blobs *simlog.Blobs) *oracle {
	return &oracle{
		byWish:  map[string][]wish{},
		grounds: []*ground{{Judge: documents.New()}},
		chain:   []events.Hash{{}},
		byID:    map[string]uint64{},
		hashes:  []string{""},
		blobs:   blobs,
		state:   projections.New(),
		encoded: map[uint64]events.Hash{},
		starts:  map[string][]uint64{},
		holders: newHolders(),
	}
}

// ground returns the state after a sequence that was not dropped yet.
func (o *oracle) ground(sequence uint64) *ground { return o.grounds[sequence-o.first] }

// forget drops the states before a sequence: no answer can be based on them any more.
func (o *oracle) forget(before uint64) {
	if before > o.first {
		o.grounds, o.first = slices.Clone(o.grounds[before-o.first:]), before
	}
}

// encodedAt returns the hash of the encoded state after a sequence.
func (o *oracle) encodedAt(sequence uint64) events.Hash {
	hash, ok := o.encoded[sequence]
	if ok {
		return hash
	}
	state := o.state
	if sequence < o.head() {
		state = projections.New()
		for _, m := range o.messages[:sequence] {
			if err := apply(state, m); err != nil {
				panic(err) // the product folded it before
			}
		}
	}
	o.encoded[sequence] = encode(state)
	return o.encoded[sequence]
}

func encode(s *projections.State) events.Hash {
	b, err := s.Encode()
	if err != nil {
		panic(err)
	}
	return events.BodyHash(b)
}

func (o *oracle) head() uint64 { return uint64(len(o.messages)) }

func (o *oracle) now() *ground { return o.grounds[len(o.grounds)-1] }

func (o *oracle) model() *model { return o.now().model() }

// submitted records a wish that may become an event.
func (o *oracle) submitted(w wish) {
	id := w.eventID(o.now().Project(w.asks(0)))
	o.byWish[id] = append(o.byWish[id], w)
	o.wishes = append(o.wishes, w)
}

// envelope is the part of a stored CloudEvent that the checks need.
type envelope struct {
	ID          string          `json:"id"`
	Source      string          `json:"source"`
	Type        string          `json:"type"`
	Time        string          `json:"time"`
	Project     string          `json:"partitionkey"`
	PrevHash    string          `json:"prevhash"`
	RequestHash string          `json:"requesthash"`
	Rules       string          `json:"rules"`
	Occurred    string          `json:"occurredat"`
	Causation   string          `json:"causationid"`
	Correlation string          `json:"correlationid"`
	Data        json.RawMessage `json:"data"`
}

// at returns the event's time in milliseconds; said returns that of its occurredat, 0 if it has none.
func (e envelope) at() int64   { return milliseconds(e.Time) }
func (e envelope) said() int64 { return milliseconds(e.Occurred) }

func milliseconds(text string) int64 {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return 0
	}
	return at.UnixMilli()
}

// causes returns the event's causationid and correlationid.
func (e envelope) causes() [2]string { return [2]string{e.Causation, e.Correlation} }

// eventTypes are the event types of each command.
var eventTypes = func() map[string]string {
	types := map[string]string{}
	for _, row := range documents.Table() {
		types[row.ID] = "maestro." + row.Event + ".v1"
	}
	return types
}()

// follow checks an event that is newly on disk.
func (o *oracle) follow(m events.Message) *Failure {
	before, sequence := o.now(), o.head()+1
	var e envelope
	if err := json.Unmarshal(m.Body, &e); err != nil {
		return failure("1 the log", "sequence %d is not JSON: %v", sequence, err)
	}
	if at, twice := o.byID[e.ID]; twice {
		return failure("6 one command, one event", "event %s occurs at %d and at %d", e.ID, at, sequence)
	}
	if prev := o.chain[sequence-1]; e.PrevHash != hex.EncodeToString(prev[:]) {
		return failure("5 the chain", "sequence %d has the prevhash %s, the chain is at %s", sequence, e.PrevHash, prev)
	}
	if e.Time < o.at {
		return failure("time never goes back", "sequence %d has the time %s, before %s", sequence, e.Time, o.at)
	}
	if f := o.holders.follow(sequence, e); f != nil {
		return f
	}
	w, ok := o.wishOf(before, e)
	if !ok {
		return failure(
			"6 one command, one event",
			"sequence %d (%s from %s) is the event of no command that was submitted",
			sequence,
			e.Type,
			e.Source,
		)
	}
	if e.Type != eventTypes[w.id] {
		return failure("2 only what is permitted", "sequence %d: %s became %s", sequence, w.id, e.Type)
	}
	command := w.asks(e.at())
	if answer := before.Ask(command); !answer.Event {
		return failure("2 only what is permitted", "sequence %d is an event, and must be %s: %s", sequence, answer, w)
	}
	if is, must := e.causes(), causesOf(before, command); is != must || e.Rules != "7" {
		return failure(
			"events name their causes",
			"sequence %d (rules %s) has the causes %q, expected %q: %s",
			sequence,
			e.Rules,
			is,
			must,
			w,
		)
	}
	if wrong := before.Tells(command, m.Body); wrong != "" {
		return failure("2 only what is permitted", "sequence %d: %s: %s", sequence, wrong, w)
	}
	after, f := o.judged(before, m)
	if f != nil {
		return f
	}
	if w.due {
		if f := o.due(before.model(), w); f != nil {
			return f
		}
	}
	if w.id == "queue:start" {
		x := after.model().sessions[before.model().target(w)]
		key := queueID(e.Project, x.Queue) + "/" + x.Last
		o.starts[key] = append(o.starts[key], sequence)
	}
	for field, digest := range textsOf(e.Data) {
		if string(o.blobs.Blob(digest)) != w.fields.Message {
			return failure(
				"1 acknowledged is never lost",
				"sequence %d: the text of %s, %s, is not among the blobs",
				sequence,
				field,
				digest,
			)
		}
	}
	o.messages = append(o.messages, m)
	o.grounds = append(o.grounds, after)
	o.chain = append(o.chain, link(o.chain[sequence-1], m))
	o.byID[e.ID] = sequence
	o.hashes = append(o.hashes, e.RequestHash)
	o.at = e.Time
	if err := apply(o.state, m); err != nil {
		return failure("4 every view equals the fold", "sequence %d cannot be folded: %v", sequence, err)
	}
	if err := after.model().compare(o.state); err != nil {
		return failure("views show what happened", "after sequence %d, %v: %s", sequence, err, w)
	}
	return nil
}

// judged has internal/oracle judge an event, and returns the state after it.
func (o *oracle) judged(before *ground, m events.Message) (*ground, *Failure) {
	after := &ground{Judge: before.Clone()}
	line, err := json.Marshal(map[string]any{
		// raw has the bytes as base64: marshalling embedded JSON could change them
		"sequence": m.Sequence, "hash": link(o.chain[m.Sequence-1], m), "subject": m.Subject, "raw": m.Body,
	})
	if err == nil {
		err = after.Line(line)
	}
	if err != nil {
		return nil, failure("the oracle agrees", "sequence %d: %v", m.Sequence, err)
	}
	if v := after.Verdict(); len(v.Faults) > 0 {
		return nil, failure(
			"the oracle agrees",
			"sequence %d breaks the rule %s: %s",
			m.Sequence,
			v.Faults[0].Rule,
			v.Faults[0].What,
		)
	}
	return after, nil
}

// link returns the chain's hash after an event. It does not use the product's code.
func link(prev events.Hash, m events.Message) events.Hash {
	body := sha256.Sum256(m.Body)
	return sha256.Sum256(append(append([]byte{}, prev[:]...), body[:]...))
}

// causesOf returns the causationid and correlationid that the event of a command must have.
func causesOf(before *ground, command documents.Command) [2]string {
	cause, first := before.Cause(command)
	return [2]string{cause, first}
}

// textsOf returns the digests of an event's texts that are stored as blobs.
func textsOf(data json.RawMessage) map[string]string {
	var d struct {
		Blobs map[string]string `json:"blobs"`
	}
	if json.Unmarshal(data, &d) != nil {
		return nil
	}
	return d.Blobs
}

func apply(s *projections.State, m events.Message) error {
	event, err := events.Decode(m.Body)
	if err != nil {
		return err
	}
	_, err = s.Apply(m.Sequence, event, events.BodyHash(m.Body))
	return err
}

// wishOf returns the wish that became an event: the one with the event's id, recomputed, and the event's request hash.
func (o *oracle) wishOf(before *ground, e envelope) (wish, bool) {
	// Its project may differ from the one at submission, if its session has been created since.
	for _, wishes := range [][]wish{o.byWish[e.ID], o.wishes} {
		for _, w := range wishes {
			if w.by.source() == e.Source && w.eventID(before.Project(w.asks(0))) == e.ID && w.hash() == e.RequestHash &&
				w.said(before, e.at()) == e.said() {
				return w, true
			}
		}
	}
	var d told
	if e.Source != "/system" || json.Unmarshal(e.Data, &d) != nil {
		return wish{}, false
	}
	return o.dueWish(before, e, d)
}

// eventOf returns the sequence of a wish's event, 0 if there is none; another says that the event there is of another
// wish with the same key.
func (o *oracle) eventOf(w wish) (at uint64, another bool) {
	at = o.byID[w.eventID(o.now().Project(w.asks(0)))]
	return at, at > 0 && o.hashes[at] != w.hash()
}

// keyReused is the code of a command whose key was used for another command.
const keyReused = "KEY_REUSED"

// expect returns the result that a wish must have in the state after a sequence, at a time.
func (o *oracle) expect(ground uint64, w wish, at int64) documents.Answer {
	switch event, another := o.eventOf(w); {
	case event == 0 || event > ground:
		return o.ground(ground).Ask(w.asks(at))
	case another:
		return documents.Answer{Codes: []string{keyReused}}
	}
	return documents.Answer{Event: true}
}

// refold folds everything again from an empty state.
func (o *oracle) refold() *Failure {
	s := projections.New()
	for i, m := range o.messages {
		if err := apply(s, m); err != nil {
			return failure("4 every view equals the fold", "sequence %d cannot be folded again: %v", i+1, err)
		}
	}
	if encode(s) != o.encodedAt(o.head()) {
		return failure("4 every view equals the fold", "a fold from an empty state gives another state")
	}
	return nil
}

// Failure is a broken promise.
type Failure struct {
	// Promise names the promise, Detail says how it broke.
	Promise, Detail string
}

func (f *Failure) Error() string { return fmt.Sprintf("promise %s: %s", f.Promise, f.Detail) }

func failure(promise, format string, args ...any) *Failure {
	return &Failure{Promise: promise, Detail: fmt.Sprintf(format, args...)}
}
