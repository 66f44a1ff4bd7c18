package main

import (
	"bytes"
	"context"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"maestro/internal/cli"
)

// A server that is told to stop while it starts ends like one that is told later, and its error does not ask to repeat
// a command.
func TestStopDuringStart(t *testing.T) {
	home := used(t)
	for _, args := range [][]string{{}, {"--read-only"}} {
		ctx, stop := context.WithCancel(t.Context())
		stop()
		var stderr bytes.Buffer
		args = append([]string{"serve", "--no-runner", "--listen", "127.0.0.1:0"}, args...)
		code := run(ctx, args, []string{"MAESTRO_HOME=" + home}, strings.NewReader(""), io.Discard, &stderr)
		if said := stderr.String(); code != cli.ExitDone || strings.Contains(said, "--key") ||
			!strings.Contains(said, "told to stop before it listened") {
			t.Errorf("%q ends with %d: %s", args, code, said)
		}
	}
	missing := filepath.Join(home, "none", "none")
	ctx, stop := context.WithCancel(t.Context())
	stop()
	var stderr bytes.Buffer
	args := []string{"serve", "--read-only"}
	code := run(ctx, args, []string{"MAESTRO_HOME=" + missing}, strings.NewReader(""), io.Discard, &stderr)
	if code == cli.ExitDone {
		t.Errorf("a missing home is no error then: %s", stderr.String())
	}
}
