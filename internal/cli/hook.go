package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"maestro/internal/failure"
	"maestro/service/wire"
	"maestro/workers/socket"
)

const (
	// maxHook bounds what an agent's program says about a tool call: it holds whole files that are written.
	maxHook = 64 << 20
	// hookWithin is how long a decision may take.
	hookWithin = 6 * time.Second
	// exitDeny is the exit code with which a hook denies a call, in all agents.
	exitDeny = 2
)

// hook is `maestro hook`, which agents call before each tool call. Whatever goes wrong, it denies the call: the agents
// themselves would allow it.
type hook struct {
	*Run
	socket string
	within time.Duration
}

func newHook(a *Run) *cobra.Command {
	c := &hook{Run: a}
	cmd := &cobra.Command{
		Use:    "hook",
		Short:  "For agents: decide about a tool call that stdin describes",
		Args:   Takes,
		Hidden: true,
		RunE:   Running(c.run),
	}
	cmd.Flags().StringVar(&c.socket, "socket", "", "the socket of the agent's supervisor")
	cmd.Flags().DurationVar(&c.within, "within", hookWithin, "how long a decision may take")
	ValueName(cmd, "socket", "<path>")
	return cmd
}

func (c *hook) run(ctx context.Context, _ []string) error {
	ctx, cancel := context.WithTimeout(ctx, c.within)
	defer cancel()
	answer, err := c.ask(ctx)
	if err != nil {
		answer = wire.HookAnswer{
			Stderr:   fmt.Sprintf("Maestro cannot decide about this call, so it is denied: %s. Try it again.\n", err),
			ExitCode: exitDeny,
		}
	}
	_, _ = io.WriteString(c.Stdout, answer.Stdout) // the exit code alone denies as well
	_, _ = io.WriteString(c.Stderr, answer.Stderr)
	if answer.ExitCode == 0 {
		return nil
	}
	return &commandExit{answer.ExitCode}
}

// ask asks the supervisor.
func (c *hook) ask(ctx context.Context) (answer wire.HookAnswer, err error) {
	payload, err := io.ReadAll(io.LimitReader(c.Stdin, maxHook+1))
	switch {
	case err != nil:
		return answer, fmt.Errorf("read the call: %w", err)
	case len(payload) > maxHook:
		return answer, fmt.Errorf("the call is longer than %d MiB", maxHook>>20)
	case c.socket == "":
		return answer, failure.Usage("there is no --socket")
	}
	conn, err := socket.Dial(ctx, c.socket)
	if err != nil {
		return answer, err
	}
	defer func() { _ = conn.Close() }()
	if deadline, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(deadline); err != nil {
			return answer, err
		}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, socketAddress+wire.HookPath, bytes.NewReader(payload))
	if err != nil {
		return answer, err
	}
	if err := req.Write(conn); err != nil {
		return answer, err
	}
	return readHookAnswer(conn, req)
}

// readHookAnswer reads the decision.
func readHookAnswer(from io.Reader, req *http.Request) (answer wire.HookAnswer, err error) {
	resp, err := http.ReadResponse(bufio.NewReader(from), req)
	if err != nil {
		return answer, err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxHook))
	if err != nil {
		return answer, err
	}
	if resp.StatusCode != http.StatusOK {
		var problem wire.Problem
		if json.Unmarshal(body, &problem) == nil && problem.Message != "" {
			return answer, errors.New(problem.Message)
		}
		return answer, fmt.Errorf("its supervisor answered %s", resp.Status)
	}
	return answer, json.Unmarshal(body, &answer)
}
