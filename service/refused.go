package service

import (
	"context"
	"errors"

	"maestro/commands"
	"maestro/projections"
)

// RecordRefusal records a refusal by the table outside a Handler, such as that of a read, before it is answered. It
// returns the error to answer with: a caller whose credential was revoked after the call began is told so.
func (s *Service) RecordRefusal(ctx context.Context, c *Caller, err error) error {
	var refusal *commands.Refusal
	var p *Problem
	if s.revokedSince(c, err) {
		return revokedMeanwhile()
	}
	switch {
	case s.Denials == nil, c == nil, c.Anonymous && c.Reads:
		return err
	case errors.As(err, &refusal):
		if refusal.Code != commands.CodeNotAllowed || refusal.Recorded {
			return err
		}
	case errors.As(err, &p) && p.Kind == KindNotAllowed:
		refusal = &commands.Refusal{
			Code:    commands.CodeNotAllowed,
			Rule:    p.Rule,
			Message: p.Message,
			Why:     p.Why,
		}
	default:
		return err
	}
	command := refusal.Rule
	if command == "" {
		command = c.Operation()
	}
	if failed := s.Denials.Record(ctx, c.By, c.Root, command, refusal, s.Head()); failed != nil {
		return failed
	}
	refusal.Recorded = true
	return err
}

// revokedSince reports whether the table refused a caller whose credential was revoked after its authentication.
func (s *Service) revokedSince(c *Caller, err error) bool {
	if c == nil || err == nil {
		return false
	}
	var refusal *commands.Refusal
	if !errors.As(err, &refusal) || refusal.Code != commands.CodeNotAllowed {
		return false
	}
	good := true
	s.Handler.View(func(state *projections.State) { good = c.good(state) })
	return !good
}
