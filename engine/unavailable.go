package engine

// UnavailableError means that the server cannot write now. The command may or may not be executed later. A retry with
// the same key is the same command.
type UnavailableError struct {
	Why  string
	Next string
	// Err is the log's error.
	Err error
}

func (e *UnavailableError) Error() string { return e.Why }

func (e *UnavailableError) Unwrap() error { return e.Err }
