package bus

import (
	"encoding/json"
	"fmt"

	"github.com/nats-io/nats.go"

	"maestro/events"
)

// nats-server's error codes. Maestro never matches the texts of its errors.
const (
	codeWrongLastSequence         = 10071
	codeWrongLastSequenceConstant = 10164
	codeAccountResources          = 10002
	codeInsufficientResources     = 10023
	codeMemoryResources           = 10028
	codeStorageResources          = 10047
	codeNotFound                  = 10037
)

type apiError struct {
	Code        int    `json:"err_code"`
	Description string `json:"description"`
}

// ack is JetStream's reply to a publish: the last stored sequence, or an error.
type ack struct {
	Error    *apiError `json:"error"`
	Stream   string    `json:"stream"`
	Sequence uint64    `json:"seq"`
	Count    int       `json:"count"`
}

// outcome translates the reply to an append of n messages after sequence after.
func outcome(m *nats.Msg, after uint64, n int) error {
	if len(m.Data) == 0 && m.Header.Get("Status") == "503" {
		return fmt.Errorf("%w: no server answers for the stream %s", events.ErrUnknown, StreamName)
	}
	var a ack
	if err := json.Unmarshal(m.Data, &a); err != nil {
		return fmt.Errorf("%w: the acknowledgement %q cannot be read: %w", events.ErrUnknown, m.Data, err)
	}
	if a.Error != nil {
		switch a.Error.Code {
		case codeWrongLastSequence, codeWrongLastSequenceConstant:
			return fmt.Errorf("%w: after %d: %s (%d)", events.ErrConflict, after, a.Error.Description,
				a.Error.Code)
		case codeAccountResources, codeInsufficientResources, codeMemoryResources, codeStorageResources:
			return fmt.Errorf("%w: %s (%d)", events.ErrFull, a.Error.Description, a.Error.Code)
		}
		return fmt.Errorf("%w: %s (%d)", events.ErrUnknown, a.Error.Description, a.Error.Code)
	}
	if want := after + uint64(n); a.Stream != StreamName || a.Sequence != want || n > 1 && a.Count != n {
		return fmt.Errorf("%w: the acknowledgement names %d messages to sequence %d of %q, expected %d to %d of %q",
			events.ErrUnknown, max(a.Count, 1), a.Sequence, a.Stream, n, want, StreamName)
	}
	return nil
}
