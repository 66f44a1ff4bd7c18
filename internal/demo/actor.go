package demo

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// exitKilled is the exit code of `maestro session exec` when its command was ended by SIGKILL.
const exitKilled = 128 + 9

// actor is an agent's process, below its `maestro session exec`.
type actor struct {
	name, session string
	cues          io.WriteCloser
	// signs are the signs that the story waits for.
	signs chan sign
	// holding is the sign of the first item that it holds.
	holding sign
	killed  atomic.Bool
}

// endsWithin is how long an agent may take to end when asked to; then it is killed.
const endsWithin = 5 * time.Second

// start runs an agent as a session. If it ends unexpectedly, the demonstration fails. When ctx ends, the agent is asked
// to end.
func (d *demonstration) start(ctx context.Context, name, session string) (*actor, error) {
	a := &actor{name: name, session: session, signs: make(chan sign, 8)}
	cmd := exec.CommandContext(ctx, d.Binary, playing(d.Binary, session, name)...)
	cmd.Env = d.you.env
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) } // the agent receives it too
	cmd.WaitDelay = endsWithin
	var err error
	if a.cues, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	noCues := context.AfterFunc(ctx, func() { _ = a.cues.Close() }) // an agent that waits for a cue then ends
	d.crew.Go(func() {
		defer close(a.signs)
		defer noCues()
		err := d.listen(a, out)
		if ended := cmd.Wait(); err == nil {
			err = a.endedAs(ended)
		}
		if err != nil {
			d.fail(fmt.Errorf("%s ends badly: %w\n%s", name, err, strings.TrimSpace(stderr.String())))
		}
	})
	return a, nil
}

// endedAs judges how the process ended.
func (a *actor) endedAs(err error) error {
	if !a.killed.Load() {
		return err
	}
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != exitKilled {
		return fmt.Errorf("it was killed, and ended with: %w", err)
	}
	return nil
}

// listen receives an agent's signs until it ends.
func (d *demonstration) listen(a *actor, out io.Reader) error {
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		var s sign
		if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
			return fmt.Errorf("%w: %s", err, lines.Bytes())
		}
		switch s.Kind {
		case signAcknowledged:
			d.acknowledge(s.Events)
		case signTells:
			d.tell(a.name, "%s", s.Text)
		case signTakesOver:
			d.tell(a.name, "takes over “%s”", s.Title)
		case signHolds, signKept, signAsks, signFinished:
			select {
			case a.signs <- s:
			default: // nobody waits for its later items
			}
		}
	}
	return lines.Err()
}

// await waits for a sign of an actor.
func (a *actor) await(ctx context.Context, kind signKind) (sign, error) {
	for {
		select {
		case s, ok := <-a.signs:
			switch {
			case !ok:
				return sign{}, cmp.Or(context.Cause(ctx), fmt.Errorf("%s ends without the sign %q", a.name, kind))
			case s.Kind == kind:
				return s, nil
			}
		case <-ctx.Done():
			return sign{}, context.Cause(ctx)
		}
	}
}

// cue gives an actor its cue.
func (a *actor) cue() error {
	_, err := io.WriteString(a.cues, "go\n")
	return err
}

// kill ends the agent's own process with SIGKILL.
func (a *actor) kill() error {
	process, err := os.FindProcess(a.holding.PID)
	if err != nil {
		return err
	}
	a.killed.Store(true)
	return process.Kill()
}
