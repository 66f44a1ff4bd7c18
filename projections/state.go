package projections

import (
	"fmt"
	"time"

	"github.com/google/uuid"

	"maestro/events"
)

// State is the fold of a log up to a sequence. It is not safe for concurrent use: its owner (engine.Handler) lets one
// goroutine write, and none read meanwhile.
type State struct {
	under *State

	// accepted finds the ids of a committed state, fresh those of an overlay, freshSealed those of its sealed batch. A
	// past state asks a later one instead, whose first reach events it knows.
	accepted *idIndex
	later    Later
	reach    uint64
	fresh    map[uuid.UUID]uint64

	freshSealed map[uuid.UUID]uint64
	// sealed is what the sealed batch leads to.
	sealed   untabled
	isSealed bool

	projects   table[*Project]
	made       table[RootUsage] // by root
	tasks      table[*Task]
	taskIDs    table[[]string]  // by project, in order of creation
	children   table[[]string]  // by parent, in order of creation
	ordered    table[[]string]  // by parent, and by orderOf the project: tasks with their own place, in its order
	elsewhere  table[positions] // by project: which of taskIDs have a place of their own
	unfinished table[int]       // by parent: the tasks directly below it that are open
	plans      table[string]    // by project and plan id: the task
	// taskAttention and sessionAttention hold, by project, the tasks and sessions that an inbox has to examine.
	taskAttention    table[line]
	sessionAttention table[line]

	tallies table[Tally] // by project

	sessions   table[*Session]
	sessionIDs table[[]string]   // by project, in order of creation
	spawned    table[line]       // by session: those that it spawned and that live, or have living descendants
	standing   table[openCounts] // by root

	queues      table[*Queue]
	queueNames  table[[]string] // by project, in order of creation
	items       table[*Item]
	itemTasks   table[[]string] // by queue, in order of the first push
	itemsOf     table[[]string] // by task: keys of its items, sorted
	openOf      table[[]string] // by task: keys of those that are queued or held, sorted
	ready       table[line]     // by queue: what may be started
	waiting     table[line]     // by queue: items that wait for something
	over        table[line]     // by queue: queued items that never start, because their task is done with
	dependents  table[[]string] // by task: the tasks that may depend on it
	open        table[waits]    // by task: its items that are queued or held
	awaited     table[awaiting] // by task: such items of its dependents
	trusted     table[int]      // by project: such items in queues that trust reports
	spokeOf     table[line]     // by session: the tasks with its statement, by the events that created them
	inputs      table[*Input]
	inputIDs    table[[]string] // by project, in the order in which they were asked
	unanswered  table[line]     // by project: open questions
	asking      table[line]     // by session: its open questions
	voids       table[line]     // by session that has ended: its questions without an answer
	undelivered table[[]string] // by session: answers and messages, in order
	tokens      table[*Token]
	origins     table[*TokenOrigins] // by token
	templates   table[*Template]
	webhooks    table[*Webhook]

	sessionTimelines table[Timeline]
	taskTimelines    table[Timeline]
	lastWords        table[*Entry]     // by session: its last report, if on itself: it cannot continue, or is done
	exits            table[*Entry]     // by session: the end of its command, if it was not heard since
	losses           table[*Loss]      // by session
	late             table[[]*Entry]   // by project: reports after their session's end
	blobRefs         table[[]BlobRef]  // by digest
	redactions       table[*Redaction] // by digest

	changes []Change
	// linesMoved are the queues in which the last event made items startable, or no longer startable.
	linesMoved []string
	unsettled  unsettled
	meter      *meter // counts work; nil if it is not counted

	layers []layer // all tables above
	untabled
}

