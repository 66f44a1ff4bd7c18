package guard

import (
	"errors"
	"io/fs"

	"maestro/internal/disk"
	"maestro/internal/failure"
	"maestro/internal/home"
	"maestro/internal/salvage"
)

// Hold creates the home if there is none, and locks it.
func Hold(dir string) (*home.Lock, error) {
	_, before := disk.Lstat(dir)
	h, err := home.Create(dir)
	if err != nil {
		return nil, err
	}
	if err := h.CheckKinds(); err != nil {
		return nil, errors.Join(err, h.Close())
	}
	if left := salvage.Unfinished(h); left != "" {
		return nil, errors.Join(unfinished(dir, left), h.Close())
	}
	lock, err := h.Lock()
	if err == nil {
		return lock, nil
	}
	err = errors.Join(err, h.Close())
	var held *home.HeldError
	if errors.As(err, &held) {
		return nil, &failure.Error{
			Code:    failure.Conflict,
			Message: held.Error(),
			Err:     err,
			Why:     "one home has one server",
			Next:    "stop the other, or choose another home with MAESTRO_HOME",
			Details: map[string]any{"pid": held.PID, "address": held.Address},
		}
	}
	if errors.Is(before, fs.ErrNotExist) {
		_ = disk.Remove(dir) // it could not even be locked; what another process put there stays
	}
	return nil, err
}

// unfinished returns the error that a home is incomplete: a server would start an empty log in it.
func unfinished(dir, left string) error {
	return &failure.Error{
		Code:    failure.Conflict,
		Message: "The home " + dir + " is incomplete: the salvage that was creating it was killed",
		Why:     "what it had created so far is in " + left,
		Next: "run the salvage again, with the same --new-home: it removes what was left. Or empty the directory, if " +
			"you want no salvage there",
	}
}
