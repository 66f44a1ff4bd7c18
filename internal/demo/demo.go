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

// killAt is the sequence at which the server is killed: in the middle of the work.
const killAt = 45

// Run plays the main job in a temporary home, which it leaves for a look around, and names. It fails if anything that
// Maestro promises did not hold.
func Run(ctx context.Context, o Options) (err error) {
	dir, err := os.MkdirTemp("", "maestro-demo-")
	if err != nil {
		return err
	}
	d := &demonstration{Options: o, dir: dir, home: filepath.Join(dir, "home"), out: &lines{w: o.Out}}
	d.user = &cli{binary: o.Binary, name: "you", out: d.out, env: []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "MAESTRO_HOME=" + d.home,
	}}
	defer func() { err = errors.Join(err, d.stop()) }()
	for _, step := range []func(context.Context) error{d.begin, d.work, d.judge} {
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
	cmd := exec.Command(d.Binary, "serve", "--listen", listen)
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

// work spawns the orchestrator, lets it run its workers, and kills the server in the middle.
func (d *demonstration) work(ctx context.Context) error {
	d.heading("An orchestrator and three workers, each a process that uses the command line")
	var tasks []task
	if err := d.user.ask(ctx, &tasks, "task", "list", "--project", d.project); err != nil {
		return err
	}
	var session spawned
	args := []string{"session", "spawn", "--project", d.project, "--role", "orchestrator", "--name", "orchestrator", "--task-ids", tasks[0].ID}
	if err := d.user.ask(ctx, &session, append(args, "--key", "you-spawn")...); err != nil {
		return err
	}
	d.out.printf("%-12s $ maestro %s\n%-12s   %s\n", "you", quoted(args), "", session.SessionID)
	agents := &cli{binary: d.Binary, out: d.out, env: []string{"HOME=" + d.dir, envDir + "=" + d.dir}}
	orchestrator, err := start(ctx, agents, "orchestrator", session.Env, "")
	if err != nil {
		return err
	}
	finished := make(chan error, 1)
	go func() { finished <- orchestrator.Wait() }()
	if err := d.killInTheMiddle(ctx, finished); err != nil {
		return err
	}
	if err := <-finished; err != nil {
		return fmt.Errorf("the orchestrator ended badly: %w", err)
	}
	return nil
}

// killInTheMiddle kills the server with -9 while the agents work, and starts it again.
func (d *demonstration) killInTheMiddle(ctx context.Context, finished chan error) error {
	for {
		var head struct {
			Sequence uint64 `json:"sequence"`
		}
		if err := d.user.ask(ctx, &head, "audit", "head"); err != nil {
			return err
		}
		if head.Sequence >= killAt {
			d.out.printf("\n%-12s ✗ kill -9 on the server, at event %d\n\n", "", head.Sequence)
			break
		}
		select {
		case err := <-finished:
			return fmt.Errorf("the work ended before the server could be killed: %w", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
	if err := d.server.Process.Kill(); err != nil {
		return err
	}
	_ = d.server.Wait()
	if err := pause(ctx, 600*time.Millisecond); err != nil {
		return err
	}
	if err := d.serve(ctx); err != nil {
		return err
	}
	d.out.printf("\n%-12s ✓ the server is back\n\n", "")
	return nil
}

// judge shows what came of it and has the log audited.
func (d *demonstration) judge(ctx context.Context) error {
	d.heading("The board: what is decided, and what is said")
	if err := d.show(ctx, "task", "tree", "--project", d.project); err != nil {
		return err
	}
	var sessions []struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	}
	if err := d.user.ask(ctx, &sessions, "session", "list", "--project", d.project); err != nil {
		return err
	}
	for _, s := range sessions {
		d.heading("Replayed from the log: " + s.Name)
		if err := d.show(ctx, "audit", "replay", "--session", s.ID); err != nil {
			return err
		}
	}
	d.heading("Refused: a worker does not confirm its own work")
	refusal, err := os.ReadFile(filepath.Join(d.dir, refusalFile))
	if err != nil {
		return fmt.Errorf("no worker was refused: %w", err)
	}
	d.out.printf("%s", refusal)
	d.heading("Audited: chain, witnesses, every decision made again, every view rebuilt")
	if err := d.show(ctx, "audit", "verify"); err != nil {
		return err
	}
	d.heading("Where to look next")
	d.out.printf(`The home is still there. Start its server again, and look around:

  export MAESTRO_HOME=%s
  maestro serve &
  maestro status --project %s
  maestro audit replay --task TASK     # everything that was said and decided about one task
  maestro audit export log.ndjson && maestro audit verify log.ndjson

`, d.home, d.project)
	return nil
}

// show runs a read and prints what a person would see.
func (d *demonstration) show(ctx context.Context, args ...string) error {
	done, err := d.user.repeat(ctx, args)
	if err != nil {
		return err
	}
	d.out.printf("$ maestro %s\n%s", quoted(args), done.stdout)
	if done.code != 0 {
		return fmt.Errorf("maestro %s: exit %d: %s", strings.Join(args, " "), done.code, done.stderr)
	}
	return nil
}
