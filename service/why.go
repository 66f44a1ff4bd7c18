package service

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"maestro/commands"
	"maestro/events"
	"maestro/internal/safetext"
	"maestro/projections"
	"maestro/service/wire"
)

// reason is a fact, and the event that caused it.
type reason struct {
	what     string
	sequence uint64
	// at and made find the event if the state does not know its sequence: when it was decided, in milliseconds since
	// 1970, and whether an event of that time is the one.
	at   int64
	made func(events.Data) bool
	// about is another task or session that what mentions.
	about string
}

// Why returns the chains of causes that led to the present facts, and the sequence of the answer.
func (s *Service) Why(ctx context.Context, c *Caller, id string) (body wire.Why, sequence uint64, err error) {
	leave, err := s.admitted(ctx, c, Demand{})
	if err != nil {
		return wire.Why{}, 0, err
	}
	defer leave()
	var reasons []reason
	body = wire.Why{ID: id, Chains: []wire.WhyChain{}}
	err = s.Look(ctx, c, func(v View) (err error) {
		sequence = v.Head().Sequence
		reasons, body.ChainsMore, err = v.reasons(id)
		return err
	})
	if err != nil {
		return body, sequence, err
	}
	told := s.causesFor(ctx, c)
	defer told.held.free()
	for _, reason := range reasons {
		if err := told.find(ctx, &reason, sequence); err != nil {
			return body, sequence, err
		}
		chain, err := told.chain(ctx, reason)
		if err != nil {
			return body, sequence, err
		}
		body.Chains = append(body.Chains, chain)
	}
	mentioned := []string{id}
	for _, reason := range reasons {
		if reason.about != "" {
			mentioned = append(mentioned, reason.about)
		}
	}
	for _, chain := range body.Chains {
		for _, step := range chain.Steps {
			mentioned = append(mentioned, step.Source)
		}
	}
	if _, task, ok := strings.Cut(id, "/"); ok {
		mentioned = append(mentioned, task)
	}
	err = s.Look(ctx, c, func(v View) error {
		body.Names = v.names(mentioned...)
		return nil
	})
	return body, sequence, err
}

// causes follows chains of causes for one answer.
type causes struct {
	*Service
	caller *Caller
	// left is how many steps the answer may still have, over all its chains.
	left int
	// known is what was read of events: chains often end in the same ones.
	known map[uint64]*cause
	// words is the length of their texts, held the count of their memory.
	words int
	held  *holding
}

// cause is what a chain needs to know of an event.
type cause struct {
	step    wire.WhyStep
	project string
	// root is who or what caused the event if no event did; causation is the id of the event that did.
	root, causation string
}

// longestStep bounds the text of a step, in bytes: an event may name a thousand tasks.
const longestStep = 4 << 10

func (s *Service) causesFor(ctx context.Context, c *Caller) *causes {
	const causeSize = 400
	w := &causes{
		Service: s,
		caller:  c,
		left:    int(commands.LimitWhyEvents.Value),
		known:   map[uint64]*cause{},
	}
	w.held = s.later(ctx, c).holding(func() int64 { return int64(len(w.known))*causeSize + int64(w.words) })
	return w
}

// reasons returns the facts to explain about an id; more counts what is omitted.
func (v View) reasons(id string) (reasons []reason, more int, err error) {
	if err := v.Permit("why", ""); err != nil {
		return nil, 0, err
	}
	if t := v.Task(id); t != nil {
		reasons, more = v.whyTask(t)
		return reasons, more, v.Permit("why", t.ProjectID)
	}
	reasons, err = v.reasonsOf(id)
	return reasons, 0, err
}

