package service

import (
	"context"
	"errors"
	"fmt"

	"maestro/engine"
	"maestro/events"
	"maestro/projections"
	"maestro/service/wire"
)

// Damage returns why the readable log lacks acknowledged events, or nil. A server that was started read-only, or whose
// disk is full, has the whole log.
func (s *Service) Damage() error {
	if err := s.Handler.Health(); errors.Is(err, events.ErrReadOnly) && !engine.IsReadOnlyByRequest(err) {
		return err
	}
	return nil
}

// DamageNotice returns one sentence that warns readers that the views lack acknowledged events; "" if they do not.
func (s *Service) DamageNotice() string {
	err := s.Damage()
	var damage *events.DamageError
	var newer *events.NewerError
	switch {
	case err == nil:
		return ""
	case errors.As(err, &newer):
		return fmt.Sprintf(
			"event %d was written by a newer maestro. You see the state at event %d", newer.Sequence, s.Head(),
		)
	case errors.As(err, &damage):
		return fmt.Sprintf("the log is damaged at event %d. You see the state at event %d", damage.Sequence, s.Head())
	}
	return err.Error()
}

// RequireIntactLog fails when a copy of the log would lack acknowledged events. doing names what did not happen, such
// as "No backup was made".
func (s *Service) RequireIntactLog(ctx context.Context, doing string) error {
	if err := s.Damage(); err != nil {
		return s.damageProblem(ctx, doing, err)
	}
	return nil
}

// DamageProblem turns an error of copying the log into a problem if it is damage. It returns other errors unchanged.
func (s *Service) DamageProblem(ctx context.Context, doing string, err error) error {
	var damage *events.DamageError
	if !errors.As(err, &damage) {
		return err
	}
	s.Handler.StopWrites(err)
	return s.damageProblem(ctx, doing, err)
}

func (s *Service) damageProblem(ctx context.Context, doing string, damage error) *Problem {
	p := &Problem{
		Kind:    KindUnavailable,
		Code:    wire.CodeLogDamaged,
		Message: doing + ": not all of the log can be read",
		Why:     damage.Error(),
		Next:    engine.Advice(damage),
	}
	var at *events.DamageError
	if !errors.As(damage, &at) {
		return p
	}
	p.Message = fmt.Sprintf("%s: the log can be read to event %d, and event %d was acknowledged",
		doing, at.Sequence-1, s.acknowledged(ctx, at.Sequence))
	if newer := (*events.NewerError)(nil); !errors.As(damage, &newer) {
		p.Why = fmt.Sprintf("event %d: %s", at.Sequence, at.Why)
	}
	return p
}

// acknowledged returns the last acknowledged sequence that any record shows; at least the sequence of the damage.
func (s *Service) acknowledged(ctx context.Context, damaged uint64) uint64 {
	last := damaged
	s.Handler.View(func(state *projections.State) { last = max(last, state.Head().Sequence) })
	witnesses, err := s.Handler.Witnesses(ctx)
	if err != nil {
		s.Logger.Warn("the witnesses of the log cannot be read", "why", err)
	}
	for _, seen := range witnesses {
		last = max(last, seen.Sequence)
	}
	return last
}
