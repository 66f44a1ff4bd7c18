package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"maestro/internal/files"
	"maestro/service/wire"
)

// task is what an agent reads of a task.
type task struct {
	ID            string   `json:"id"`
	ParentID      *string  `json:"parentId"`
	Title         string   `json:"title"`
	Status        string   `json:"status"`
	SessionStatus string   `json:"sessionStatus"`
	Criteria      []string `json:"acceptanceCriteria"`
}

// item is what an agent reads of a queue's item.
type item struct {
	TaskID   string `json:"taskId"`
	Title    string `json:"title"`
	Status   string `json:"status"`
	Attempts int    `json:"attempts"`
}

// spawned is what `session spawn --json` answers.
type spawned struct {
	SessionID string            `json:"sessionId"`
	Env       map[string]string `json:"env"`
}

// Variables by which the demonstration tells its agents where they are, and through which address one of them calls.
const (
	envDir = "MAESTRO_DEMO_DIR"
	envVia = "MAESTRO_DEMO_VIA"
)

// queueName is the queue that the workers pull from, workers how many there are.
const (
	queueName = "two-factor"
	workers   = 4
)

// What the workers leave for the demonstration to see.
const (
	refusalFile = "refusal.json" // what was refused to worker-2
	hungFile    = "hung.json"    // worker-3 holds an item and does nothing more
	cutFile     = "cut"          // worker-4 may be cut off now
)

const (
	// think is how long an agent ponders between two commands.
	think = 120 * time.Millisecond
	// beat is how often an agent's supervisor says that it is there.
	beat = 500 * time.Millisecond
)

// Agent plays one agent in a process of its own: "orchestrator" or "worker-1" to "worker-4". It knows what a real agent
// would know: its environment, and what the command line tells it.
func Agent(ctx context.Context, binary, name string, env []string, out io.Writer) error {
	c := &cli{
		binary: binary,
		env:    env,
		name:   name,
		out:    &lines{w: out},
	}
	if name == "orchestrator" {
		return orchestrate(ctx, c)
	}
	ctx, stop := context.WithCancel(ctx)
	beating := make(chan struct{})
	go func() {
		defer close(beating)
		supervise(ctx, env)
	}()
	err := work(ctx, c)
	stop()
	<-beating
	return err
}

// supervise does what an agent's supervisor does: it says that the session is there for as long as the process lives.
func supervise(ctx context.Context, env []string) {
	url := lookup(env, wire.EnvAPIURL) + "/api/sessions/" + lookup(env, wire.EnvSessionID) + "/heartbeat"
	for {
		if req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, http.NoBody); err == nil {
			req.Header.Set("Authorization", "Bearer "+lookup(env, wire.EnvToken))
			if resp, err := http.DefaultClient.Do(req); err == nil { // a server that is away hears the next
				_ = resp.Body.Close()
			}
		}
		if pause(ctx, beat) != nil {
			return
		}
	}
}

func lookup(env []string, name string) string {
	for _, variable := range env {
		if value, ok := strings.CutPrefix(variable, name+"="); ok {
			return value
		}
	}
	return ""
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// orchestrate spawns the workers, and confirms what they say is done.
func orchestrate(ctx context.Context, c *cli) error {
	if err := c.say(ctx, "session", "register"); err != nil {
		return err
	}
	running, err := spawnWorkers(ctx, c)
	if err != nil {
		return err
	}
	finished := make(chan error, len(running))
	for _, worker := range running {
		go func() { finished <- worker.Wait() }()
	}
	for left := len(running); left > 0; {
		select {
		case err := <-finished:
			var exit *exec.ExitError
			if err != nil && (!errors.As(err, &exit) || exit.ExitCode() > 0) { // one that was killed has no exit code
				return fmt.Errorf("a worker ended badly: %w", err)
			}
			left--
		case <-time.After(2 * think):
		}
		if err := confirm(ctx, c); err != nil {
			return err
		}
	}
	return c.say(ctx, "report", "complete", "The queue is done but for what needs the SMS provider's key")
}

func spawnWorkers(ctx context.Context, c *cli) ([]*exec.Cmd, error) {
	var running []*exec.Cmd
	for i := range workers {
		name := fmt.Sprintf("worker-%d", i+1)
		args := []string{"session", "spawn", "--name", name, "--strategy", "queue", "--queue", queueName}
		var session spawned
		if err := c.ask(ctx, &session, append(args, "--key", "orchestrator-spawns-"+name)...); err != nil {
			return nil, err
		}
		c.out.printf("%-12s $ maestro %s\n%-12s   %s\n", c.name, quoted(args), "", session.SessionID)
		if name == "worker-4" {
			session.Env[wire.EnvAPIURL] = lookup(c.env, envVia)
		}
		worker, err := start(ctx, c, name, session.Env)
		if err != nil {
			return nil, err
		}
		running = append(running, worker)
	}
	return running, nil
}

// start runs an agent as a process of its own, with the environment that its session was given.
func start(ctx context.Context, c *cli, name string, env map[string]string) (*exec.Cmd, error) {
	cmd := exec.CommandContext(ctx, c.binary, "demo", "--agent", name)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + lookup(c.env, "HOME")}
	for _, name := range []string{envDir, envVia} {
		cmd.Env = append(cmd.Env, name+"="+lookup(c.env, name))
	}
	for key, value := range env {
		cmd.Env = append(cmd.Env, key+"="+value)
	}
	cmd.Stdout, cmd.Stderr = c.out.w, c.out.w
	return cmd, cmd.Start()
}

