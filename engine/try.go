package engine

import (
	"context"
	"errors"
	"strconv"

	"maestro/commands"
	"maestro/events"
	"maestro/projections"
)

// Try returns what Do would return on the committed state, and changes nothing: the event that would be appended, no
// event if nothing would change, the event that the command already became, or the *Refusal, which is not recorded. The
// answer may be outdated by the time that the command is executed.
//
// With commands in after, it returns what Do would return after those, of which refused ones change nothing. They are
// the caller's too, and the answer of a retry is not looked for.
//
// It takes no turn of the writer and no lock that readers need. A commit waits for running trials, each of which the
// limits bound, and readers continue meanwhile.
func (h *Handler) Try(r Request, after ...commands.Command) (Answer, error) {
	answer, err := h.tryOn(r, after)
	var refusal *commands.Refusal
	if errors.As(err, &refusal) {
		refusal.Recorded = true // a dry run is not recorded
	}
	return answer, err
}

func (h *Handler) tryOn(r Request, after []commands.Command) (answer Answer, err error) {
	if err := validRequest(r); err != nil {
		return Answer{}, err
	}
	hash, err := hashOf(r.Command)
	if err != nil {
		return Answer{}, err
	}
	if _, err := h.cutTexts(r); err != nil {
		return Answer{}, err
	}
	p := &pending{Request: r, source: r.By.Source(), hash: hash}
	answer, retryOf, err := h.tryCommitted(p, after)
	if retryOf != 0 {
		return h.answerRetry(context.Background(), p, retryOf)
	}
	return answer, err
}

// tryCommitted recognises a retry, or permits and decides the command on the committed state, or on what the commands
// in after make of it.
func (h *Handler) tryCommitted(p *pending, after []commands.Command) (answer Answer, retryOf uint64, err error) {
	h.trials.RLock()
	defer h.trials.RUnlock()
	view := h.committed.Overlay() // the overlay counts its own steps
	steps := view.CountReads()
	defer func() { p.worked(*steps) }()
	for i, command := range after {
		if *steps > batchSteps {
			return Answer{}, 0, commands.TooMuchToTry(i)
		}
		if err := h.tryBefore(view, p, command, i); err != nil {
			return Answer{}, 0, err
		}
	}
	project := commands.ProjectOf(view, p.Command, p.By)
	if sequence, known := view.Accepted(eventID(p.source, p.By, project, p.Command.ID(), p.Key)); known {
		return Answer{}, sequence, nil
	}
	answer, err = h.try(view, p, project)
	return answer, 0, err
}

// tryBefore decides a command that comes before the tried one, and applies its event to the overlay. It ignores a
// refusal.
func (h *Handler) tryBefore(s *projections.State, p *pending, command commands.Command, i int) error {
	hash, err := hashOf(command)
	if err != nil {
		return err
	}
	before := *p
	before.Command, before.Key, before.hash = command, p.Key+":"+strconv.Itoa(i), hash
	answer, err := h.try(s, &before, commands.ProjectOf(s, command, p.By))
	var refusal *commands.Refusal
	if errors.As(err, &refusal) || err == nil && answer.Event == nil {
		return nil
	}
	if err != nil {
		return err
	}
	event, err := events.Decode(answer.Event)
	if err != nil {
		return err
	}
	_, err = s.Apply(s.Head().Sequence+1, event, events.BodyHash(answer.Event))
	return err
}

func (h *Handler) try(s *projections.State, p *pending, project string) (Answer, error) {
	at := events.Instant(h.config.Now())
	if last := s.At(); at.Before(last) {
		at = last
	}
	call := commands.Call{
		By:         p.By,
		Project:    project,
		At:         at,
		ID:         eventID(p.source, p.By, project, p.Command.ID(), p.Key),
		Rules:      commands.RulesVersion,
		OccurredAt: saidAt(s, p, at),
	}
	if err := commands.PermitCommand(s, commands.CurrentRules(), call, p.Command); err != nil {
		return Answer{}, err
	}
	data, err := commands.Decide(s, p.Command, call)
	answer := Answer{Sequence: s.Head().Sequence, Data: data}
	if err != nil || data == nil {
		return answer, err
	}
	event := envelope(s, p, call, data)
	answer.Event, err = appendEvent(nil, &event)
	return answer, err
}
