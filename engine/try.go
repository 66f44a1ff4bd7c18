package engine

import (
	"context"
	"errors"

	"maestro/commands"
	"maestro/events"
	"maestro/projections"
)

// Try returns what Do would return on the committed state, and changes nothing: the event that would be appended, no
// event if nothing would change, the event that the command already became, or the *Refusal, which is not recorded. The
// answer may be outdated by the time that the command is executed.
//
// It takes no turn of the writer and no lock that readers need. A commit waits for running trials, each of which the
// limits bound, and readers continue meanwhile.
func (h *Handler) Try(r Request) (Answer, error) {
	answer, err := h.tryOn(r)
	var refusal *commands.Refusal
	if errors.As(err, &refusal) {
		refusal.Recorded = true // a dry run is not recorded
	}
	return answer, err
}

func (h *Handler) tryOn(r Request) (answer Answer, err error) {
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
	answer, retryOf, err := h.tryCommitted(p)
	if retryOf != 0 {
		return h.answerRetry(context.Background(), p, retryOf)
	}
	return answer, err
}

// tryCommitted recognises a retry, or permits and decides the command on the committed state.
func (h *Handler) tryCommitted(p *pending) (answer Answer, retryOf uint64, err error) {
	h.trials.RLock()
	defer h.trials.RUnlock()
	view := h.committed.Overlay() // the overlay counts its own steps
	steps := view.CountReads()
	defer func() { p.worked(*steps) }()
	project := commands.ProjectOf(view, p.Command, p.By)
	if sequence, known := view.Accepted(eventID(p.source, p.By, project, p.Command.ID(), p.Key)); known {
		return Answer{}, sequence, nil
	}
	answer, err = h.try(view, p, project)
	return answer, 0, err
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