// confirm is what only an orchestrator or a person may do: it settles what workers claim.
func confirm(ctx context.Context, c *cli) error {
	var tasks []task
	if err := c.ask(ctx, &tasks, "task", "list"); err != nil {
		return err
	}
	open := map[string]int{} // by parent: the tasks below it that are not settled
	for _, t := range tasks {
		if t.ParentID != nil && t.Status != "completed" && t.Status != "cancelled" {
			open[*t.ParentID]++
		}
	}
	for _, t := range slices.Backward(tasks) { // a parent was made before what is below it, and is confirmed after it
		if t.SessionStatus != "completed" || t.Status != "in_progress" || open[t.ID] > 0 {
			continue
		}
		if err := c.say(ctx, "task", "complete", t.ID); err != nil {
			return err
		}
		if t.ParentID != nil {
			open[*t.ParentID]--
		}
	}
	return nil
}

// work pulls items until there is nothing left to pull. worker-2 tries what it may not, worker-3 hangs with an item in
// hand, worker-4 is cut off, and worker-1 asks.
func work(ctx context.Context, c *cli) error {
	if err := c.say(ctx, "session", "register"); err != nil {
		return err
	}
	for n := 0; ; n++ {
		next, err := pull(ctx, c)
		if err != nil {
			return err
		}
		if next == nil {
			break
		}
		if err := workOn(ctx, c, n, next.TaskID); err != nil {
			return err
		}
	}
	return c.say(ctx, "report", "complete", "Nothing is left for me to do")
}

// pull takes the next item; nil when nothing is left and nobody holds an item that may come back.
func pull(ctx context.Context, c *cli) (*item, error) {
	for {
		args := []string{"queue", "start", "--wait", "--timeout", "1s"}
		done, err := c.write(ctx, args...)
		if err != nil {
			return nil, err
		}
		if done.code != exitTimedOut {
			c.show(args, done)
			if done.code != 0 {
				return nil, fmt.Errorf("%s: queue start: exit %d: %s", c.name, done.code, done.stderr)
			}
			return inHand(ctx, c)
		}
		var items []item
		if err := c.ask(ctx, &items, "queue", "list", "--status", "processing"); err != nil {
			return nil, err
		}
		if len(items) == 0 {
			return nil, nil
		}
	}
}

// inHand gives what the queue says this session holds.
func inHand(ctx context.Context, c *cli) (*item, error) {
	var top struct {
		Held *item `json:"held"`
	}
	if err := c.ask(ctx, &top, "queue", "top"); err != nil {
		return nil, err
	}
	if top.Held == nil {
		return nil, errors.New(c.name + " started an item and holds none")
	}
	return top.Held, nil
}

func workOn(ctx context.Context, c *cli, n int, id string) error {
	var t task
	if err := c.ask(ctx, &t, "task", "get", id); err != nil {
		return err
	}
	if err := c.say(ctx, "report", "progress", "Reading what is there for: "+t.Title, "--task", id); err != nil {
		return err
	}
	switch {
	case c.name == "worker-1" && n == 0:
		if err := c.say(ctx, "report", "needs-input", "Which key wraps the secret?", "--option", "the account key",
			"--option", "a new one", "--wait", "--task", id); err != nil {
			return err
		}
	case c.name == "worker-2" && n == 0:
		if err := overreach(ctx, c, id); err != nil {
			return err
		}
	case c.name == "worker-3" && !strings.Contains(t.Title, "provider"):
		return hang(ctx, c, t)
	case c.name == "worker-4" && n == 0:
		if err := os.WriteFile(filepath.Join(lookup(c.env, envDir), cutFile), nil, 0o600); err != nil {
			return err
		}
		if err := pause(ctx, 4*think); err != nil {
			return err
		}
	}
	for _, criterion := range t.Criteria {
		if err := c.say(ctx, "report", "progress", "Done: "+criterion, "--task", id); err != nil {
			return err
		}
		if err := pause(ctx, think); err != nil {
			return err
		}
	}
	if strings.Contains(t.Title, "provider") {
		return c.say(ctx, "queue", "fail", "I need the SMS provider's API key")
	}
	if err := c.say(ctx, "track-file", fmt.Sprintf("src/auth/step_%s_%d.go", c.name, n+1), "--task", id); err != nil {
		return err
	}
	return c.say(ctx, "queue", "complete")
}

// hang is an agent that does nothing more, that holds an item, until it is killed.
func hang(ctx context.Context, c *cli, t task) error {
	text, err := json.Marshal(struct {
		PID     int    `json:"pid"`
		TaskID  string `json:"taskId"`
		Session string `json:"session"`
	}{os.Getpid(), t.ID, lookup(c.env, wire.EnvSessionID)})
	if err != nil {
		return err
	}
	if err := leave(c, hungFile, text); err != nil {
		return err
	}
	<-ctx.Done()
	return ctx.Err()
}

// leave puts a file where the demonstration sees it, whole.
func leave(c *cli, name string, text []byte) error {
	return files.WritePath(filepath.Join(lookup(c.env, envDir), name), text)
}

// overreach tries to confirm its own work, which is not a worker's to do.
func overreach(ctx context.Context, c *cli, id string) error {
	args := []string{"task", "complete", id}
	done, err := c.write(ctx, args...)
	if err != nil {
		return err
	}
	c.show(args, done)
	if done.code != exitNotAllowed {
		return fmt.Errorf("a worker completed a task: exit %d, expected %d", done.code, exitNotAllowed)
	}
	text, err := json.Marshal(struct {
		Session string `json:"session"`
		TaskID  string `json:"taskId"`
	}{lookup(c.env, wire.EnvSessionID), id})
	if err != nil {
		return err
	}
	return leave(c, refusalFile, text)
}
