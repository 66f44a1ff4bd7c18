package commands

import (
	"context"
	"errors"

	"maestro/events"
	"maestro/projections"
)

// Try answers what Do would, on the committed state, and changes nothing: the event that would be appended, nil for "already
// so", the event that it became already, or the *Refusal, which is not recorded. What it answers may have changed by the time
// that the command is asked for.
func (h *Handler) Try(r Request) (Answer, error) {
	answer, err := h.tryOn(r)
	var refusal *Refusal
	if errors.As(err, &refusal) {
		refusal.Recorded = true // it is not meant to be
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
	if err := h.tryTexts(r); err != nil {
		return Answer{}, err
	}
	p := &pending{Request: r, source: r.By.Source(), hash: hash}
	var retryOf uint64
	h.View(func(s *projections.State) {
		project := r.Command.project(s, r.By)
		var known bool
		if retryOf, known = s.Accepted(events.ID(p.source, project, r.Command.ID(), r.Key)); !known {
			answer, err = h.try(s, p, project)
		}
	})
	if retryOf != 0 {
		return h.answerRetry(context.Background(), p, retryOf)
	}
	return answer, err
}

// tryTexts does to long texts what storeTexts does, and stores nothing.
func (h *Handler) tryTexts(r Request) error {
	texts, blobs := r.Command.texts()
	for field, text := range texts {
		if text == nil || len(*text) <= events.MaxText {
			continue
		}
		if err := h.longText(field, *text); err != nil {
			return err
		}
		setBlob(blobs, field, "sha256-"+events.BodyHash([]byte(*text)).String())
		*text = preview(*text)
	}
	return nil
}

func (h *Handler) try(s *projections.State, p *pending, project string) (Answer, error) {
	at := events.Instant(h.config.Now())
	if last := s.At(); at.Before(last) {
		at = last
	}
	call := Call{
		By: p.By, Project: project, At: at, ID: events.ID(p.source, project, p.Command.ID(), p.Key),
		Rules: RulesVersion, OccurredAt: occurredAt(p.OccurredAt, at),
	}
	if err := PermitAt(s, current, call, p.Command.ID()); err != nil {
		return Answer{}, err
	}
	data, err := p.Command.Decide(s, call)
	answer := Answer{Sequence: s.Head().Sequence, Data: data}
	if err != nil || data == nil {
		return answer, err
	}
	answer.Event, err = appendEvent(nil, envelope(s, p, call, data))
	return answer, err
}
