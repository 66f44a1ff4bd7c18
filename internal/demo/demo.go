package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Options say how to run the demonstration.
type Options struct {
	// Binary is the maestro to run.
	Binary string
	// Plan is the content of the plan file that is imported.
	Plan []byte
	// Out gets the story.
	Out io.Writer
}

const (
	// lease is how long a session that sends heartbeats may be silent. It is short, so that a worker that is killed is
	// soon missed, and longer than the time that one is cut off.
	lease = "8s"
	// cutFor is how long a worker is cut off.
	cutFor = 5 * time.Second
)

// Run plays the main job in a temporary home, which it leaves for a look around, and names. It fails if anything that
// Maestro promises did not hold.
func Run(ctx context.Context, o Options) (err error) {
	dir, err := os.MkdirTemp("", "maestro-demo-")
	if err != nil {
		return err
	}
	d := &demonstration{
		Options: o,
		dir:     dir,
		home:    filepath.Join(dir, "home"),
		out:     &lines{w: o.Out},
	}
	d.user = &cli{
		binary: o.Binary,
		name:   "you",
		out:    d.out,
		env: []string{
			"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "MAESTRO_HOME=" + d.home,
		},
	}
	defer func() { err = errors.Join(err, d.stop()) }()
	for _, step := range []func(context.Context) error{d.begin, d.fill, d.work, d.judge} {
		if err := step(ctx); err != nil {
			return fmt.Errorf("%w (its home is %s)", err, d.home)
		}
	}
	return nil
}

type demonstration struct {
	Options
	dir, home string
	out       *lines
	user      *cli
	server    *exec.Cmd
	log       bytes.Buffer
	address   string
	project   string
	root      string
	hung      struct {
		PID     int    `json:"pid"`
		TaskID  string `json:"taskId"`
		Session string `json:"session"`
	}
}

func (d *demonstration) heading(text string) {
	d.out.printf("\n── %s %s\n\n", text, strings.Repeat("─", max(0, 96-len(text))))
}

// serve starts the server as a process and waits until it answers.
func (d *demonstration) serve(ctx context.Context) error {
	listen := "127.0.0.1:0"
	if d.address != "" {
		listen = d.address
	}
	cmd := exec.Command(d.Binary, "serve", "--listen", listen, "--lease", lease)
	cmd.Env = d.user.env
	cmd.Stderr = &d.log
	if err := cmd.Start(); err != nil {
		return err
	}
	d.server = cmd
	for {
		ready, err := d.user.call(ctx, "audit", "head")
		if err != nil {
			return err
		}
		if ready.code == 0 {
			return d.readAddress()
		}
		if err := pause(ctx, 20*time.Millisecond); err != nil {
			return fmt.Errorf("the server does not answer: %w\n%s", err, d.log.String())
		}
	}
}

// readAddress keeps the server's address, so that it comes back to the same one.
func (d *demonstration) readAddress() error {
	text, err := os.ReadFile(filepath.Join(d.home, "server.json"))
	if err != nil {
		return err
	}
	var server struct {
		Address string `json:"address"`
	}
	if err := json.Unmarshal(text, &server); err != nil {
		return err
	}
	d.address = strings.TrimPrefix(server.Address, "http://")
	return nil
}

func (d *demonstration) stop() error {
	if d.server == nil {
		return nil
	}
	if err := d.server.Process.Signal(os.Interrupt); err != nil {
		return err
	}
	return d.server.Wait()
}

// begin starts the server and imports the plan.
func (d *demonstration) begin(ctx context.Context) error {
	d.heading("A server in an empty home, and a plan")
	if err := d.serve(ctx); err != nil {
		return err
	}
	plan := filepath.Join(d.dir, "plan.yaml")
	if err := os.WriteFile(plan, d.Plan, 0o600); err != nil {
		return err
	}
	if err := d.user.say(ctx, "project", "create", "Web shop"); err != nil {
		return err
	}
	var projects []struct {
		ID string `json:"id"`
	}
	if err := d.user.ask(ctx, &projects, "project", "list"); err != nil {
		return err
	}
	d.project = projects[0].ID
	args := []string{"task", "import", plan, "--project", d.project}
	done, err := d.user.repeat(ctx, args)
	if err != nil {
		return err
	}
	if done.code != 0 {
		return fmt.Errorf("import the plan: exit %d: %s", done.code, done.stderr)
	}
	d.user.show([]string{"task", "import", "plan.yaml"}, done)
	return nil
}

