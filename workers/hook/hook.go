package hook

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"time"

	"maestro/service/wire"
	"maestro/workers/agent"
	"maestro/workers/socket"
)

// most bounds what a CLI says about a call: it holds whole files that are written.
const most = 64 << 20

// Main asks about the call that stdin describes, and returns the exit code. args are those behind `maestro hook`.
func Main(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("maestro hook", flag.ContinueOnError)
	flags.SetOutput(stderr)
	path := flags.String("socket", "", "the socket of the agent's supervisor")
	patience := flags.Duration("within", agent.HookClock(false), "how long a decision may take")
	if err := flags.Parse(args); err != nil {
		return agent.ExitDenied
	}
	ctx, cancel := context.WithTimeout(ctx, *patience)
	defer cancel()
	answer, err := ask(ctx, *path, stdin)
	if err != nil {
		_, _ = fmt.Fprintf(stderr, "Maestro cannot decide about this call, so it is denied: %s. Try it again.\n", err)
		return agent.ExitDenied
	}
	if _, err := io.WriteString(stdout, answer.Stdout); err != nil {
		return agent.ExitDenied
	}
	_, _ = io.WriteString(stderr, answer.Stderr) // the exit code alone denies as well
	return answer.ExitCode
}

// ask asks the supervisor.
func ask(ctx context.Context, path string, stdin io.Reader) (answer wire.HookAnswer, err error) {
	if path == "" {
		return answer, errors.New("there is no --socket")
	}
	payload, err := io.ReadAll(io.LimitReader(stdin, most+1))
	switch {
	case err != nil:
		return answer, fmt.Errorf("what the call is cannot be read: %w", err)
	case len(payload) > most:
		return answer, fmt.Errorf("the call is longer than %d MiB", most>>20)
	}
	conn, err := socket.Dial(ctx, path)
	if err != nil {
		return answer, fmt.Errorf("its supervisor does not answer: %w", err)
	}
	defer func() { _ = conn.Close() }()
	if deadline, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(deadline); err != nil {
			return answer, err
		}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://supervisor"+wire.HookPath,
		bytes.NewReader(payload))
	if err != nil {
		return answer, err
	}
	if deadline, ok := ctx.Deadline(); ok {
		req.Header.Set(wire.HeaderDeadline, deadline.UTC().Format(time.RFC3339Nano))
	}
	if err := req.Write(conn); err != nil {
		return answer, fmt.Errorf("its supervisor does not answer: %w", err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), req)
	if err != nil {
		return answer, fmt.Errorf("its supervisor does not answer: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	return read(resp)
}

// read reads the decision.
func read(resp *http.Response) (answer wire.HookAnswer, err error) {
	body, err := io.ReadAll(io.LimitReader(resp.Body, most))
	if err != nil {
		return answer, fmt.Errorf("the answer of its supervisor is cut: %w", err)
	}
	if resp.StatusCode == http.StatusOK {
		return decisionIn(body)
	}
	var problem wire.Problem
	if json.Unmarshal(body, &problem) == nil && problem.Message != "" {
		return answer, errors.New(problem.Message)
	}
	return answer, fmt.Errorf("its supervisor answered %s", resp.Status)
}

// decisionIn reads the answer of a supervisor. Only one that says so allows the call.
func decisionIn(body []byte) (answer wire.HookAnswer, err error) {
	var with struct {
		ExitCode *int `json:"exitCode"`
	}
	if err := errors.Join(json.Unmarshal(body, &answer), json.Unmarshal(body, &with)); err != nil {
		return answer, fmt.Errorf("the answer of its supervisor cannot be read: %w", err)
	}
	if with.ExitCode == nil {
		return answer, errors.New("the answer of its supervisor has no exit code")
	}
	switch {
	case answer.Decision == wire.HookAllow && answer.ExitCode == 0:
		return answer, nil
	case answer.Decision == wire.HookDeny && answer.ExitCode == agent.ExitDenied:
		return answer, nil
	case answer.Decision == "" && (answer.ExitCode == 0 || answer.ExitCode == agent.ExitDenied):
		// A supervisor that was started before an upgrade says it with the exit code alone, which it always sends.
		return answer, nil
	}
	return answer, fmt.Errorf("the answer of its supervisor is no decision: %q with exit code %d", answer.Decision,
		answer.ExitCode)
}
