package service

import (
	"context"

	"maestro/service/wire"
)

// SessionWorkflow returns the template of a session's prompts: the one that its manifest names, or that of its mode and
// strategy. A caller that may read the manifest may read it.
func (s *Service) SessionWorkflow(ctx context.Context, c *Caller, in *wire.SessionID) (t wire.Template, err error) {
	leave, err := s.admitted(ctx, c, Demand{})
	if err != nil {
		return t, err
	}
	defer leave()
	content, _, err := s.SessionManifest(ctx, c, in.ID)
	if err != nil {
		return t, err
	}
	m, _, err := s.parseManifest(ctx, c, func() ([]byte, error) { return content, nil })
	if err != nil {
		return t, invalidManifest(err)
	}
	c.worked(len(content) / bytesPerStep)
	axes := m.Axes()
	id := cmpOr(m.TemplateID, string(axes.Mode)+"-"+string(axes.Strategy))
	err = s.Look(ctx, c, func(v View) error {
		found := false
		if t, found = s.TemplateIn(v.State, id); found {
			return nil
		}
		gone := NotFound("Template", id)
		gone.Why = "the session's manifest names it, and it was deleted since"
		gone.Next = "ask the user to issue the manifest again without it, with `maestro session update " +
			"SESSION --manifest FILE`, then begin again"
		return gone
	})
	return t, err
}