// fill makes the queue, with every task of the plan but its root.
func (d *demonstration) fill(ctx context.Context) error {
	d.heading("A queue of twelve items; an item waits for what its task depends on")
	var tasks []task
	if err := d.user.ask(ctx, &tasks, "task", "list", "--project", d.project); err != nil {
		return err
	}
	if err := d.user.say(ctx, "queue", "create", queueName, "--trust-reports"); err != nil {
		return err
	}
	for _, leaves := range []bool{true, false} {
		for _, t := range tasks {
			if t.ParentID == nil || leaves != (len(below(t, tasks)) == 0) {
				continue
			}
			if !leaves { // a story is looked at as a whole when its parts are done
				if err := d.user.say(ctx, "task", "update", t.ID, "--depends-on", strings.Join(below(t, tasks),
					",")); err != nil {
					return err
				}
			}
			if done, err := d.user.write(ctx, "queue", "push", t.ID, "--queue", queueName); err != nil ||
				done.code != 0 {
				return errors.Join(err, fmt.Errorf("push %s: exit %d: %s", t.ID, done.code, done.stderr))
			}
		}
	}
	d.root = tasks[0].ID
	return d.show(ctx, "queue", "list", "--queue", queueName)
}

// below gives the ids of the tasks directly below one.
func below(t task, tasks []task) []string {
	var ids []string
	for _, other := range tasks {
		if other.ParentID != nil && *other.ParentID == t.ID {
			ids = append(ids, other.ID)
		}
	}
	return ids
}

// work spawns the orchestrator, lets it run its workers, and meanwhile lets go wrong what can.
func (d *demonstration) work(ctx context.Context) error {
	d.heading("An orchestrator and four workers, each a process that uses the command line")
	var session spawned
	args := []string{
		"session", "spawn", "--project", d.project, "--role", "orchestrator", "--name", "orchestrator",
		"--task-ids", d.root,
	}
	if err := d.user.ask(ctx, &session, append(args, "--key", "you-spawn")...); err != nil {
		return err
	}
	d.out.printf("%-12s $ maestro %s\n%-12s   %s\n", "you", quoted(args), "", session.SessionID)
	way, err := lay(ctx, d.address)
	if err != nil {
		return err
	}
	defer way.close()
	agents := &cli{binary: d.Binary, out: d.out, env: []string{"HOME=" + d.dir, envDir + "=" + d.dir, envVia + "=" +
		way.address()}}
	orchestrator, err := start(ctx, agents, "orchestrator", session.Env)
	if err != nil {
		return err
	}
	finished := make(chan error, 1)
	go func() { finished <- orchestrator.Wait() }()
	for _, mishap := range []func(context.Context, *link) error{d.answer, d.cutOff, d.killWorker, d.killServer} {
		if err := mishap(ctx, way); err != nil {
			return err
		}
	}
	if err := <-finished; err != nil {
		return fmt.Errorf("the orchestrator ended badly: %w", err)
	}
	return nil
}

func (d *demonstration) note(sign, format string, args ...any) {
	d.out.printf("\n%-12s %s %s\n\n", "", sign, fmt.Sprintf(format, args...))
}

