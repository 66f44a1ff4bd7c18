package events

import "fmt"

// StoppedError says why this process can never again write to a log that is not damaged, and what to do. errors.Is(err,
// ErrReadOnly) holds for it.
type StoppedError struct {
	Why, Next string
	// Asked says that the server was started that way on purpose.
	Asked bool
}

func (e *StoppedError) Error() string { return e.Why }

// Is makes the log count as read-only.
func (e *StoppedError) Is(target error) bool { return target == ErrReadOnly }

// Advice says what to do.
func (e *StoppedError) Advice() string { return e.Next }

// NewerError says that a newer version wrote an event. This version must not append to a log that it does not
// understand. It is also a *DamageError: code that does not handle versions must stop there too.
type NewerError struct {
	Sequence uint64
	// What says what is unknown: rules, a type, a format.
	What string
}

func (e *NewerError) Error() string {
	return fmt.Sprintf("a newer maestro wrote this log: at sequence %d there is %s", e.Sequence, e.What)
}

// Unwrap returns the error as damage.
func (e *NewerError) Unwrap() error { return &DamageError{Sequence: e.Sequence, Why: e.What} }

// Advice says what to do.
func (e *NewerError) Advice() string {
	return "install the version that wrote it, or a newer one; `maestro serve --read-only` shows what can be read"
}
