package cli

import (
	"errors"
	"io/fs"

	"maestro/internal/home"
)

// homeHere opens this machine's home, and creates the usual one if there is none, as on a machine where only agents
// run. A home that MAESTRO_HOME names exists: a misspelt one would hide there what is put into it.
func homeHere(a *Run) func(dir string) (*home.Home, error) {
	if a.Getenv(home.Variable) == "" {
		return home.Create
	}
	return func(dir string) (*home.Home, error) {
		h, err := home.Open(dir)
		if errors.Is(err, fs.ErrNotExist) {
			err = &noHomeError{dir}
		}
		return h, err
	}
}

// noHomeError says that MAESTRO_HOME names a directory that does not exist.
type noHomeError struct{ dir string }

func (e *noHomeError) Error() string {
	return "MAESTRO_HOME names " + e.dir + ", and there is no such directory"
}
