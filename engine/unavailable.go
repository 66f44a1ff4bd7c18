package engine

// UnavailableError: the server cannot write now. The command may or may not happen later; repeated with the same key it
// is the same command.
type UnavailableError struct {
	Why  string
	Next string
	// Err is what the log said.
	Err error
}

func (e *UnavailableError) Error() string { return e.Why }

func (e *UnavailableError) Unwrap() error { return e.Err }