// reasonsOf is reasons for objects other than tasks.
func (v View) reasonsOf(id string) ([]reason, error) {
	if sequence, err := strconv.ParseUint(id, 10, 64); err == nil {
		if sequence == 0 || sequence > v.Head().Sequence {
			return nil, nothingWith(id)
		}
		return []reason{{what: "event " + id, sequence: sequence}}, nil
	}
	if event, err := uuid.Parse(id); err == nil {
		if sequence, ok := v.Accepted(event); ok {
			return []reason{{what: "event " + id, sequence: sequence}}, nil
		}
	}
	if t := v.TaskEver(id); t != nil {
		return whyDeletedTask(t), v.Permit("why", t.ProjectID)
	}
	if x := v.SessionEver(id); x != nil && x.Deleted {
		return v.because("session "+id+" is deleted", x.Gone), v.Permit("why", x.ProjectID)
	}
	if p := v.ProjectEver(id); p != nil {
		return whyProject(p), v.Permit("why", p.ID)
	}
	if x := v.Session(id); x != nil {
		return v.whySession(x), v.Permit("why", x.ProjectID)
	}
	if queue, task, ok := strings.Cut(id, "/"); ok {
		if item := v.Item(v.TaskProject(task), queue, task); item != nil {
			return v.because(fmt.Sprintf("task %s is %s in queue %s", task, item.Status, queue),
				item.Cause), v.Permit("why", item.ProjectID)
		}
	}
	if x := v.Input(id); x != nil {
		cause, what := x.Asked, "asked"
		if x.AnsweredAt != 0 {
			cause, what = x.Answered, "answered"
		}
		return v.because(fmt.Sprintf("question %s is %s", id, what), cause), v.Permit("why", x.ProjectID)
	}
	return nil, nothingWith(id)
}

func nothingWith(id string) error {
	unknown := NotFound("Id", id)
	unknown.Message = "There is nothing with the id '" + safetext.Printable(id) + "'"
	unknown.Next = "give the id of a task, a session, a question, a project or an event; for a queue, one of its " +
		"items as QUEUE/TASK"
	return unknown
}

func (v View) because(what string, cause projections.Cause) []reason {
	id, err := uuid.Parse(cause.Event)
	if err != nil {
		return nil
	}
	if sequence, ok := v.Accepted(id); ok {
		return []reason{{what: what, sequence: sequence}}
	}
	return nil
}

func whyDeletedTask(t *projections.Task) []reason {
	return []reason{{what: "task " + t.ID + " is deleted", at: t.UpdatedAt, made: func(data events.Data) bool {
		d, deletes := data.(*events.TaskDeleted)
		return deletes && (d.TaskID == t.ID || slices.Contains(d.Descendants, t.ID))
	}}}
}

func whyProject(p *projections.Project) []reason {
	if p.Deleted {
		return []reason{{what: "project " + p.ID + " is deleted", at: p.UpdatedAt, made: func(data events.Data) bool {
			d, deletes := data.(*events.ProjectDeleted)
			return deletes && d.ProjectID == p.ID
		}}}
	}
	return []reason{{what: "project " + p.ID + " exists", at: p.CreatedAt, made: func(data events.Data) bool {
		d, creates := data.(*events.ProjectCreated)
		return creates && d.ProjectID == p.ID
	}}}
}

// sameInstant is how many events of one millisecond are searched for the one that caused something.
const sameInstant = 200

// find fills in the sequence of a reason of which only the time is known; 0 if it is not found.
func (w *causes) find(ctx context.Context, r *reason, head uint64) error {
	if r.made == nil {
		return nil
	}
	last := min(head, w.tape().Before(time.UnixMilli(r.at)))
	for sequence := last + 1; sequence <= min(head, last+sameInstant); sequence++ {
		event, err := w.read(ctx, sequence)
		switch {
		case err != nil:
			return err
		case event.Time.UnixMilli() != r.at:
			return nil
		case r.made(event.Data):
			r.sequence = sequence
			return nil
		}
	}
	return nil
}

// chain follows the causes of an event back. It shows only what the caller may see.
func (w *causes) chain(ctx context.Context, from reason) (wire.WhyChain, error) {
	chain := wire.WhyChain{What: from.what, Steps: []wire.WhyStep{}}
	for sequence := from.sequence; sequence > 0; {
		if w.left == 0 || len(chain.Steps) == int(commands.LimitWhySteps.Value) {
			chain.Root = whereItGoesOn(chain.Steps, sequence)
			return chain, nil
		}
		w.left--
		cause, err := w.causeAt(ctx, sequence)
		if err != nil {
			return chain, err
		}
		if err := w.mayReadCause(w.caller, cause.project); err != nil {
			if len(chain.Steps) == 0 {
				return chain, err
			}
			chain.Root = "something in another project"
			return chain, nil
		}
		chain.Steps = append(chain.Steps, cause.step)
		chain.Root = cause.root
		sequence = w.sequenceOf(cause.causation)
	}
	return chain, nil
}

