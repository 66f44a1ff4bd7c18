package service

import (
	"context"
	"errors"

	"maestro/commands"
)

// RecordRefusal records what the table refused outside a Handler, such as a read, before it is answered.
func (s *Service) RecordRefusal(ctx context.Context, c *Caller, err error) error {
	var refusal *commands.Refusal
	var p *Problem
	switch {
	case s.Denials == nil, c == nil, c.Anonymous && c.Reads:
		return err
	case errors.As(err, &refusal):
		if refusal.Code != commands.CodeNotAllowed || refusal.Recorded {
			return err
		}
	case errors.As(err, &p) && p.Kind == KindNotAllowed:
		refusal = &commands.Refusal{Code: commands.CodeNotAllowed, Rule: p.Rule, Message: p.Message, Why: p.Why}
	default:
		return err
	}
	command := refusal.Rule
	if command == "" {
		command = c.Operation
	}
	if failed := s.Denials.Record(ctx, c.By, c.Root, command, refusal, s.Head()); failed != nil {
		return failed
	}
	refusal.Recorded = true
	return err
}
