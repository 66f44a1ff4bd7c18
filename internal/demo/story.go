package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// What the user writes to the workers. The words in single quotes must appear in the worker's result.
const (
	messageText = "From today on the shop is called 'Nimbus'"
	reopenText  = "The page 'returns' is still in English"
)

// prepare starts the server, applies the plan and fills the queue.
func (d *demonstration) prepare(ctx context.Context) error {
	d.print("%d workers translate a shop, all from one queue. The server's runner launches each of them: a script "+
		"that runs `maestro` as an\nagent would, confined as far as this system can.\n\n", workers)
	if err := d.configure(); err != nil {
		return err
	}
	if err := d.serve(); err != nil {
		return err
	}
	plan := filepath.Join(d.Dir, "plan.yaml")
	if err := os.WriteFile(plan, d.Plan, 0o600); err != nil {
		return err
	}
	var project struct {
		ID string `json:"id"`
	}
	if _, err := d.you.ask(ctx, &project, "project", "create", "Web shop", "--working-dir",
		d.target); err != nil {
		return err
	}
	d.project = project.ID
	var applied struct {
		Tasks []struct {
			LocalID string `json:"localId"`
			ID      string `json:"id"`
		} `json:"tasks"`
	}
	if _, err := d.you.ask(ctx, &applied, "plan", "apply", plan, "--project", d.project); err != nil {
		return err
	}
	d.tasks = map[string]string{}
	for _, t := range applied.Tasks {
		d.tasks[t.LocalID] = t.ID
		if t.LocalID != rootTask && t.LocalID != goalTask {
			d.queued = append(d.queued, t.ID)
		}
	}
	for _, args := range [][]string{
		{"queue", "create", queueName, "--trust-reports", "--project", d.project},
		append([]string{"queue", "push", "--queue", queueName, "--project", d.project}, d.queued...),
	} {
		if _, err := d.you.ask(ctx, nil, args...); err != nil {
			return err
		}
	}
	d.tell("you", "apply a plan of %d tasks, and put %d of them into a queue", len(applied.Tasks), len(d.queued))
	return nil
}

// assemble starts the workers and waits until each holds an item.
func (d *demonstration) assemble(ctx context.Context) error {
	for i := range workers {
		name := fmt.Sprintf("worker-%d", i+1)
		if err := d.spawn(ctx, name, "--strategy", "queue", "--queue", queueName); err != nil {
			return err
		}
	}
	d.crew.Go(func() { d.watch(ctx) }) // not before: it follows sessions that it does not know
	for _, a := range d.cast {
		var err error
		if a.holding, err = a.await(ctx, signHolds); err != nil {
			return err
		}
	}
	d.tell(fmt.Sprint(workers, " workers"), "start, and each takes a task")
	return nil
}

// configure makes the directories, and names the command that the runner launches as agent.
func (d *demonstration) configure() error {
	for _, dir := range []string{d.home, d.target, filepath.Join(d.target, cuesDir), d.workspaces} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return err
		}
	}
	config, err := json.Marshal(map[string]any{"agents": map[string]any{
		agentName: map[string]any{"command": []string{d.Binary, "demo", "--play"}, "output": "jsonl"},
	}})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(d.home, "agents.json"), append(config, '\n'), 0o600)
}

// spawn creates a session, whose agent the runner launches.
func (d *demonstration) spawn(ctx context.Context, name string, args ...string) error {
	var session struct {
		ID string `json:"sessionId"`
	}
	args = append([]string{
		"session", "spawn", "--project", d.project, "--name", name, "--agent", agentName,
	}, args...)
	if _, err := d.you.ask(ctx, &session, args...); err != nil {
		return err
	}
	d.cast[name] = d.follow(ctx, name, session.ID)
	return nil
}

// killServer kills the server while every worker holds an item and one reports, and starts it again.
func (d *demonstration) killServer(ctx context.Context) error {
	if err := d.killServerProcess(); err != nil {
		return err
	}
	a := d.cast[offline]
	if err := d.cue(a); err != nil {
		return err
	}
	if _, err := a.await(ctx, signKept); err != nil {
		return err
	}
	d.tell("server", "is killed with -9; %s reports all the same, and its report is kept", offline)
	if err := d.serve(); err != nil {
		return err
	}
	d.tell("server", "is back, with all that it acknowledged")
	return d.cue(a)
}

// killWorkers kills three workers in the middle of an item, the last of them by killing what supervises it.
func (d *demonstration) killWorkers(context.Context) error {
	for i, name := range doomed() {
		a, kill, how := d.cast[name], d.kill, ""
		if i == len(doomed())-1 {
			kill, how = d.killSupervisor, "'s supervisor"
		}
		if err := kill(a); err != nil {
			return err
		}
		d.tell(name+how, "is killed with -9 in the middle of “%s”", a.holding.Title)
	}
	return nil
}

