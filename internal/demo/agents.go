package demo

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
)

// The cast. The other workers only do their work.
const (
	asker     = "worker-1" // asks, and continues with the answer
	reader    = "worker-2" // receives a message
	reviser   = "worker-3" // has its work reopened
	offline   = "worker-4" // reports while the server is dead
	oversteps = "worker-5" // tries to confirm its own work
	lead      = "lead"     // an orchestrator
	writer    = "writer"
	designer  = "designer"
)

// doomed are the workers that are killed while they hold an item.
func doomed() []string { return []string{"worker-10", "worker-11", "worker-12"} }

// signKind is the kind of an agent's sign to the demonstration.
type signKind string

const (
	signAcknowledged signKind = "acknowledged" // the acknowledged events
	signHolds        signKind = "holds"        // it has started an item, and waits for its cue
	signTakesOver    signKind = "takes over"   // it has started an item that another held before
	signKept         signKind = "kept"         // its report is kept in its outbox
	signAsks         signKind = "asks"         // its question is open
	signFinished     signKind = "finished"     // it reports its item as done
	signTells        signKind = "tells"        // text for the story
)

// sign is a line that an agent writes for the demonstration.
type sign struct {
	Agent  string   `json:"agent"`
	Kind   signKind `json:"kind"`
	PID    int      `json:"pid,omitempty"`
	TaskID string   `json:"taskId,omitempty"`
	Title  string   `json:"title,omitempty"`
	Text   string   `json:"text,omitempty"`
	Events []string `json:"events,omitempty"`
}

// agent plays one agent. It knows what a real one would know: its environment, and the output of the command line.
type agent struct {
	caller
	name string
	// cues has a line for each time that the agent may continue.
	cues *bufio.Reader
	out  io.Writer
	// mail is what the command line printed for the agent in addition to its answers.
	mail []string
}

// task is the part of a task that an agent reads.
type task struct {
	ID    string `json:"id"`
	Title string `json:"title"`
}

// Agent plays one agent in a process of its own, below `maestro session exec`: a worker of the queue, the orchestrator
// or one of the orchestrator's workers. It reads cues from in, and writes signs to out.
func Agent(ctx context.Context, binary, name string, in io.Reader, out io.Writer) error {
	a := &agent{
		caller: caller{binary: binary},
		name:   name,
		cues:   bufio.NewReader(in),
		out:    out,
	}
	var broken error
	a.acknowledged = func(ids []string) {
		broken = errors.Join(broken, a.give(sign{Kind: signAcknowledged, Events: ids}))
	}
	play := a.pull
	switch name {
	case lead:
		play = a.orchestrate
	case writer, designer:
		play = a.doTask
	}
	return errors.Join(play(ctx), broken)
}

// give sends the demonstration a sign, in one write.
func (a *agent) give(s sign) error {
	s.Agent = a.name
	line, err := json.Marshal(s)
	if err != nil {
		return err
	}
	_, err = a.out.Write(append(line, '\n'))
	return err
}

// cue waits until the agent may continue.
func (a *agent) cue() error {
	if _, err := a.cues.ReadString('\n'); err != nil {
		return fmt.Errorf("%s gets no cue: %w", a.name, err)
	}
	return nil
}

// do runs a command that must succeed, and stores the mail that comes with it.
func (a *agent) do(ctx context.Context, into any, args ...string) error {
	stderr, err := a.ask(ctx, into, args...)
	for line := range strings.Lines(stderr) {
		if mail, ok := strings.CutPrefix(strings.TrimSpace(line), "maestro: message from "); ok {
			_, text, _ := strings.Cut(mail, ": ")
			a.mail = append(a.mail, text)
		}
	}
	return err
}