// untabled is the part of a state that is not in tables. An overlay starts with a copy of it and passes its own down on
// commit.
type untabled struct {
	head    events.Head
	genesis events.Hash
	at      time.Time

	ids         idList
	tape        Tape
	projectIDs  []string
	heldItems   line     // of all queues, by the sequence of the start
	living      line     // sessions of all projects, by the events that made them
	timed       line     // those with a deadline
	employed    line     // those that concern a runner
	trusting    []string // queues that trust reports
	tokenNames  []string
	templateIDs []string
	redacted    int // how many texts were
	webhookIDs  []string
	unowned     []unowned
	// era is raised when all counts of unmet dependencies become invalid, without and with trust in reports.
	era [2]uint32
}

// New returns the state of the empty log.
func New() *State { return build(nil) }

// Overlay returns a state that reads through to s and holds every change until [State.Commit]. s must not change while
// the overlay is in use, except by that Commit.
func (s *State) Overlay() *State {
	if s.under != nil || s.later != nil {
		panic("projections: an overlay has no overlay, and a past state has none")
	}
	o := build(s)
	o.untabled = s.untabled
	return o
}

func build(under *State) *State {
	s := &State{under: under, untabled: untabled{era: [2]uint32{1, 1}}}
	if under == nil {
		s.accepted = newIDIndex()
	} else {
		s.fresh, s.freshSealed = make(map[uuid.UUID]uint64), make(map[uuid.UUID]uint64)
	}
	s.layers = s.tables()
	for i, layer := range s.layers {
		if under == nil {
			layer.open(nil)
		} else {
			layer.open(under.layers[i])
		}
	}
	return s
}

// tables returns every table of the state.
func (s *State) tables() []layer {
	return []layer{
		&s.projects, &s.made, &s.tasks, &s.taskIDs, &s.children, &s.ordered, &s.elsewhere, &s.unfinished, &s.plans,
		&s.sessions, &s.sessionIDs, &s.spawned, &s.standing, &s.queues, &s.queueNames, &s.items, &s.itemTasks,
		&s.itemsOf, &s.openOf, &s.ready, &s.waiting, &s.over, &s.dependents, &s.open, &s.awaited,
		&s.trusted, &s.spokeOf, &s.inputs, &s.inputIDs, &s.unanswered, &s.asking, &s.voids, &s.undelivered,
		&s.tokens, &s.templates, &s.webhooks, &s.sessionTimelines, &s.taskTimelines, &s.lastWords, &s.exits, &s.losses,
		&s.late, &s.blobRefs, &s.taskAttention, &s.sessionAttention, &s.origins, &s.redactions, &s.tallies,
	}
}

// Seal makes the overlay's changes a batch, which the next Commit moves down. Changes after it belong to another batch.
// There is one sealed batch at a time.
func (s *State) Seal() {
	if s.isSealed {
		panic("projections: the batch before is still sealed")
	}
	s.isSealed, s.sealed = true, s.untabled
	s.fresh, s.freshSealed = s.freshSealed, s.fresh
	for _, layer := range s.layers {
		layer.seal()
	}
}

// Commit moves the sealed batch into the state under the overlay. If none is sealed, it moves all changes and leaves
// the overlay empty.
func (s *State) Commit() {
	if !s.isSealed {
		s.Seal()
	}
	for sequence := s.under.ids.n + 1; sequence <= s.sealed.ids.n; sequence++ {
		s.under.accepted.add(&s.sealed.ids, sequence)
	}
	clear(s.freshSealed)
	for _, layer := range s.layers {
		layer.settle()
	}
	s.under.untabled = s.sealed
	s.isSealed, s.sealed = false, untabled{}
}

// Drop discards all of the overlay's changes, those of a sealed batch too, and resets it to the state under it.
func (s *State) Drop() {
	clear(s.fresh)
	clear(s.freshSealed)
	for _, layer := range s.layers {
		layer.drop()
	}
	s.untabled = s.under.untabled
	s.isSealed, s.sealed = false, untabled{}
}

// Head returns the sequence of the last event applied and the chain's hash after it.
func (s *State) Head() events.Head { return s.head }

// Genesis returns the chain's hash after sequence 1, which identifies the log; zero for the empty log.
func (s *State) Genesis() events.Hash { return s.genesis }

