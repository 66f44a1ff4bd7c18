package service

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"maestro/engine"
	"maestro/events"
	"maestro/internal/safetext"
	"maestro/projections"
	"maestro/service/wire"
)

// GetAuditHead returns the log's head, for the caller to store elsewhere.
func (v View) GetAuditHead() (events.Head, error) { return v.Head(), v.Permit("audit:head", "") }

// CheckTexts verifies every long text that the log names against its digest.
func (s *Service) CheckTexts(ctx context.Context, c *Caller) (found wire.Texts, err error) {
	err = s.readingLog(ctx, c, "audit-texts", func(ctx context.Context) error {
		found, err = s.checkTexts(ctx, c)
		return err
	})
	return found, err
}

func (s *Service) checkTexts(ctx context.Context, c *Caller) (wire.Texts, error) {
	var to uint64
	var err error
	s.Handler.View(func(state *projections.State) {
		to = state.Head().Sequence
		err = s.At(state, c).Permit("audit:verify", "")
	})
	if err == nil && s.Blobs == nil {
		err = noStore()
	}
	if err != nil {
		return wire.Texts{}, err
	}
	named, err := engine.NamedTexts(ctx, s.logFor(c), to)
	if err != nil {
		return wire.Texts{}, err
	}
	lost, err := engine.LostTexts(ctx, s.Blobs, named)
	lost = slices.DeleteFunc(lost, func(text engine.LostText) bool { return s.Handler.Redaction(text.Digest) != nil })
	return wire.Texts{Named: len(named), Lost: lost}, err
}

// parseHead parses SEQ:HASH; nil for "".
func parseHead(text string) (*events.Head, error) {
	if text == "" {
		return nil, nil
	}
	number, digits, _ := strings.Cut(text, ":")
	sequence, err := strconv.ParseUint(number, 10, 64)
	if err != nil || sequence == 0 {
		return nil, InvalidRequest("", "from must be SEQUENCE:HASH, not '"+safetext.Printable(text)+"'")
	}
	hash, err := events.ParseHash(digits)
	if err != nil {
		return nil, InvalidRequest("", "from must be SEQUENCE:HASH: "+err.Error())
	}
	return &events.Head{Sequence: sequence, Hash: hash}, nil
}
