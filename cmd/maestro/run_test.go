package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"go.uber.org/goleak"

	"maestro/internal/cli"
)

// ran is the result of a run in this process.
type ran struct {
	code           int
	stdout, stderr string
}

func runHere(t *testing.T, env map[string]string, args ...string) ran {
	t.Helper()
	variables := []string{"HOME=" + t.TempDir()}
	for name, value := range env {
		variables = append(variables, name+"="+value)
	}
	ctx, end := context.WithCancel(t.Context())
	defer end()
	var stderr bytes.Buffer
	stdout := ending{end: end}
	code := run(ctx, args, variables, strings.NewReader("from stdin"), &stdout, &stderr)
	return ran{code, stdout.String(), stderr.String()}
}

// ending keeps the output of a run, and stops a server that listens, so that a test that expects it not to start fails
// instead of waiting.
type ending struct {
	bytes.Buffer
	end context.CancelFunc
}

func (e *ending) Write(b []byte) (int, error) {
	if bytes.Contains(b, []byte("listening on")) {
		e.end()
	}
	return e.Buffer.Write(b)
}

// root returns the whole command tree.
func root() *cobra.Command { return (&cli.Run{More: more}).Root() }

// A server in this process stops on request, and leaves nothing running.
func TestServeStops(t *testing.T) {
	defer goleak.VerifyNone(t)
	dir := filepath.Join(t.TempDir(), "home")
	for range 2 {
		ctx, stop := context.WithCancel(t.Context())
		out, in := io.Pipe()
		ended := make(chan int, 1)
		go func() {
			line := []string{"serve", "--no-runner", "--listen", "127.0.0.1:0"}
			ended <- run(ctx, line, []string{"MAESTRO_HOME=" + dir},
				strings.NewReader(""), in, io.Discard)
		}()
		line := make([]byte, 1024)
		n, err := out.Read(line)
		if err != nil || !strings.Contains(string(line[:n]), "listening on") {
			t.Fatalf("%q, %v", line[:n], err)
		}
		if got := runHere(t, map[string]string{"MAESTRO_HOME": dir}, "project", "create", "Shop", "--key",
			"once"); got.code != cli.ExitDone {
			t.Errorf("%+v", got)
		}
		stop()
		select {
		case code := <-ended:
			if code != cli.ExitDone {
				t.Errorf("exit %d", code)
			}
		case <-time.After(time.Minute):
			t.Fatal("the server does not stop")
		}
		if _, err := os.Stat(filepath.Join(dir, "server.json")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("it left its address behind: %v", err)
		}
	}
}

// The program finds a noun by its name in the list, so the noun's command must have the same name.
func TestNounsHaveTheirNames(t *testing.T) {
	for _, noun := range more {
		if name := noun.New(&cli.Run{}).Name(); name != noun.Name {
			t.Errorf("%q is called %q", noun.Name, name)
		}
	}
}
