package supervisor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"sync"
	"time"

	"maestro/api/client"
	"maestro/internal/home"
)

// The waits between two attempts to reach the server.
const (
	firstWait = 200 * time.Millisecond
	longWait  = 5 * time.Second
)

var (
	// errHomeGone says that the home was deleted.
	errHomeGone = errors.New("the home is gone")
	// errNewKey says that the home's server does not know the run's tokens.
	errNewKey = errors.New("the server has a new key")
)

// calls is how a supervisor reaches the server, as the session and as its runner. The server may come back at another
// address: the home says where.
type calls struct {
	// home is nil on a machine without one.
	home    *home.Home
	session *client.Client
	runner  *client.Client
	after   func(time.Duration) <-chan time.Time
	logger  *slog.Logger

	mu sync.Mutex
	// away is since when the server does not answer; zero while it does.
	away time.Time
}

// newCalls returns the calls of a run.
func newCalls(c Config, h *home.Home, logger *slog.Logger) *calls {
	pinned := func(string) string { return "" }
	if h != nil {
		pinned = h.CertificateAt
	}
	as := func(token string) *client.Client {
		return client.New(c.Server, token, client.WithVersion(c.Version), client.WithTimeout(time.Minute),
			client.WithIdentification(), client.WithPinned(pinned), client.WithRoots(c.Roots))
	}
	return &calls{
		home:    h,
		session: as(c.SessionToken),
		runner:  as(c.RunnerToken),
		after:   time.After,
		logger:  logger,
	}
}

func (c *calls) close() {
	c.session.Close()
	c.runner.Close()
}

// find moves both clients to where the home's server listens now.
func (c *calls) find() {
	if address := c.address(); address != "" && address != c.session.Base() {
		c.session.Move(address)
		c.runner.Move(address)
	}
}

// address returns where the home's server listens now, "" if that is not known.
func (c *calls) address() string {
	if c.home == nil {
		return ""
	}
	return c.home.Address()
}

// isHomeGone reports whether the home was deleted: then no server of it will come back.
func (c *calls) isHomeGone() bool {
	if c.home == nil {
		return false
	}
	_, err := os.Stat(c.home.Dir())
	return errors.Is(err, fs.ErrNotExist)
}

// noted remembers whether the server answers, and logs it when that changes.
func (c *calls) noted(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case err != nil && c.away.IsZero():
		c.away = time.Now()
		c.logger.Warn("the server does not answer; the agent keeps working", "why", err)
	case err == nil && !c.away.IsZero():
		c.logger.Info("the server answers again", "away", time.Since(c.away).Round(time.Millisecond).String())
		c.away = time.Time{}
	}
}

// until calls the server again and again until it gives an answer that stands, or ctx ends.
func (c *calls) until(ctx context.Context, call func(ctx context.Context) error) error {
	own := false
	for wait := firstWait; ; wait = min(2*wait, longWait) {
		err := call(ctx)
		switch {
		case err == nil || !notNow(err):
			c.noted(nil)
			return err
		case own && unproven(err):
			return fmt.Errorf("%w: %w", errNewKey, err)
		}
		c.noted(err)
		if c.isHomeGone() {
			return fmt.Errorf("%w: %w", errHomeGone, err)
		}
		c.find()
		own = c.address() == c.session.Base()
		select {
		case <-c.after(wait):
		case <-ctx.Done():
			return fmt.Errorf("the server was not reached: %w", err)
		}
	}
}

// do sends a command until there is an answer. The key makes it one command.
func (c *calls) do(ctx context.Context, as *client.Client, id string, body any, key string) (client.Answer, error) {
	var answer client.Answer
	err := c.until(ctx, func(ctx context.Context) (err error) {
		answer, err = as.Do(ctx, id, body, client.Options{Key: key})
		return err
	})
	return answer, err
}

// notNow reports whether a call is to be repeated. A server that does not know a supervisor's tokens has taken the
// address while the session's own server is down: that one knows them even after they were revoked.
func notNow(err error) bool { return client.NotNow(err) || unproven(err) }

// revoked reports whether the session's own server says that the caller's credential is no longer valid.
func revoked(err error) bool {
	var said *client.Error
	return errors.As(err, &said) && said.Status == http.StatusUnauthorized && !said.Unproven
}

func unproven(err error) bool {
	var said *client.Error
	return errors.As(err, &said) && said.Unproven
}
