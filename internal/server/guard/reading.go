package guard

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"log/slog"
	"net/http"

	"maestro/bus"
	"maestro/engine"
	"maestro/internal/failure"
	"maestro/internal/home"
)

// OpenForReading opens an existing home and excludes servers.
func OpenForReading(dir string) (*home.Reading, error) {
	h, err := home.Open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &failure.Error{
			Code:    failure.NotFound,
			Message: "There is no home at " + dir,
			Err:     err,
			Why:     "with --read-only none is created",
			Next:    "name one with MAESTRO_HOME",
		}
	}
	if err != nil {
		return nil, err
	}
	reading, err := h.LockForReading()
	var held *home.HeldError
	if errors.As(err, &held) {
		err = &failure.Error{
			Code:    failure.Conflict,
			Message: held.Error(),
			Err:     err,
			Why:     "a server that writes to the home would change it under its reader",
			Next:    "ask that server, or stop it first",
			Details: map[string]any{"pid": held.PID, "address": held.Address},
		}
	}
	if err != nil {
		return nil, errors.Join(err, h.Close())
	}
	return reading, nil
}

// ReadSecrets reads the secrets that identify callers. Without a part of them nobody can be identified by it; it
// creates none.
func ReadSecrets(reading *home.Reading, authOff bool, logger *slog.Logger) (home.Secrets, error) {
	secrets, err := reading.Secrets()
	switch {
	case err == nil:
		return secrets, nil
	case !errors.Is(err, fs.ErrNotExist):
		return secrets, err
	case secrets.AdminToken == "" && !authOff:
		return secrets, &failure.Error{
			Status:  http.StatusConflict,
			Code:    "NO_TOKEN",
			Message: "The home has no admin.token",
			Err:     err,
			Why:     "with --read-only none is created, and nobody could read anything",
			Next:    "put the token back, or add --auth off, which lets everybody on this machine read",
		}
	}
	logger.Warn("a secret is missing in the home, and none is created; callers who need it cannot be authenticated",
		"why", err)
	if secrets.AdminToken == "" {
		secrets.AdminToken = rand.Text() // known to nobody
	}
	if len(secrets.ServerKey) == 0 {
		secrets.ServerKey = []byte(rand.Text())
	}
	return secrets, nil
}

// Forgetful is the store of refusals of a server that writes nothing: it shows the existing ones, and stores no others.
type Forgetful struct{ *bus.ReadOnly }

// StoreDenials implements engine.DenialStore: a caller that a read-only server refuses must still get the refusal.
func (Forgetful) StoreDenials(context.Context, []engine.StoredDenial) error { return nil }
