package cli

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"strings"
	"time"

	"maestro/api/client"
	"maestro/internal/home"
	"maestro/service/wire"
)

const (
	// startsWithin is how long a server that holds the home may take to listen, takesWithin how long one that was just
	// started may take to hold it. lookEvery is the time between two looks.
	startsWithin = 5 * time.Second
	takesWithin  = time.Second
	lookEvery    = 20 * time.Millisecond
)

// pauseFor waits between two looks; tests replace it.
var pauseFor = time.After

// awaitServer waits for the home's server while it starts, such as right after `maestro serve &`. A session does not
// wait for a server of which nothing is seen: its reports are kept instead.
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
// listening: it will not get better.
func look(path string) (running, listening bool) {
	h, err := home.Open(path)
	if err != nil {
		return false, !errors.Is(err, fs.ErrNotExist)
	}
	defer func() { _ = h.Close() }()
	_, running, err = h.Listening()
	return running, running && err == nil || err != nil && !errors.Is(err, fs.ErrNotExist)
}

// homeServer returns the address of the home's server while it runs, else "".
func (a *Run) homeServer() string {
	path, err := home.Path(a.Getenv)
	if err != nil {
		return ""
	}
	h, err := home.Open(path)
	if err != nil {
		return ""
	}
	defer func() { _ = h.Close() }()
	server, running, err := h.Listening()
	if err != nil || !running {
		return ""
	}
	return strings.TrimRight(server.Address, "/")
}

// reach moves the client of a session to the home's server if MAESTRO_API_URL leads to no server that knows the
// session. Where that does not help either, the call itself says what is wrong.
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

// elsewhere reports whether what failed may be had at another address: nobody was reached, or not the right server.
func elsewhere(err error) bool {
	var said *client.Error
	return unreached(err) || errors.As(err, &said) && said.Status == http.StatusUnauthorized
}
