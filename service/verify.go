package service

import (
	"bytes"
	"context"
	"errors"

	"maestro/engine"
	"maestro/events"
	"maestro/projections"
	"maestro/service/wire"
)

// Verify decides the whole log again up to the present head, and compares the result with the witnesses, with a head
// stored elsewhere ("SEQUENCE:HASH", "" for none) and with the live views.
func (s *Service) Verify(ctx context.Context, c *Caller, from string) (verdict engine.Verdict, err error) {
	err = s.readingLog(ctx, c, "audit-verify", func(ctx context.Context) error {
		verdict, err = s.verify(ctx, c, from)
		return err
	})
	return verdict, err
}

func (s *Service) verify(ctx context.Context, c *Caller, from string) (engine.Verdict, error) {
	if err := s.Permit(c, "audit:verify", ""); err != nil {
		return engine.Verdict{}, err
	}
	kept, err := parseHead(from)
	if err != nil {
		return engine.Verdict{}, err
	}
	// The witnesses first: none of them is then ahead of the verified log.
	witnesses, err := s.Handler.Witnesses(ctx)
	if errors.Is(err, events.ErrReadOnly) {
		return engine.Verdict{}, &Problem{
			Kind:    KindUnavailable,
			Code:    wire.CodeUnavailable,
			Message: "The log cannot be audited",
			Why:     err.Error(),
			Next:    engine.Advice(err),
		}
	}
	if err != nil {
		return engine.Verdict{}, err
	}
	if kept != nil {
		witnesses = append(witnesses, engine.Witnessed{Head: *kept, By: "your head", Brought: true})
	}
	image := s.Handler.Image()
	verdict, damage, err := verifyLog(ctx, s.logFor(c), s.Blobs, image, witnesses, s.Handler.Health())
	if damage != nil {
		s.Handler.StopWrites(damage)
	}
	return verdict, err
}

// errJudged ends the reading of a log when nothing after this point can be verified.
var errJudged = errors.New("nothing after this can be checked")

// verifyLog verifies a log, and the long texts that it names, up to where an image of the live state was taken. health
// is why the server accepts no writes, or nil. It returns the evidence of damage to the log, if any.
func verifyLog(
	ctx context.Context, log engine.Log, texts engine.Texts, image *projections.Image, witnesses []engine.Witnessed,
	health error,
) (verdict engine.Verdict, damage, err error) {
	verifier := engine.NewVerifier()
	for _, seen := range witnesses {
		verifier.Witness(seen)
	}
	until := image.Head()
	if until.Sequence > 0 {
		var last uint64
		err := log.Read(ctx, 1, until.Sequence, func(m events.Message) error {
			last = m.Sequence
			if !verifier.Event(m) {
				return errJudged
			}
			return nil
		})
		var damage *events.DamageError
		switch {
		case errors.As(err, &damage):
			verifier.Fault(damage.Sequence, engine.FaultMissing, "%s", damage.Why)
			verifier.Skip(max(last, damage.Sequence)+1, until.Sequence)
		case errors.Is(err, errJudged):
			verifier.Skip(last+1, until.Sequence)
		case err != nil:
			return engine.Verdict{}, nil, err
		}
	}
	tellShortened(verifier, until.Sequence, witnesses, health)
	if verifier.Damage() == nil { // otherwise the views cover more than the remaining log
		if err := compareViews(verifier, image); err != nil {
			return engine.Verdict{}, nil, err
		}
	}
	if texts != nil {
		if err := verifier.CheckTexts(ctx, texts); err != nil {
			return engine.Verdict{}, nil, err
		}
	}
	verdict, err = verifier.Verdict()
	return verdict, verifier.Damage(), err
}

// tellShortened notes that the server knows of events after the last readable one, if no witness shows that: the note
// of a clean stop records where the log ended, but no hash.
func tellShortened(verifier *engine.Verifier, last uint64, witnesses []engine.Witnessed, health error) {
	var known *events.DamageError
	if !errors.As(health, &known) || known.Sequence <= last {
		return
	}
	for _, seen := range witnesses {
		if seen.Sequence > last {
			return
		}
	}
	verifier.Fault(known.Sequence, engine.FaultWitness, "%s", known.Why)
}

// compareViews compares the rebuilt views with the live ones, byte for byte.
func compareViews(verifier *engine.Verifier, image *projections.Image) error {
	live, err := image.Encode()
	if err != nil {
		return err
	}
	rebuilt, err := verifier.State().Encode()
	if err != nil {
		return err
	}
	if !bytes.Equal(live, rebuilt) {
		verifier.Fault(image.Head().Sequence, engine.FaultViews,
			"the live views (%s) differ from those computed from the log (%s)",
			events.BodyHash(live), events.BodyHash(rebuilt))
	}
	return nil
}