// whereItGoesOn is the root of a chain that is cut before a sequence.
func whereItGoesOn(steps []wire.WhyStep, next uint64) string {
	if len(steps) == 0 {
		return "event " + strconv.FormatUint(next, 10) + ": the answer is full"
	}
	return "what led to event " + strconv.FormatUint(steps[len(steps)-1].Sequence, 10) + ": the chain goes on"
}

// causeAt returns what a chain needs to know of an event. It reads each event once, and keeps nothing else of it: an
// event may be long.
func (w *causes) causeAt(ctx context.Context, sequence uint64) (*cause, error) {
	if known, ok := w.known[sequence]; ok {
		return known, nil
	}
	event, err := w.read(ctx, sequence)
	if err != nil {
		return nil, err
	}
	what, _ := events.Preview(w.describe(w.caller, event.Data).String(), longestStep)
	what = strings.Clone(what)
	read := &cause{
		step: wire.WhyStep{
			Sequence: sequence,
			ID:       event.ID.String(),
			Time:     events.Millis(event.Time.UnixMilli()),
			Source:   strings.Clone(event.Source),
			Type:     event.Data.EventType(),
			What:     what,
		},
		project:   strings.Clone(event.Project),
		root:      strings.Clone(rootOf(event)),
		causation: strings.Clone(event.CausationID),
	}
	w.known[sequence] = read
	w.words += len(what)
	return read, w.held.grow(false)
}

// read reads an event when it is the caller's turn, and charges for it by its length, until the caller is gone.
func (w *causes) read(ctx context.Context, sequence uint64) (event *events.Event, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	turn, err := w.Turn(ctx, w.caller)
	if err != nil {
		return nil, err
	}
	defer turn.End()
	err = w.Log.Read(ctx, sequence, sequence, func(m events.Message) (err error) {
		w.caller.chargeSteps(StepsPerRead/FoundPerRead + len(m.Body)*StepsPerRead/bytesPerUnit)
		event, err = events.Decode(m.Body)
		return err
	})
	if err == nil && event == nil {
		err = errNoEvent
	}
	return event, err
}

// mayReadCause checks the permission for an event's project. What belongs to none, such as a token, is only for callers
// that read everything.
func (s *Service) mayReadCause(c *Caller, project string) (err error) {
	s.Handler.View(func(state *projections.State) { err = s.At(state, c).Permit("why", project) })
	if err == nil && project == "" && !c.ReadsAll() {
		err = &commands.Refusal{
			Code:    commands.CodeNotAllowed,
			Rule:    "why",
			Message: "This event belongs to no project, and may not be read by " + c.By.String(),
			Why:     "only those who may read everything may read it",
			Next:    "ask the user",
		}
	}
	return err
}

// errNoEvent says that a log returned nothing at a sequence that it has.
var errNoEvent = errors.New("the log gave no event")

func (s *Service) sequenceOf(event string) (sequence uint64) {
	if id, err := uuid.Parse(event); err == nil {
		s.Handler.View(func(state *projections.State) { sequence, _ = state.Accepted(id) })
	}
	return sequence
}

// rootOf returns who or what caused an event that has no cause among the events.
func rootOf(e *events.Event) string {
	switch d := e.Data.(type) {
	case *events.SessionLost:
		return fmt.Sprintf("a deadline: %s was last heard at %s, and its lease is %s", d.SessionID,
			time.UnixMilli(d.LastHeard).UTC().Format(time.RFC3339), time.Duration(d.Lease)*time.Millisecond)
	case *events.SessionTimedOut:
		return fmt.Sprintf("a deadline: %s reached its deadline at %s", d.SessionID,
			time.UnixMilli(d.Deadline).UTC().Format(time.RFC3339))
	}
	by, err := commands.ActorOf(e)
	if err != nil {
		return e.Source
	}
	return by.String()
}