// At returns the time of the last event applied; the next is never before it.
func (s *State) At() time.Time { return s.at }

// Accepted returns the sequence of the event with this id, if it was accepted.
func (s *State) Accepted(id uuid.UUID) (sequence uint64, ok bool) {
	committed := s
	if s.under != nil {
		if sequence, ok = s.fresh[id]; ok {
			return sequence, true
		}
		if sequence, ok = s.freshSealed[id]; ok {
			return sequence, true
		}
		committed = s.under
	}
	sequence = committed.find(id)
	return sequence, sequence != 0
}

// EventID returns the id of the applied event at a sequence.
func (s *State) EventID(sequence uint64) (uuid.UUID, bool) {
	if sequence == 0 || sequence > s.ids.n {
		return uuid.UUID{}, false
	}
	return *s.ids.at(sequence), true
}

// Apply folds the event at sequence into the state and returns what it changed, in order; the slice is valid until the
// next Apply. body is the event's hash, [events.BodyHash]. An event that is not the next one of the chain gives
// *events.DamageError and changes nothing, as does one that contradicts the state, which no correct writer appends.
func (s *State) Apply(sequence uint64, e *events.Event, body events.Hash) ([]Change, error) {
	if err := s.follows(sequence, e.PrevHash); err != nil {
		return nil, err
	}
	if err := s.checkID(sequence, e.ID); err != nil {
		return nil, err
	}
	if e.Time.Before(s.at) {
		return nil, &events.DamageError{
			Sequence: sequence,
			Why:      fmt.Sprintf("its time %s is before that of the event before it", e.Time),
		}
	}
	s.changes, s.linesMoved = s.changes[:0], s.linesMoved[:0]
	if err := s.fold(sequence, e); err != nil {
		return nil, &events.DamageError{Sequence: sequence, Why: err.Error()}
	}
	s.heard(e)
	s.settle()
	s.referFrom(s.changes)
	s.advance(sequence, e.PrevHash, body)
	s.at = e.Time
	s.append(e)
	return s.changes, nil
}

// checkID returns an error if an event has the id of an earlier one.
func (s *State) checkID(sequence uint64, id uuid.UUID) error {
	if s.later != nil {
		return s.checkShared(sequence, id)
	}
	if at, ok := s.Accepted(id); ok {
		why := fmt.Sprintf("event %s stands at sequence %d already", id, at)
		return &events.DamageError{Sequence: sequence, Why: why}
	}
	return nil
}

// append adds the next event to the ids and the tape.
func (s *State) append(e *events.Event) {
	if s.later != nil { // they have it
		s.ids.n++
		s.tape.n++
		return
	}
	s.ids, s.tape = s.ids.with(e.ID), s.tape.with(e.Time.UnixMilli(), s.number(e.Project), MarkOf(e.Data))
	if s.under == nil {
		s.accepted.add(&s.ids, s.ids.n)
	} else {
		s.fresh[e.ID] = s.ids.n
	}
}

