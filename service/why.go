package service

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"maestro/commands"
	"maestro/events"
	"maestro/projections"
	"maestro/service/wire"
)

// reason is a thing that is so, and the event that made it so.
type reason struct {
	what     string
	sequence uint64
}

// Why gives the chains of causes that led to what is so, and the sequence at which it was answered.
func (s *Service) Why(ctx context.Context, c *Caller, id string) (body wire.Why, sequence uint64, err error) {
	var reasons []reason
	s.Handler.View(func(state *projections.State) {
		sequence = state.Head().Sequence
		reasons, err = s.At(state, c).reasons(id)
	})
	if err != nil {
		return body, sequence, err
	}
	body = wire.Why{ID: id, Chains: []wire.WhyChain{}}
	for _, reason := range reasons {
		chain, err := s.chain(ctx, c, reason)
		if err != nil {
			return body, sequence, err
		}
		body.Chains = append(body.Chains, chain)
	}
	return body, sequence, nil
}

// reasons gives what there is to explain about an id.
func (v View) reasons(id string) ([]reason, error) {
	if err := v.Permit("why", ""); err != nil {
		return nil, err
	}
	if sequence, err := strconv.ParseUint(id, 10, 64); err == nil {
		if sequence == 0 || sequence > v.Head().Sequence {
			return nil, NotFound("Event", id)
		}
		return []reason{{"event " + id, sequence}}, nil
	}
	if event, err := uuid.Parse(id); err == nil {
		if sequence, ok := v.Accepted(event); ok {
			return []reason{{"event " + id, sequence}}, nil
		}
	}
	if t := v.Task(id); t != nil {
		return v.whyTask(t), v.Permit("why", t.ProjectID)
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
	return nil, NotFound("Event, task, session, question or item of a queue", id)
}

func (v View) because(what string, cause projections.Cause) []reason {
	id, err := uuid.Parse(cause.Event)
	if err != nil {
		return nil
	}
	if sequence, ok := v.Accepted(id); ok {
		return []reason{{what, sequence}}
	}
	return nil
}

func (v View) whyTask(t *projections.Task) []reason {
	var reasons []reason
	if t.StatusSequence > 0 {
		reasons = append(reasons, reason{fmt.Sprintf("task %s is %s", t.ID, t.Status), t.StatusSequence})
	} else {
		reasons = append(reasons, reason{fmt.Sprintf("task %s is %s", t.ID, t.Status), t.CreatedSequence})
	}
	says, by := v.SessionStatus(t)
	for _, said := range t.Says {
		if said.SessionID == by {
			reasons = append(reasons,
				reason{fmt.Sprintf("task %s is said to be %s, by %s", t.ID, says, by), said.Sequence})
		}
	}
	for _, item := range v.QueuesOf(t.ID) {
		reasons = append(reasons,
			v.because(fmt.Sprintf("task %s is %s in queue %s", t.ID, item.Status, item.Queue), item.Cause)...)
	}
	return reasons
}

func (v View) whySession(x *projections.Session) []reason {
	cause, what := x.Cause, string(x.Status)
	switch {
	case x.Ended():
		cause = x.Gone
	case x.Lost():
		cause, what = x.Gone, "lost"
	case x.Status == events.SessionSaidDone:
		return []reason{{fmt.Sprintf("session %s is completed", x.ID), x.DoneSequence}}
	}
	return v.because(fmt.Sprintf("session %s is %s", x.ID, what), cause)
}

// chain follows the causes of an event back. It shows only what the caller may see.
func (s *Service) chain(ctx context.Context, c *Caller, from reason) (wire.WhyChain, error) {
	chain := wire.WhyChain{What: from.what, Steps: []wire.WhyStep{}}
	for sequence := from.sequence; sequence > 0; {
		if len(chain.Steps) == int(commands.LimitWhySteps.Value) {
			chain.Root = "what led to event " + strconv.FormatUint(chain.Steps[len(chain.Steps)-1].Sequence, 10) +
				": the chain is longer"
			return chain, nil
		}
		event, err := s.eventAt(ctx, sequence)
		if err != nil {
			return chain, err
		}
		if err := s.mayFollow(c, event.Project); err != nil {
			if len(chain.Steps) == 0 {
				return chain, err
			}
			chain.Root = "something in another project"
			return chain, nil
		}
		chain.Steps = append(chain.Steps, wire.WhyStep{
			Sequence: sequence, ID: event.ID.String(), Time: event.Time.UnixMilli(), Source: event.Source,
			Type: event.Data.EventType(), What: event.Data.Describe(),
		})
		chain.Root = rootOf(event)
		sequence = s.sequenceOf(event.CausationID)
	}
	return chain, nil
}

// mayFollow permits an event's project. What belongs to none, such as a token, is for who reads everything.
func (s *Service) mayFollow(c *Caller, project string) (err error) {
	s.Handler.View(func(state *projections.State) { err = s.At(state, c).Permit("why", project) })
	if err == nil && project == "" && !c.ReadsAll() {
		err = &commands.Refusal{
			Code:    commands.CodeNotAllowed,
			Rule:    "why",
			Message: "This event belongs to no project, and may not be read by " + c.By.String(),
			Why:     "it is for who reads everything",
			Next:    "ask the user",
		}
	}
	return err
}

func (s *Service) eventAt(ctx context.Context, sequence uint64) (*events.Event, error) {
	var event *events.Event
	err := s.Log.Read(ctx, sequence, sequence, func(m events.Message) (err error) {
		event, err = events.Decode(m.Body)
		return err
	})
	if err == nil && event == nil {
		err = errors.New("the log gave no event")
	}
	return event, err
}

func (s *Service) sequenceOf(event string) (sequence uint64) {
	if id, err := uuid.Parse(event); err == nil {
		s.Handler.View(func(state *projections.State) { sequence, _ = state.Accepted(id) })
	}
	return sequence
}

// rootOf says who or what an event goes back to, if nothing led to it.
func rootOf(e *events.Event) string {
	switch d := e.Data.(type) {
	case *events.SessionLost:
		return fmt.Sprintf("a deadline: %s was last heard at %s, and its lease is %s", d.SessionID,
			time.UnixMilli(d.LastHeard).UTC().Format(time.RFC3339), time.Duration(d.Lease)*time.Millisecond)
	case *events.SessionTimedOut:
		return fmt.Sprintf("a deadline: the time of %s was over at %s", d.SessionID,
			time.UnixMilli(d.Deadline).UTC().Format(time.RFC3339))
	}
	by, err := commands.ActorOf(e)
	if err != nil {
		return e.Source
	}
	return by.String()
}