// answer looks into the inbox until a worker asks, and answers.
func (d *demonstration) answer(ctx context.Context, _ *link) error {
	for {
		var inbox []struct {
			InputID string   `json:"inputId"`
			Message string   `json:"message"`
			Options []string `json:"options"`
		}
		if err := d.user.ask(ctx, &inbox, "inbox", "--kind", "question"); err != nil {
			return err
		}
		if len(inbox) > 0 {
			if err := d.show(ctx, "inbox", "--kind", "question"); err != nil {
				return err
			}
			return d.user.say(ctx, "input", "answer", inbox[0].InputID, inbox[0].Options[0])
		}
		if err := pause(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
}

// cutOff cuts worker-4 off from the server for five seconds. What it reports meanwhile is kept on its side.
func (d *demonstration) cutOff(ctx context.Context, way *link) error {
	if _, err := d.left(ctx, cutFile); err != nil {
		return err
	}
	way.set(true)
	d.note("✗", "worker-4 is cut off from the server")
	go func() {
		if pause(ctx, cutFor) == nil {
			way.set(false)
			d.note("✓", "worker-4 is connected again")
		}
	}()
	return nil
}

// killWorker kills worker-3 with -9 while it holds an item.
func (d *demonstration) killWorker(ctx context.Context, _ *link) error {
	text, err := d.left(ctx, hungFile)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, &d.hung); err != nil {
		return err
	}
	worker, err := os.FindProcess(d.hung.PID)
	if err == nil {
		err = worker.Kill()
	}
	d.note("✗", "kill -9 on worker-3, which holds %s", d.hung.TaskID)
	return err
}

// left waits for a file that an agent leaves.
func (d *demonstration) left(ctx context.Context, name string) ([]byte, error) {
	for {
		text, err := os.ReadFile(filepath.Join(d.dir, name))
		if err == nil || !errors.Is(err, os.ErrNotExist) {
			return text, err
		}
		if err := pause(ctx, 20*time.Millisecond); err != nil {
			return nil, err
		}
	}
}

// killServer kills the server with -9 while the agents work, and starts it again.
func (d *demonstration) killServer(ctx context.Context, _ *link) error {
	if err := d.server.Process.Kill(); err != nil {
		return err
	}
	_ = d.server.Wait()
	d.note("✗", "kill -9 on the server")
	if err := pause(ctx, 600*time.Millisecond); err != nil {
		return err
	}
	if err := d.serve(ctx); err != nil {
		return err
	}
	d.note("✓", "the server is back")
	return nil
}

// judge shows what came of it and has the log audited.
func (d *demonstration) judge(ctx context.Context) error {
	var sessions []struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	}
	if err := d.user.ask(ctx, &sessions, "session", "list", "--project", d.project); err != nil {
		return err
	}
	var refused struct {
		Session string `json:"session"`
		TaskID  string `json:"taskId"`
	}
	text, err := d.left(ctx, refusalFile)
	if err == nil {
		err = json.Unmarshal(text, &refused)
	}
	if err != nil {
		return fmt.Errorf("no worker was refused: %w", err)
	}
	for _, part := range []struct {
		heading string
		args    []string
		code    int
	}{
		{"The queue: each item was finished by one worker", []string{"queue", "list", "--queue", queueName}, 0},
		{"What the killed worker held, another finished: why?", []string{"why", d.hung.TaskID}, 0},
		{"Cut off and heard later: what worker-4 said, in order", []string{
			"audit", "replay", "--session",
			sessions[len(sessions)-1].ID,
		}, 0},
		{
			"Refused: a worker does not confirm its own work",
			[]string{"audit", "denials", "--actor", refused.Session},
			0,
		},
		{"… and why", []string{"audit", "can", refused.Session, "task:complete", refused.TaskID}, exitNotAllowed},
		{"The board: what is decided, and what is said", []string{"task", "tree", "--project", d.project}, 0},
		{"What needs you", []string{"inbox"}, 0},
		{"Audited: chain, witnesses, every decision made again, every view rebuilt", []string{"audit", "verify"}, 0},
		{"Audited again, by the documents alone", []string{"audit", "verify", "--oracle"}, 0},
	} {
		d.heading(part.heading)
		if err := d.showExit(ctx, part.code, part.args...); err != nil {
			return err
		}
	}
	if err := d.finished(ctx); err != nil {
		return err
	}
	d.heading("Where to look next")
	d.out.printf(`The home is still there. Start its server again, and look around:

  export MAESTRO_HOME=%s
  maestro serve &
  maestro status --project %s
  maestro since 1h                     # what happened, what needs you first
  maestro audit replay --task TASK     # everything that was said and decided about one task
  maestro audit export log.ndjson && maestro audit verify log.ndjson

`, d.home, d.project)
	return nil
}

// finished fails if the queue is not what was promised: everything done but what failed and what waits for it, and what
// the killed worker held done by another.
func (d *demonstration) finished(ctx context.Context) error {
	var items []struct {
		item
		SessionID string `json:"sessionId"`
	}
	if err := d.user.ask(ctx, &items, "queue", "list", "--queue", queueName); err != nil {
		return err
	}
	count := map[string]int{}
	for _, i := range items {
		count[i.Status]++
		if i.TaskID == d.hung.TaskID && (i.Status != "completed" || i.SessionID == d.hung.Session) {
			return fmt.Errorf("what the killed worker held is %s by %s", i.Status, i.SessionID)
		}
	}
	if len(items) != 12 || count["completed"] != 9 || count["failed"] != 1 || count["queued"] != 2 {
		return fmt.Errorf("the queue is not done: %v", count)
	}
	return nil
}

// show runs a read and prints what a person would see.
func (d *demonstration) show(ctx context.Context, args ...string) error {
	return d.showExit(ctx, 0, args...)
}

// showExit is show for a command that is to end with a certain exit code.
func (d *demonstration) showExit(ctx context.Context, code int, args ...string) error {
	done, err := d.user.repeat(ctx, args)
	if err != nil {
		return err
	}
	d.out.printf("$ maestro %s\n%s", quoted(args), done.stdout)
	if done.code != code {
		return fmt.Errorf("maestro %s: exit %d, expected %d: %s", strings.Join(args, " "), done.code, code, done.stderr)
	}
	return nil
}
