package service

import (
	"context"
	"errors"

	"maestro/commands"
)

// RecordRefusal records a refusal by the table outside a Handler, such as that of a read, before it is answered. It
// returns the error to answer with: a caller whose credential ended after the call began is told so. A wait that the
// session's end cut short was permitted when it began, so its answer is no refusal to record.
func (s *Service) RecordRefusal(ctx context.Context, c *Caller, err error) error {
	var refusal *commands.Refusal
	var p *Problem
	if over := s.endedSince(c, err); over != nil {
		return over
	}
	switch {
	case s.Denials == nil, c == nil, c.Anonymous && c.Reads, c.waited:
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
	if failed := s.Denials.Record(ctx, c.By, c.Root, command, refusal, s.HeadFor(c)); failed != nil {
		return failed
	}
	refusal.Recorded = true
	return err
}

// endedSince returns the answer to a caller that was refused because its credential was revoked or has expired after
// its authentication; nil for any other error.
func (s *Service) endedSince(c *Caller, err error) error {
	if c == nil || err == nil {
		return nil
	}
	var refusal *commands.Refusal
	var p *Problem
	if errors.As(err, &refusal) && refusal.Code == commands.CodeNotAllowed ||
		errors.As(err, &p) && p.Kind == KindNotAllowed {
		return s.StillGood(c)
	}
	return nil
}
