package cli

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"maestro/api/client"
	"maestro/internal/failure"
	"maestro/service/wire"
)

const (
	// waitSlice is how long one call waits; the next call continues the wait.
	waitSlice = 25 * time.Second
	// betweenTries is the pause between attempts to reach a server that is away.
	betweenTries = 500 * time.Millisecond
	// waitDefault is the default time limit of a waiting command: agents' shells end a command after two minutes.
	waitDefault = 100 * time.Second
)

// inSlices calls ask repeatedly until timeout; each call but the first waits on the server. It also waits for a server
// that stops or goes away, as for a restart, and follows it to another address if it is the home's. It ends when ask
// says so, and reports whether the time was over before. It fails when the process that started this one ends.
func inSlices(
	ctx context.Context, a *Run, c *client.Client, timeout time.Duration,
	ask func(ctx context.Context, slice time.Duration) (bool, error),
) (over bool, err error) {
	at, asked := contact{Run: a}, false
	return inSlicesQuietly(ctx, a, c, timeout, func(ctx context.Context, slice time.Duration) (bool, error) {
		if at.away {
			slice = 0 // an answer at once says that the server is back
		}
		done, err := ask(ctx, slice)
		switch {
		case err == nil:
			at.made()
		case ctx.Err() == nil && (stopping(err) || asked && serverAway(err)):
			at.lost()
		}
		asked = true
		return done, err
	})
}

// contact tells the user of a waiting command once that its server is away, and once that it is back.
type contact struct {
	*Run
	away, connected bool
}

// made notes that the server answers.
func (c *contact) made() {
	if c.away {
		c.Say("maestro: connected%s\n", map[bool]string{true: " again"}[c.connected])
	}
	c.away, c.connected = false, true
}

// lost notes that it does not, and that it is asked again.
func (c *contact) lost() {
	if !c.away {
		lost := "the connection to the server is lost"
		if !c.connected {
			lost = "there is no connection to the server yet"
		}
		c.Say("maestro: %s; trying again\n", lost)
	}
	c.away = true
}

// inSlicesQuietly is inSlices for a call that says itself whether there is a server.
func inSlicesQuietly(
	ctx context.Context, a *Run, c *client.Client, timeout time.Duration,
	ask func(ctx context.Context, slice time.Duration) (bool, error),
) (over bool, err error) {
	ctx, done := a.whileParentLives(ctx)
	defer done()
	over, err = untilOver(ctx, a, c, timeout, ask)
	if errors.Is(context.Cause(ctx), errParentEnded) {
		return false, errParentEnded
	}
	return over, err
}

func untilOver(
	ctx context.Context, a *Run, c *client.Client, timeout time.Duration,
	ask func(ctx context.Context, slice time.Duration) (bool, error),
) (over bool, err error) {
	began := time.Now()
	fromHome := a.homeServer() == c.Base()
	for asked := false; ; asked = true {
		slice := time.Duration(0)
		if asked {
			if slice = min(waitSlice, timeout-time.Since(began)); slice <= 0 {
				return true, err
			}
		}
		var done bool
		done, err = ask(ctx, slice)
		switch {
		case err == nil && done:
			return false, nil
		case err == nil:
			continue
		case ctx.Err() != nil, !stopping(err) && (!asked || !serverAway(err)):
			return false, err
		}
		select {
		case <-time.After(betweenTries):
		case <-ctx.Done():
			return false, ctx.Err()
		}
		if address := a.homeServer(); fromHome && address != "" {
			c.Move(address)
			a.moved = address
		}
	}
}

// stopping reports whether the server said that it is stopping, and to ask again.
func stopping(err error) bool {
	var said *client.Error
	return errors.As(err, &said) && said.Code == wire.CodeStopping
}

// serverAway reports whether no server answered, or a proxy in its place.
func serverAway(err error) bool {
	var said *client.Error
	return unreached(err) || stopping(err) || errors.As(err, &said) && said.Status == http.StatusBadGateway
}

// waitTimeout adds --timeout to a command that waits.
func waitTimeout(cmd *cobra.Command, timeout *time.Duration) {
	cmd.Flags().DurationVar(timeout, "timeout", waitDefault, "how long to wait, such as 30s or 10m")
}

// positive refuses a duration that is not positive.
func positive(cmd *cobra.Command, flag string, value time.Duration) error {
	if cmd.Flags().Changed(flag) && value <= 0 {
		return failure.Usage("--%s must be more than 0, such as 10m, not %s", flag, value).
			WithNext("leave it out for the default")
	}
	return nil
}

// AtLeastOne refuses a given number below 1: the server would take 0 for an omitted flag.
func AtLeastOne(cmd *cobra.Command, flag string, value int) error {
	if cmd.Flags().Changed(flag) && value < 1 {
		return failure.Usage("--%s must be 1 or more, not %d", flag, value).WithNext("leave it out for the default")
	}
	return nil
}

// timeoutOfWait refuses --timeout without --wait, where it has no meaning.
func timeoutOfWait(cmd *cobra.Command, wait bool, timeout time.Duration) error {
	if cmd.Flags().Changed("timeout") && !wait {
		return failure.Usage("--timeout has no effect without --wait").
			WithNext("add --wait, or leave --timeout out")
	}
	return positive(cmd, "timeout", timeout)
}