// fold must check before it changes anything: an error leaves the state as it was.
func (s *State) fold(sequence uint64, e *events.Event) error {
	f := fact{Event: e, sequence: sequence, at: e.Time.UnixMilli()}
	switch d := e.Data.(type) {
	case *events.ProjectCreated:
		return s.projectCreated(f, d)
	case *events.ProjectUpdated:
		return s.projectUpdated(f, d)
	case *events.ProjectDeleted:
		return s.projectDeleted(f, d)
	case *events.TaskCreated:
		return s.taskCreated(f, d)
	case *events.TaskUpdated:
		return s.taskUpdated(f, d)
	case *events.TaskStatusChanged:
		return s.taskStatusChanged(f, d)
	case *events.TaskDeleted:
		return s.taskDeleted(f, d)
	case *events.SessionSpawned:
		return s.sessionSpawned(f, d)
	case *events.SessionRegistered:
		return s.sessionRegistered(f, d)
	case *events.SessionUpdated:
		return s.sessionUpdated(f, d)
	case *events.SessionCompleted:
		return s.sessionCompleted(f, d)
	case *events.SessionKilled:
		return s.sessionKilled(f, d)
	case *events.SessionDeleted:
		return s.sessionDeleted(f, d)
	case *events.SessionMessaged:
		return s.sessionMessaged(f, d)
	case *events.SessionReported:
		return s.sessionReported(f, d)
	case *events.SessionNoted:
		return s.sessionNoted(f, d)
	case *events.SessionFileTracked:
		return s.sessionFileTracked(f, d)
	case *events.SessionTaskLinked:
		return s.sessionTaskLinked(f, d)
	case *events.SessionTaskUnlinked:
		return s.sessionTaskUnlinked(f, d)
	case *events.SessionLost:
		return s.sessionLost(f, d)
	case *events.SessionRecovered:
		return s.sessionRecovered(f, d)
	case *events.SessionTimedOut:
		return s.sessionTimedOut(f, d)
	case *events.SessionClaimed:
		return s.sessionClaimed(f, d)
	case *events.SessionExited:
		return s.sessionExited(f, d)
	case *events.SessionUsed:
		return s.sessionUsed(f, d)
	case *events.SandboxBlocked:
		return s.sandboxBlocked(f, d)
	case *events.PreflightFailed:
		return s.preflightFailed(f, d)
	case *events.SessionStuck:
		return s.sessionStuck(f, d)
	case *events.SessionResumed:
		return s.sessionResumed(f, d)
	case *events.QueueCreated:
		return s.queueCreated(f, d)
	case *events.QueueItemPushed:
		return s.itemPushed(f, d)
	case *events.QueueItemStarted:
		return s.itemStarted(f, d)
	case *events.QueueItemCompleted:
		return s.itemCompleted(f, d)
	case *events.QueueItemFailed:
		return s.itemFailed(f, d)
	case *events.QueueItemSkipped:
		return s.itemSkipped(f, d)
	case *events.QueueItemRequeued:
		return s.itemRequeued(f, d)
	case *events.QueueItemReturned:
		return s.itemReturned(f, d)
	case *events.QueueItemMoved:
		return s.itemMoved(f, d)
	case *events.QueueItemRemoved:
		return s.itemRemoved(f, d)
	case *events.QueueDeleted:
		return s.queueDeleted(f, d)
	case *events.QueueItemQuarantined:
		return s.itemQuarantined(f, d)
	case *events.InputAnswered:
		return s.inputAnswered(f, d)
	case *events.InputDelivered:
		return s.inputDelivered(f, d)
	case *events.TokenCreated:
		return s.tokenCreated(f, d)
	case *events.TokenRevoked:
		return s.tokenRevoked(f, d)
	case *events.TokenUsed:
		return s.tokenUsed(f, d)
	case *events.TextRedacted:
		return s.textRedacted(f, d)
	case *events.TemplateCreated:
		return s.templateCreated(f, d)
	case *events.TemplateUpdated:
		return s.templateUpdated(f, d)
	case *events.TemplateReset:
		return s.templateReset(f, d)
	case *events.TemplateDeleted:
		return s.templateDeleted(f, d)
	case *events.WebhookCreated:
		return s.webhookCreated(f, d)
	case *events.WebhookUpdated:
		return s.webhookUpdated(f, d)
	case *events.WebhookDeleted:
		return s.webhookDeleted(f, d)
	case *events.WebhookParked:
		return s.webhookParked(f, d)
	case *events.WebhookResumed:
		return s.webhookResumed(f, d)
	}
	return &events.UnknownTypeError{Type: e.Data.EventType()}
}

// fact is an event at its position in the log.
type fact struct {
	*events.Event
	sequence uint64
	at       int64 // milliseconds
}

func missing(kind, id string) error {
	return fmt.Errorf("it speaks of the %s %q, which does not exist", kind, id)
}

func exists(kind, id string) error { return fmt.Errorf("it creates the %s %q, which exists", kind, id) }
