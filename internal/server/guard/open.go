package guard

import (
	"errors"
	"io/fs"
	"log/slog"
	"net/http"

	"maestro/events"
	"maestro/internal/failure"
	"maestro/internal/home"
)

// Claim records that this binary writes the home from now on, unless its health says that a newer one wrote the log. It
// does not change a home that may only be read.
func Claim(lock *home.Lock, health error, known home.Version, serverKey []byte) error {
	var newer *events.NewerError
	switch {
	case errors.As(health, &newer):
		return tooNew(lock.Dir(), health)
	case errors.Is(health, events.ErrReadOnly):
		return nil
	}
	known.Key = home.Fingerprint(serverKey)
	return errors.Join(lock.MarkKey(known.Key), lock.Wrote(known))
}

// Open locks the home for a server, and reads its secrets. It does not change a home that a newer maestro than known
// wrote; newKey creates a key if the one that its sessions know is lost.
func Open(dir string, known home.Version, newKey bool, logger *slog.Logger) (*home.Lock, home.Secrets, error) {
	if err := checkVersions(dir, known); err != nil {
		return nil, home.Secrets{}, err
	}
	lock, err := Hold(dir)
	if err != nil {
		return nil, home.Secrets{}, err
	}
	if err := lock.MayWrite(); err != nil {
		return nil, home.Secrets{}, errors.Join(err, lock.Release())
	}
	err = lock.Check(known)    // it may have been written since
	wrote, _ := lock.Version() // Check has read it
	_, missing := lock.AdminToken()
	var secrets home.Secrets
	if err == nil {
		secrets, err = secretsOf(lock, newKey)
	}
	if err != nil {
		return nil, secrets, errors.Join(tooNew(dir, err), lock.Abandon())
	}
	for _, path := range lock.DamagedKeyRecords() {
		logger.Warn("a record of the server's key is damaged; server.key is the right key all the same", "file", path,
			"next", "nothing: the server writes it again, unless its log is read-only")
	}
	clearLeftovers(lock, logger)
	if errors.Is(missing, fs.ErrNotExist) && wrote.Maestro != "" {
		logger.Warn("the admin's token was missing, and there is a new one in the home; the old one is no longer valid")
	}
	return lock, secrets, nil
}

// checkVersions checks a home before anything in it is touched. A missing home passes.
func checkVersions(dir string, known home.Version) error {
	h, err := home.Open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	err = h.CheckKinds()
	if err == nil {
		err = h.CheckStorePlace()
	}
	if err == nil {
		err = tooNew(dir, h.Check(known))
	}
	return errors.Join(err, h.Close())
}

// secretsOf reads the home's secrets; replace creates a new key if the one that its sessions know is lost.
func secretsOf(lock *home.Lock, replace bool) (home.Secrets, error) {
	if replace {
		return lock.NewSecrets()
	}
	secrets, err := lock.Secrets()
	var missing *home.KeyError
	if errors.As(err, &missing) {
		return secrets, &failure.Error{
			Status:  http.StatusConflict,
			Code:    "NO_KEY",
			Message: missing.Error(),
			Err:     err,
			Why:     "with another key, the secrets of this home's sessions and named tokens are no longer valid",
			Next:    missing.Next(),
		}
	}
	return secrets, err
}