// pull takes items from the queue until it is finished. It waits for its cue once it holds the first one.
func (a *agent) pull(ctx context.Context) error {
	if err := a.do(ctx, nil, "worker", "init"); err != nil {
		return err
	}
	for first := true; ; first = false {
		var start struct {
			Item *struct {
				TaskID   string `json:"taskId"`
				Title    string `json:"title"`
				Attempts int    `json:"attempts"`
			} `json:"item"`
		}
		if err := a.do(ctx, &start, "queue", "start", "--wait"); err != nil {
			return err
		}
		if start.Item == nil {
			return a.do(ctx, nil, "session", "complete")
		}
		item := task{ID: start.Item.TaskID, Title: start.Item.Title}
		if err := a.do(ctx, nil, "report", "progress", "Reading the pages", "--task", item.ID); err != nil {
			return err
		}
		kind := signHolds
		if start.Item.Attempts > 1 {
			kind = signTakesOver
		}
		if err := a.give(sign{
			Kind:   kind,
			PID:    os.Getpid(),
			TaskID: item.ID,
			Title:  item.Title,
		}); err != nil {
			return err
		}
		work := a.work
		if first {
			if err := a.cue(); err != nil {
				return err
			}
			work = a.partOf()
		}
		if err := work(ctx, item); err != nil {
			return err
		}
	}
}

// partOf returns what the agent does with its first item.
func (a *agent) partOf() func(context.Context, task) error {
	switch a.name {
	case asker:
		return a.askFirst
	case reader:
		return a.readMail
	case reviser:
		return a.revise
	case offline:
		return a.reportOffline
	case oversteps:
		return a.overstep
	}
	return a.work
}

// work is what an agent does with an item in the normal case.
func (a *agent) work(ctx context.Context, item task) error {
	return a.finish(ctx, item, "Every page is done")
}

// finish reports the result of an item, and that it is done.
func (a *agent) finish(ctx context.Context, item task, result string) error {
	if err := a.do(ctx, nil, "report", "complete", result, "--task", item.ID); err != nil {
		return err
	}
	return a.do(ctx, nil, "queue", "complete")
}

// askFirst asks a person, and works according to the answer.
func (a *agent) askFirst(ctx context.Context, item task) error {
	var asked struct {
		Event struct {
			Data struct {
				InputID string `json:"inputId"`
			} `json:"data"`
		} `json:"event"`
	}
	if err := a.do(ctx, &asked, "report", "needs-input", "How do we address a customer?",
		"--option", "by first name", "--option", "by last name", "--task", item.ID); err != nil {
		return err
	}
	if err := a.give(sign{Kind: signAsks}); err != nil {
		return err
	}
	var input struct {
		Answer string `json:"answer"`
	}
	if err := a.do(ctx, &input, "input", "wait", asked.Event.Data.InputID); err != nil {
		return err
	}
	return a.finish(ctx, item, "Every page is done, and addresses customers "+input.Answer)
}

// readMail works according to a message that arrived meanwhile, with the output of another command.
func (a *agent) readMail(ctx context.Context, item task) error {
	if err := a.do(ctx, nil, "report", "progress", "Half of the pages are done", "--task", item.ID); err != nil {
		return err
	}
	result := "Every page is done"
	for _, text := range a.mail {
		result += ", with the name " + named(text)
	}
	return a.finish(ctx, item, result)
}

// revise finishes its item, learns that it was reopened, and does what the reason asks for.
func (a *agent) revise(ctx context.Context, item task) error {
	if err := a.finish(ctx, item, "Every page is done"); err != nil {
		return err
	}
	if err := a.give(sign{Kind: signFinished, TaskID: item.ID}); err != nil {
		return err
	}
	if err := a.cue(); err != nil {
		return err
	}
	var box struct {
		Mail []struct {
			Kind  string `json:"kind"`
			About string `json:"about"`
			Text  string `json:"text"`
		} `json:"mail"`
	}
	if err := a.do(ctx, &box, "input", "wait"); err != nil {
		return err
	}
	for _, mail := range box.Mail {
		if mail.Kind != "reopened" || mail.About != item.ID {
			continue
		}
		result := "Every page is done, now the page " + named(mail.Text) + " too"
		return a.do(ctx, nil, "report", "complete", result, "--task", item.ID)
	}
	return fmt.Errorf("%s is not told that %s was reopened: %v", a.name, item.ID, box.Mail)
}

