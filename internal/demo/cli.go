package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Exit codes of the command line that an agent acts on.
const (
	exitNoConnection = 3
	exitNotAllowed   = 4
	exitTimedOut     = 7
)

// cli runs the real binary as one process of the demonstration does.
type cli struct {
	binary string
	env    []string
	name   string // of the agent; it begins its keys and its lines
	out    *lines
	count  int
}

// lines lets several processes write whole lines to one stream.
type lines struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lines) printf(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprintf(l.w, format, args...)
}

// outcome is what one run of the binary came to.
type outcome struct {
	code   int
	stdout []byte
	stderr string
}

// call runs the binary once.
func (c *cli) call(ctx context.Context, args ...string) (outcome, error) {
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

// write runs a command that changes something, under a key, and repeats it with the same key while nobody answers.
func (c *cli) write(ctx context.Context, args ...string) (outcome, error) {
	c.count++
	args = append(args, "--key", c.name+"-"+strconv.Itoa(c.count))
	return c.repeat(ctx, args)
}

// repeat runs a command again while the server is away.
func (c *cli) repeat(ctx context.Context, args []string) (outcome, error) {
	for try := 1; ; try++ {
		done, err := c.call(ctx, args...)
		if err != nil || done.code != exitNoConnection {
			if err == nil && try > 1 {
				c.out.printf("%-12s   (asked %d times with the same key: the server was away)\n", c.name, try)
			}
			return done, err
		}
		select {
		case <-time.After(150 * time.Millisecond):
		case <-ctx.Done():
			return outcome{}, ctx.Err()
		}
	}
}

// say runs a write as an agent would and shows it with its answer; any exit code but 0 is an error.
func (c *cli) say(ctx context.Context, args ...string) error {
	done, err := c.write(ctx, args...)
	if err != nil {
		return err
	}
	c.show(args, done)
	if done.code != 0 {
		return fmt.Errorf("%s: maestro %s: exit %d: %s", c.name, strings.Join(args, " "), done.code, done.stderr)
	}
	return nil
}

func (c *cli) show(args []string, done outcome) {
	var b strings.Builder
	fmt.Fprintf(&b, "%-12s $ maestro %s\n", c.name, quoted(args))
	for _, text := range []string{string(done.stdout), done.stderr} {
		for line := range strings.Lines(text) {
			if strings.TrimSpace(line) != "" {
				fmt.Fprintf(&b, "%-12s   %s\n", "", strings.TrimRight(line, "\n"))
			}
		}
	}
	c.out.printf("%s", b.String())
}

// ask runs a command with --json and decodes the data of its answer; a write needs its key among args.
func (c *cli) ask(ctx context.Context, into any, args ...string) error {
	done, err := c.repeat(ctx, append(args, "--json"))
	if err != nil {
		return err
	}
	if done.code != 0 {
		return fmt.Errorf("maestro %s: exit %d: %s%s", strings.Join(args, " "), done.code, done.stdout, done.stderr)
	}
	answer := struct {
		Data any `json:"data"`
	}{Data: into}
	if err := json.Unmarshal(done.stdout, &answer); err != nil {
		return fmt.Errorf("maestro %s: %w", strings.Join(args, " "), err)
	}
	return nil
}

func quoted(args []string) string {
	words := make([]string, len(args))
	for i, arg := range args {
		words[i] = arg
		if strings.ContainsAny(arg, " '") {
			words[i] = strconv.Quote(arg)
		}
	}
	return strings.Join(words, " ")
}
