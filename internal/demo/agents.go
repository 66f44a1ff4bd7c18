package demo

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
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

// spawned is what `session spawn --json` answers.
type spawned struct {
	SessionID string            `json:"sessionId"`
	Env       map[string]string `json:"env"`
}

// Variables by which the demonstration tells its agents apart.
const (
	envDir   = "MAESTRO_DEMO_DIR"
	envTasks = "MAESTRO_DEMO_TASKS"
)

// refusalFile holds the refusal that the demonstration shows at its end.
const refusalFile = "refusal.txt"

// think is how long an agent ponders between two commands.
const think = 120 * time.Millisecond

// Agent plays one agent in a process of its own: "orchestrator" or "worker-1" to "worker-3". It knows what a real agent
// would know: its environment, and what the command line tells it.
func Agent(ctx context.Context, binary, name string, env []string, out io.Writer) error {
	c := &cli{binary: binary, env: env, name: name, out: &lines{w: out}}
	if name == "orchestrator" {
		return orchestrate(ctx, c)
	}
	return work(ctx, c)
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

// orchestrate spawns a worker for each story, confirms what they say is done, and closes the stories.
func orchestrate(ctx context.Context, c *cli) error {
	if err := c.say(ctx, "session", "register"); err != nil {
		return err
	}
	var tasks []task
	if err := c.ask(ctx, &tasks, "task", "list"); err != nil {
		return err
	}
	workers, err := spawnWorkers(ctx, c, stories(tasks))
	if err != nil {
		return err
	}
	finished := make(chan error, len(workers))
	for _, worker := range workers {
		go func() { finished <- worker.Wait() }()
	}
	for running := len(workers); running > 0; {
		select {
		case err := <-finished:
			if err != nil {
				return fmt.Errorf("a worker ended badly: %w", err)
			}
			running--
		case <-time.After(2 * think):
		}
		if err := confirm(ctx, c); err != nil {
			return err
		}
	}
	return c.say(ctx, "report", "complete", "Two stories are done; the third waits for the SMS provider's key")
}

// story is a task with the tasks below it.
type story struct {
	task
	below []task
}

// stories gives the tasks that have children which have none.
func stories(tasks []task) []story {
	children := map[string][]task{}
	for _, t := range tasks {
		if t.ParentID != nil {
			children[*t.ParentID] = append(children[*t.ParentID], t)
		}
	}
	var all []story
	for _, t := range tasks {
		below := children[t.ID]
		leaves := len(below) > 0
		for _, child := range below {
			leaves = leaves && len(children[child.ID]) == 0
		}
		if leaves {
			all = append(all, story{t, below})
		}
	}
	return all
}

func spawnWorkers(ctx context.Context, c *cli, all []story) ([]*exec.Cmd, error) {
	var workers []*exec.Cmd
	for i, s := range all {
		if i == 3 {
			break
		}
		ids := make([]string, len(s.below))
		for j, t := range s.below {
			ids[j] = t.ID
		}
		name := fmt.Sprintf("worker-%d", i+1)
		args := []string{"session", "spawn", "--role", "worker", "--name", name, "--task-ids", strings.Join(ids, ",")}
		var session spawned
		if err := c.ask(ctx, &session, append(args, "--key", "orchestrator-spawns-"+name)...); err != nil {
			return nil, err
		}
		c.out.printf("%-12s $ maestro %s\n%-12s   %s, for the story %q\n", c.name, quoted(args), "", session.SessionID, s.Title)
		worker, err := start(ctx, c, name, session.Env, strings.Join(ids, ","))
		if err != nil {
			return nil, err
		}
		workers = append(workers, worker)
	}
	return workers, nil
}

// start runs an agent as a process of its own, with the environment that its session was given.
func start(ctx context.Context, c *cli, name string, env map[string]string, tasks string) (*exec.Cmd, error) {
	cmd := exec.CommandContext(ctx, c.binary, "demo", "--agent", name)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + lookup(c.env, "HOME"), envDir + "=" + lookup(c.env, envDir), envTasks + "=" + tasks}
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
	for _, t := range tasks {
		switch {
		case t.SessionStatus == "completed" && t.Status == "in_progress":
			if err := c.say(ctx, "task", "complete", t.ID); err != nil {
				return err
			}
		case t.SessionStatus == "blocked" && t.Status == "in_progress":
			if err := c.say(ctx, "task", "block", t.ID, "--reason", "the SMS provider's key is missing"); err != nil {
				return err
			}
		}
	}
	for _, s := range stories(tasks) {
		done := s.Status != "completed"
		for _, t := range s.below {
			done = done && t.Status == "completed"
		}
		if done {
			if err := c.say(ctx, "task", "complete", s.ID); err != nil {
				return err
			}
		}
	}
	return nil
}

// work goes through a worker's tasks. worker-2 tries what it may not; worker-3 meets something that it cannot solve.
func work(ctx context.Context, c *cli) error {
	if err := c.say(ctx, "session", "register"); err != nil {
		return err
	}
	for i, id := range strings.Split(lookup(c.env, envTasks), ",") {
		if err := workOn(ctx, c, i, id); err != nil {
			return err
		}
	}
	return c.say(ctx, "report", "complete", "Nothing is left for me to do")
}

func workOn(ctx context.Context, c *cli, i int, id string) error {
	var t task
	if err := c.ask(ctx, &t, "task", "get", id); err != nil {
		return err
	}
	steps := [][]string{{"report", "progress", "Reading what is there for: " + t.Title, "--task", id}}
	if c.name == "worker-3" && i == 1 {
		steps = append(steps, []string{"report", "blocked", "I need the SMS provider's API key", "--task", id})
	} else {
		for _, criterion := range t.Criteria {
			steps = append(steps, []string{"report", "progress", "Done: " + criterion, "--task", id})
		}
		steps = append(steps,
			[]string{"track-file", fmt.Sprintf("src/auth/step_%s_%d.go", c.name, i+1), "--task", id},
			[]string{"report", "complete", "All criteria met, tests pass", "--task", id})
	}
	for _, step := range steps {
		if err := c.say(ctx, step...); err != nil {
			return err
		}
		if err := pause(ctx, think); err != nil {
			return err
		}
	}
	if c.name == "worker-2" && i == 0 {
		return overreach(ctx, c, id)
	}
	return nil
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
	text := "$ maestro " + quoted(args) + "      (as " + c.name + ")\n" + string(done.stdout) + done.stderr + "\n"
	return os.WriteFile(filepath.Join(lookup(c.env, envDir), refusalFile), []byte(text), 0o600)
}