// reportOffline reports while no server answers, so that the command line keeps the report, and finishes once one does.
func (a *agent) reportOffline(ctx context.Context, item task) error {
	var report struct {
		Kept bool `json:"kept"`
	}
	if err := a.do(ctx, &report, "report", "progress", "Half of the pages are done", "--task", item.ID); err != nil {
		return err
	}
	if !report.Kept {
		return errors.New("a report was not kept, and no server was there to take it")
	}
	if err := a.give(sign{Kind: signKept}); err != nil {
		return err
	}
	if err := a.cue(); err != nil {
		return err
	}
	return a.work(ctx, item)
}

// overstep tries to confirm its own work, which a worker may not do.
func (a *agent) overstep(ctx context.Context, item task) error {
	done, err := a.call(ctx, "task", "complete", item.ID)
	if err != nil {
		return err
	}
	if done.code != exitNotAllowed {
		return fmt.Errorf("a worker confirms its own work: exit %d, expected %d", done.code, exitNotAllowed)
	}
	return a.work(ctx, item)
}

// named returns the part of a text in single quotes.
func named(text string) string {
	_, rest, _ := strings.Cut(text, "'")
	name, _, _ := strings.Cut(rest, "'")
	return name
}

// ownTask returns the first task of the session.
func (a *agent) ownTask(ctx context.Context) (task, error) {
	var who struct {
		Tasks []task `json:"tasks"`
	}
	if err := a.do(ctx, &who, "whoami"); err != nil {
		return task{}, err
	}
	if len(who.Tasks) == 0 {
		return task{}, fmt.Errorf("%s has no task", a.name)
	}
	return who.Tasks[0], nil
}

// doTask does the task that the session was spawned for.
func (a *agent) doTask(ctx context.Context) error {
	if err := a.do(ctx, nil, "worker", "init"); err != nil {
		return err
	}
	own, err := a.ownTask(ctx)
	if err != nil {
		return err
	}
	if err := a.do(ctx, nil, "report", "complete", "Done: "+own.Title, "--task", own.ID); err != nil {
		return err
	}
	return a.do(ctx, nil, "session", "complete")
}

// orchestrate splits a goal into two tasks, spawns a worker for each, waits for both, confirms their work, and ends.
func (a *agent) orchestrate(ctx context.Context) error {
	if err := a.do(ctx, nil, "orchestrator", "init"); err != nil {
		return err
	}
	goal, err := a.ownTask(ctx)
	if err != nil {
		return err
	}
	team := []struct{ name, title, taskID, session string }{
		{name: writer, title: "Write the text"},
		{name: designer, title: "Draw the picture"},
	}
	for i := range team {
		member := &team[i]
		var made struct {
			ID string `json:"id"`
		}
		if err := a.do(ctx, &made, "task", "create", member.title, "--parent", goal.ID); err != nil {
			return err
		}
		member.taskID = made.ID
		if err := a.do(ctx, &made, "session", "spawn", "--name", member.name, "--task-ids", made.ID); err != nil {
			return err
		}
		member.session = made.ID
	}
	if err := a.give(sign{Kind: signTells, Text: "spawns " + writer + " and " + designer}); err != nil {
		return err
	}
	errs := make([]error, len(team))
	var all sync.WaitGroup
	for i, member := range team {
		all.Go(func() { errs[i] = a.runMember(ctx, member.session, member.name) })
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for _, member := range team {
		if err := a.do(ctx, nil, "task", "complete", member.taskID); err != nil {
			return err
		}
	}
	if err := a.do(ctx, nil, "report", "complete", "There is a text and a picture", "--task", goal.ID); err != nil {
		return err
	}
	if err := a.do(ctx, nil, "session", "complete"); err != nil {
		return err
	}
	return a.give(sign{Kind: signTells, Text: "has confirmed what both did, reports its goal and ends"})
}

// runMember runs an orchestrator's worker as its session. Its signs go to the orchestrator's output.
func (a *agent) runMember(ctx context.Context, session, name string) error {
	cmd := exec.CommandContext(ctx, a.binary, playing(a.binary, session, name)...)
	cmd.Stdout, cmd.Stderr = a.out, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// playing returns the arguments that play an agent as a session.
func playing(binary, session, name string) []string {
	return []string{"session", "exec", session, "--", binary, "demo", "--play", name}
}