// answer lets a worker ask, finds the question in the inbox and answers it.
func (d *demonstration) answer(ctx context.Context) error {
	a := d.cast[asker]
	if err := d.cue(a); err != nil {
		return err
	}
	if _, err := a.await(ctx, signAsks); err != nil {
		return err
	}
	var inbox []struct {
		InputID string   `json:"inputId"`
		Message string   `json:"message"`
		Options []string `json:"options"`
	}
	if _, err := d.you.ask(ctx, &inbox, "inbox", "--kind", "question", "--project", d.project); err != nil {
		return err
	}
	if len(inbox) != 1 || len(inbox[0].Options) < 2 {
		return fmt.Errorf("the inbox does not show one question with options: %v", inbox)
	}
	question := inbox[0]
	d.tell(asker, "asks “%s”", question.Message)
	reply := question.Options[1]
	if _, err := d.you.ask(ctx, nil, "input", "answer", question.InputID, reply); err != nil {
		return err
	}
	d.tell("you", "answer “%s”", reply)
	return nil
}

// message writes to a working worker.
func (d *demonstration) message(ctx context.Context) error {
	a := d.cast[reader]
	if _, err := d.you.ask(ctx, nil, "session", "message", a.session, messageText); err != nil {
		return err
	}
	d.tell("you", "write to %s “%s”", reader, messageText)
	return d.cue(a)
}

// reopen reopens work that a worker reported as done, with a reason.
func (d *demonstration) reopen(ctx context.Context) error {
	a := d.cast[reviser]
	if err := d.cue(a); err != nil {
		return err
	}
	if _, err := a.await(ctx, signFinished); err != nil {
		return err
	}
	if _, err := d.you.ask(ctx, nil, "task", "reopen", a.holding.TaskID, reopenText); err != nil {
		return err
	}
	d.tell("you", "reopen what %s says is done: “%s”", reviser, reopenText)
	return d.cue(a)
}

// release lets all others continue, starts the orchestrator, and waits until all are finished.
func (d *demonstration) release(ctx context.Context) error {
	busy := map[string]bool{asker: true, reader: true, reviser: true, offline: true}
	for _, name := range doomed() {
		busy[name] = true
	}
	for name, a := range d.cast {
		if busy[name] {
			continue
		}
		if err := d.cue(a); err != nil {
			return err
		}
	}
	if err := d.spawn(ctx, lead, "--role", "orchestrator", "--task-ids", d.tasks[goalTask]); err != nil {
		return err
	}
	d.tell(fmt.Sprint(len(d.cast)-1-len(doomed()), " workers"), "go on, and take over what the dead held")
	select {
	case <-d.ended:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}

// confirm does what a person does in the end: it confirms the workers' reports, and handles the dead workers.
func (d *demonstration) confirm(ctx context.Context) error {
	decisions := [][]string{
		{"task", "complete", "--said-done", "--project", d.project},
		{"task", "complete", d.tasks[rootTask]},
	}
	for _, name := range doomed() {
		end := []string{"session", "kill", d.cast[name].session, "--reason", "Its process was killed"}
		decisions = append(decisions, end)
	}
	for _, args := range decisions {
		if _, err := d.you.ask(ctx, nil, args...); err != nil {
			return err
		}
	}
	var inbox []json.RawMessage
	if _, err := d.you.ask(ctx, &inbox, "inbox", "--project", d.project); err != nil {
		return err
	}
	if len(inbox) > 0 {
		return fmt.Errorf("something still needs you: %s", inbox)
	}
	d.tell("you", "confirm what is done; your inbox is empty")
	return nil
}

// judge exports the log, judges it, and prints the facts.
func (d *demonstration) judge(ctx context.Context) error {
	if _, err := d.you.text(ctx, "audit", "export", d.log); err != nil {
		return err
	}
	var err error
	if d.evidence.Log, err = os.ReadFile(d.log); err != nil {
		return err
	}
	if _, err := d.you.ask(ctx, &d.evidence.Refusals, "audit", "denials"); err != nil {
		return err
	}
	d.print("\nIs it true? A judge reads the exported log, and says:\n\n")
	var failed []error
	facts := append(Judge(d.evidence), d.audit(ctx, "audit", "audit", "verify"))
	for _, fact := range append(facts, d.audit(ctx, "oracle", "audit", "verify", "--oracle", d.log)) {
		if fact.Err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", fact.Name, fact.Err))
			d.print("  ✗ %-13s %s\n", fact.Name, fact.Err)
			continue
		}
		d.print("  ✓ %-13s %s\n", fact.Name, fact.Text)
	}
	d.pointOut()
	return errors.Join(failed...)
}

// pointOut names commands that show a person what happened.
func (d *demonstration) pointOut() {
	dead, told := d.cast[doomed()[0]], d.cast[reader]
	d.print(`
Look for yourself:

  export MAESTRO_HOME=%s
  maestro serve --listen 127.0.0.1:0 &
  maestro task tree --project %s
  maestro why %-38s # who finished what %s held
  maestro audit replay --session %-19s # what %s did, and what it was told
  maestro audit verify --oracle %s

Then stop the server, and remove everything: rm -r %s
`, d.home, d.project, dead.holding.TaskID, dead.name, told.session, told.name, d.log, d.Dir)
}

// audit is a fact that an audit command shows.
func (d *demonstration) audit(ctx context.Context, name string, args ...string) Fact {
	said, err := d.you.text(ctx, args...)
	line, _, _ := strings.Cut(said, "\n")
	return Fact{Name: name, Text: line, Err: err}
}
