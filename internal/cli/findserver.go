package cli

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"time"

	"maestro/api/client"
	"maestro/internal/home"
	"maestro/service/wire"
)

const (
	// startsWithin bounds how long a server that holds the home may take to listen, takesWithin how long one that was
	// just started may take to lock it. lookEvery is the time between two checks.
	startsWithin = 5 * time.Second
	takesWithin  = time.Second
	lookEvery    = 20 * time.Millisecond
)

// pauseFor waits between two checks. Tests replace it.
var pauseFor = time.After

// awaitServer waits for the home's server while it starts, such as right after `maestro serve &`. A session does not
// wait for a server without any sign of one: its reports are kept instead.
func (a *Run) awaitServer(ctx context.Context, path string) {
	for waited := time.Duration(0); ; waited += lookEvery {
		within := takesWithin
		if a.isSession() {
			within = 0
		}
		running, listening := look(path)
		if running {
			within = startsWithin
		}
		if listening || waited >= within {
			return
		}
		select {
		case <-pauseFor(lookEvery):
		case <-ctx.Done():
			return
		}
	}
}

// look reports whether a server holds the home, and whether it listens. A home that cannot be opened counts as
// listening, because waiting would not help.
func look(path string) (running, listening bool) {
	h, err := home.Open(path)
	if err != nil {
		return false, !errors.Is(err, fs.ErrNotExist)
	}
	defer func() { _ = h.Close() }()
	_, running, err = h.Listening()
	return running, running && err == nil || err != nil && !errors.Is(err, fs.ErrNotExist)
}

// homeServer returns the address of the home's server while it runs, otherwise "".
func (a *Run) homeServer() string {
	h := a.openHome()
	if h == nil {
		return ""
	}
	defer func() { _ = h.Close() }()
	return h.Address()
}

// reach moves a session's client to the home's server if MAESTRO_API_URL leads to no server that knows the session. If
// that does not help either, the call itself reports the error.
func (a *Run) reach(ctx context.Context, c *client.Client) error {
	if !a.isSession() || a.Getenv(wire.EnvAPIURL) == "" || a.moved != "" {
		return nil
	}
	err := c.Identify(ctx)
	if busy := (*client.BusyError)(nil); errors.As(err, &busy) {
		return err
	}
	if err == nil || !elsewhere(err) {
		return nil
	}
	if path, err := home.Path(a.Getenv); err == nil {
		a.awaitServer(ctx, path)
	}
	named, address := c.Base(), a.homeServer()
	if address == "" || address == named {
		return nil
	}
	c.Move(address)
	if c.Identify(ctx) != nil {
		c.Move(named)
		return nil
	}
	a.moved = address
	return nil
}

// elsewhere reports whether another address may help: nobody answered, or it was not the right server.
func elsewhere(err error) bool {
	var said *client.Error
	return unreached(err) || errors.As(err, &said) && said.Status == http.StatusUnauthorized
}
