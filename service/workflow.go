package service

import (
	"context"
	"iter"

	"maestro/projections"
	"maestro/service/wire"
)

// SessionWorkflow returns the template of a session's prompts: the one that its manifest names, or that of its mode and
// strategy; and what the session said and was told already, which an agent that is restarted does not know. A caller
// that may read the manifest may read it.
func (s *Service) SessionWorkflow(ctx context.Context, c *Caller, in *wire.SessionID) (w wire.Workflow, err error) {
	leave, err := s.admitted(ctx, c, Demand{})
	if err != nil {
		return w, err
	}
	defer leave()
	content, _, err := s.SessionManifest(ctx, c, in.ID)
	if err != nil {
		return w, err
	}
	m, _, err := s.parseManifest(ctx, c, func() ([]byte, error) { return content, nil })
	if err != nil {
		return w, invalidManifest(err)
	}
	c.worked(len(content) / bytesPerStep)
	axes := m.Axes()
	id := cmpOr(m.TemplateID, string(axes.Mode)+"-"+string(axes.Strategy))
	var before *predecessor
	err = s.Look(ctx, c, func(v View) error {
		found := false
		if w.Template, found = s.TemplateIn(v.State, id); found {
			before = v.saidBefore(in.ID)
			return nil
		}
		gone := NotFound("Template", id)
		gone.Why = "the session's manifest names it, and it was deleted since"
		gone.Next = "ask the user to issue the manifest again without it, with `maestro session update " +
			"SESSION --manifest FILE`, then begin again"
		return gone
	})
	if err != nil || before == nil {
		return w, err
	}
	err = RecoverPart(func() error {
		for _, word := range before.manifest().Words {
			w.Words = append(w.Words, wire.WorkWord{
				SessionID: in.ID,
				Kind:      word.Kind,
				Text:      word.Text,
				TaskIDs:   word.TaskIDs,
				From:      word.From,
				InputID:   word.InputID,
				Cut:       word.Cut,
				Late:      word.Late,
			})
		}
		return nil
	})
	if err != nil {
		s.Logger.Warn("what a session said before could not be read", "session", in.ID, "why", err)
	}
	return w, nil
}

// saidBefore returns what a session said and was told, without the mail that it has not received; nil if there is no
// such session.
func (v View) saidBefore(id string) *predecessor {
	x := v.Session(id)
	if x == nil {
		return nil
	}
	unread := map[uint64]bool{}
	for _, message := range x.Mail {
		unread[message.Sequence] = true
	}
	for _, mail := range v.Undelivered(id) {
		if asked := v.Input(mail); asked != nil {
			unread[asked.AnsweredSequence] = true
		}
	}
	reader := v.entryReader()
	return &predecessor{
		Session:  x,
		timeline: v.SessionTimeline(id),
		newest: func(timeline projections.Timeline) iter.Seq[*projections.Entry] {
			return func(yield func(*projections.Entry) bool) {
				for e := range reader.backward(timeline, id) {
					if !unread[e.Sequence] && !yield(e) {
						return
					}
				}
			}
		},
	}
}
