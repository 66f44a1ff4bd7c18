package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
)

// exitNotAllowed is the exit code of a command that is refused to its caller.
const exitNotAllowed = 4

// caller runs the real binary for one participant of the demonstration.
type caller struct {
	binary string
	// env is the environment of the commands; nil is that of this process.
	env []string
	// acknowledged is called with the ids of the events that a command's answer acknowledged.
	acknowledged func(ids []string)
}

// outcome is the result of one run of the binary.
type outcome struct {
	code   int
	stdout []byte
	stderr string
}

// call runs the binary once.
func (c *caller) call(ctx context.Context, args ...string) (outcome, error) {
	cmd := exec.CommandContext(ctx, c.binary, args...)
	cmd.Env = c.env
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return outcome{}, err
	}
	return outcome{cmd.ProcessState.ExitCode(), stdout.Bytes(), strings.TrimSpace(stderr.String())}, ctx.Err()
}

// text runs a read and returns what it prints. Any exit code but 0 is an error.
func (c *caller) text(ctx context.Context, args ...string) (string, error) {
	done, err := c.call(ctx, args...)
	if err != nil {
		return "", err
	}
	return string(done.stdout), done.failure(args)
}

// ask runs a command with --json and decodes the data of its answer; nil ignores the data. It returns what the command
// printed on stderr. Any exit code but 0 is an error.
func (c *caller) ask(ctx context.Context, into any, args ...string) (stderr string, err error) {
	done, err := c.call(ctx, append(args, "--json")...)
	if err != nil {
		return "", err
	}
	if err := done.failure(args); err != nil {
		return "", err
	}
	var answer struct {
		Data json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(done.stdout, &answer); err != nil {
		return "", fmt.Errorf("maestro %s: %w", strings.Join(args, " "), err)
	}
	if ids := eventsOf(answer.Data); len(ids) > 0 {
		c.acknowledged(ids)
	}
	if into != nil {
		err = json.Unmarshal(answer.Data, into)
	}
	return done.stderr, err
}

// failure returns the error of a run that failed.
func (o outcome) failure(args []string) error {
	if o.code == 0 {
		return nil
	}
	return fmt.Errorf("maestro %s: exit %d: %s%s", strings.Join(args, " "), o.code, o.stdout, o.stderr)
}

// eventsOf returns the ids of the events in an answer.
func eventsOf(data json.RawMessage) (ids []string) {
	type written struct {
		Event *struct {
			ID string `json:"id"`
		} `json:"event"`
	}
	var answer struct {
		written
		Results []written `json:"results"`
	}
	if json.Unmarshal(data, &answer) != nil {
		return nil // a list, which no write returns
	}
	for _, w := range append(answer.Results, answer.written) {
		if w.Event != nil {
			ids = append(ids, w.Event.ID)
		}
	}
	return ids
}
