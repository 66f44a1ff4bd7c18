package service

import (
	"context"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"maestro/events"
	"maestro/internal/safetext"
)

// hashDigits is how many hexadecimal digits of a body's hash a position shows.
const hashDigits = 8

// Position is a position in the log, right after an event. The zero Position is the beginning.
type Position struct {
	Sequence uint64
	// Body is the beginning of the hash of that event's body, in hexadecimal; "" if unknown. It distinguishes this log
	// from another one.
	Body string
}

// String returns "<sequence>.<8 hex of the body's hash>", or only the sequence.
func (p Position) String() string {
	sequence := strconv.FormatUint(p.Sequence, 10)
	if p.Body == "" {
		return sequence
	}
	return sequence + "." + p.Body
}

// ParsePosition parses what String returns; the zero Position for "".
func ParsePosition(text string) (Position, error) {
	if text == "" {
		return Position{}, nil
	}
	number, body, cut := strings.Cut(text, ".")
	sequence, err := strconv.ParseUint(number, 10, 64)
	if err == nil && cut {
		_, err = hex.DecodeString(body)
	}
	if err != nil || cut && (len(body) != hashDigits || strings.ToLower(body) != body || sequence == 0) {
		return Position{}, InvalidRequest("",
			"a position is <sequence>, or <sequence>.<8 hexadecimal digits>, not '"+safetext.Printable(text)+"'")
	}
	return Position{sequence, body}, nil
}

func positionOf(sequence uint64, body events.Hash) Position {
	return Position{sequence, body.String()[:hashDigits]}
}

// RestartError says why a watch cannot continue from its position: start again from a snapshot.
type RestartError struct {
	After Position
	Why   string
}

func (e *RestartError) Error() string {
	return fmt.Sprintf("the changes after %s are not available: %s; start again from a snapshot", e.After, e.Why)
}

// checkPosition refuses a position that is not in this log, or is after its committed head.
func (s *Service) checkPosition(ctx context.Context, after Position) error {
	if after.Sequence > s.Head() {
		return &RestartError{after, "the log does not reach that far"}
	}
	if after.Body == "" || after.Sequence == 0 {
		return nil
	}
	found, err := s.positionAt(ctx, after.Sequence)
	if err == nil && found != after {
		err = &RestartError{after, "this log has another event there"}
	}
	return err
}

// positionAt returns the position after a committed event, or the beginning.
func (s *Service) positionAt(ctx context.Context, sequence uint64) (at Position, err error) {
	if sequence == 0 {
		return Position{}, nil
	}
	err = s.Log.Read(ctx, sequence, sequence, func(m events.Message) error {
		at = positionOf(m.Sequence, events.BodyHash(m.Body))
		return nil
	})
	return at, err
}
