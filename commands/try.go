package commands

import (
	"maestro/events"
	"maestro/projections"
)

// Try answers what Do would, on the committed state, and changes nothing: the event that would be appended, nil for "already
// so", or the *Refusal, which is not recorded. What it answers may have changed by the time that the command is asked for.
func (h *Handler) Try(r Request) (Answer, error) {
	hash, err := hashOf(r.Command)
	if err != nil {
		return Answer{}, err
	}
	texts, blobs := r.Command.texts()
	for field, text := range texts {
		if text == nil || len(*text) <= events.MaxText {
			continue
		}
		if *blobs == nil {
			*blobs = events.Blobs{}
		}
		(*blobs)[field] = "sha256-" + events.BodyHash([]byte(*text)).String()
		*text = preview(*text)
	}
	var answer Answer
	h.View(func(s *projections.State) {
		answer, err = h.try(s, &pending{Request: r, source: r.By.Source(), hash: hash})
	})
	return answer, err
}

func (h *Handler) try(s *projections.State, p *pending) (Answer, error) {
	project := p.Command.project(s, p.By)
	at := events.Instant(h.config.Now())
	if last := s.At(); at.Before(last) {
		at = last
	}
	call := Call{By: p.By, Project: project, At: at, ID: events.ID(p.source, project, p.Command.ID(), p.Key), Rules: RulesVersion}
	if err := Permit(s, current, p.By, p.Command.ID(), project); err != nil {
		return Answer{}, err
	}
	data, err := p.Command.Decide(s, call)
	answer := Answer{Sequence: s.Head().Sequence, Data: data}
	if err != nil || data == nil {
		return answer, err
	}
	answer.Event, err = envelope(s, p, call, data).Append(nil)
	return answer, err
}
