package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"
)

const (
	// waitSlice is how long one call waits; the next goes on from there.
	waitSlice = 25 * time.Second
	// betweenTries is the pause before a server that is away is asked again.
	betweenTries = 500 * time.Millisecond
)

// inSlices asks for something that is waited for, again and again for as long as timeout says, 0 for ever; each call waits on
// the server, but for the first. A server that was there and goes away, as for a restart, is waited for too, but not longer than
// patience. It ends when ask says so, and tells whether the time was over before.
func inSlices(ctx context.Context, timeout time.Duration, ask func(ctx context.Context, slice time.Duration) (bool, error)) (over bool, err error) {
	began := time.Now()
	reached := began
	for asked := false; ; asked = true {
		slice := time.Duration(0)
		if asked {
			slice = waitSlice
			if timeout > 0 {
				slice = min(slice, timeout-time.Since(began))
			}
			if slice <= 0 {
				return true, err
			}
		}
		call, cancel := context.WithTimeout(ctx, slice+patience)
		var done bool
		done, err = ask(call, slice)
		cancel()
		switch {
		case err == nil && done:
			return false, nil
		case err == nil:
			reached = time.Now()
			continue
		case !asked || ctx.Err() != nil || !unreached(err) || time.Since(reached) > patience+waitSlice:
			return false, err
		}
		select {
		case <-time.After(betweenTries):
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
}

// positive refuses a length of time that was given and is none.
func positive(cmd *cobra.Command, flag string, value time.Duration) error {
	if cmd.Flags().Changed(flag) && value <= 0 {
		return usage("--%s must be longer than nothing, such as 10m, not %s", flag, value).withNext("leave it out for no limit")
	}
	return nil
}

// timeoutOfWait checks --timeout, which says nothing without --wait.
func timeoutOfWait(cmd *cobra.Command, wait bool, timeout time.Duration) error {
	if cmd.Flags().Changed("timeout") && !wait {
		return usage("--timeout is how long to wait, and nothing is waited for").withNext("add --wait, or leave --timeout out")
	}
	return positive(cmd, "timeout", timeout)
}
