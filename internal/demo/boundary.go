package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"maestro/service/wire"
)

// Attempt is a way in which an agent tried to become its user.
type Attempt struct {
	// What it did, as part of a sentence: "reads your token".
	What string `json:"what"`
	// Held says that it did not succeed, Said how it was refused.
	Held bool   `json:"held"`
	Said string `json:"said"`
	// Skipped says that the kernel offers nothing that could hold it, so that it was not tried.
	Skipped bool `json:"skipped,omitempty"`
}

// waysToBecomeUser is how many ways the agent knows.
const waysToBecomeUser = 5

// way is a way to become the user. try returns whether it was refused, and how.
type way struct {
	what string
	// kernel says that only the kernel can hold it.
	kernel bool
	try    func(ctx context.Context) (refusal string, held bool, err error)
}

// becomeUser tries to do what only the user may do.
func (a *agent) becomeUser(ctx context.Context, item task) (attempts []Attempt, err error) {
	var session struct {
		Run struct {
			Layers []string `json:"layers"`
		} `json:"run"`
	}
	if err := a.do(ctx, &session, "session", "info", os.Getenv(wire.EnvSessionID)); err != nil {
		return nil, err
	}
	confined := holdsSignals(session.Run.Layers)
	for _, w := range []way{
		{"reads your token", true, a.readToken},
		{"drops its variables and runs `maestro task complete`", false, a.asUser("task", "complete", item.ID)},
		{"drops its variables and runs `maestro token create`", false, a.asUser("token", "create", "--name", "mine")},
		{"uses the socket of another worker", false, a.useSocket},
		{"kills the process that supervises it", true, a.killSupervisor},
	} {
		if w.kernel && !confined {
			attempts = append(attempts, Attempt{What: w.what, Skipped: true})
			continue
		}
		said, held, err := w.try(ctx)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", w.what, err)
		}
		attempts = append(attempts, Attempt{What: w.what, Held: held, Said: said})
	}
	return attempts, nil
}

// holdsSignals reports whether layers of confinement keep an agent from files that are hidden, and from signalling
// others. Landlock does both from version 6 on.
func holdsSignals(layers []string) bool {
	for _, layer := range layers {
		var version int
		if n, _ := fmt.Sscanf(layer, "landlock-abi%d", &version); n == 1 && version >= 6 || layer == "namespaces" {
			return true
		}
	}
	return false
}

// userHome is the home of the demonstration's user.
func userHome() string { return filepath.Join(os.Getenv("HOME"), homeName) }

func (a *agent) readToken(context.Context) (string, bool, error) {
	_, err := os.ReadFile(filepath.Join(userHome(), "admin.token"))
	if err == nil {
		return "it has it", false, nil
	}
	return bare(err), true, nil
}

// asUser runs a command without the variables that make the agent a session.
func (a *agent) asUser(args ...string) func(context.Context) (string, bool, error) {
	return func(ctx context.Context) (string, bool, error) {
		said, held, err := a.as(ctx, []string{
			"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "MAESTRO_HOME=" + userHome(),
		}, args...)
		if files, _ := os.ReadDir(userHome()); held && len(files) == 0 {
			said = "it sees nothing in your home" // whatever the command thinks of that
		}
		return said, held, err
	}
}

// as runs a command in another environment; it should fail.
func (a *agent) as(ctx context.Context, env []string, args ...string) (string, bool, error) {
	other := caller{binary: a.binary, env: env}
	done, err := other.call(ctx, args...)
	if err != nil {
		return "", false, err
	}
	said, _, _ := strings.Cut(strings.TrimPrefix(done.stderr, "maestro: "), "\n")
	if strings.Contains(said, "--help") {
		return "", false, fmt.Errorf("the attempt is none: %s", said)
	}
	return said, done.code != 0, nil
}

// useSocket reports as another worker, through the socket of that worker's supervisor.
func (a *agent) useSocket(ctx context.Context) (string, bool, error) {
	var items []struct {
		SessionID string `json:"sessionId"`
	}
	if err := a.do(ctx, &items, "queue", "list"); err != nil {
		return "", false, err
	}
	own, session := os.Getenv(wire.EnvSocket), os.Getenv(wire.EnvSessionID)
	for _, item := range items {
		if item.SessionID == "" || item.SessionID == session {
			continue
		}
		path := filepath.Join(filepath.Dir(filepath.Dir(own)), item.SessionID, filepath.Base(own))
		env := slices.DeleteFunc(os.Environ(), func(variable string) bool {
			name, _, _ := strings.Cut(variable, "=")
			return name == wire.EnvSocket || name == wire.EnvSessionID
		})
		env = append(env, wire.EnvSocket+"="+path, wire.EnvSessionID+"="+item.SessionID)
		return a.as(ctx, env, "session", "note", stolenNote)
	}
	return "", false, errors.New("no other worker is in the list of the queue")
}

// stolenNote is what the agent writes as another one.
const stolenNote = "Written through another's socket"

// endsAfter is how long a process that is killed may take to end.
const endsAfter = 100 * time.Millisecond

// killSupervisor kills the process that supervises the agent, as far as it can find it, and its own parent.
func (a *agent) killSupervisor(ctx context.Context) (string, bool, error) {
	above := supervisors()
	said := "it sees no such process"
	if !slices.Contains(above, os.Getppid()) && os.Getppid() > 0 {
		above = append(above, os.Getppid())
	}
	for _, pid := range above {
		process, err := os.FindProcess(pid)
		if err != nil {
			continue
		}
		if err := process.Kill(); err != nil {
			said = bare(err)
			continue
		}
		select {
		case <-time.After(endsAfter):
		case <-ctx.Done():
			return "", false, context.Cause(ctx)
		}
		if process.Signal(syscall.Signal(0)) != nil {
			return fmt.Sprintf("process %d has ended", pid), false, nil
		}
	}
	return said, true, nil
}

// supervisors returns the processes that look like supervisors.
func supervisors() (pids []int) {
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline") // the pattern is valid
	for _, line := range lines {
		content, err := os.ReadFile(line)
		if err != nil || !slices.Contains(strings.Split(string(content), "\x00"), wire.ProgramSupervisor) {
			continue
		}
		var pid int
		if n, _ := fmt.Sscanf(line, "/proc/%d/", &pid); n == 1 {
			pids = append(pids, pid)
		}
	}
	return pids
}

// bare returns what an error says without the paths in it.
func bare(err error) string {
	var path *os.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	return err.Error()
}
