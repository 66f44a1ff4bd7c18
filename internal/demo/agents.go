package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// The cast. The other workers only do their work.
const (
	asker     = "worker-1" // asks, and continues with the answer
	reader    = "worker-2" // receives a message
	reviser   = "worker-3" // has its work reopened
	offline   = "worker-4" // reports while the server is dead
	oversteps = "worker-5" // tries to confirm its own work, and to become the user
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
	signAttempted    signKind = "attempted"    // it tried to become the user
	signTells        signKind = "tells"        // text for the story
)

// sign is a line that an agent writes for the demonstration. `maestro session logs` shows its text.
type sign struct {
	Type     string    `json:"type"` // always text, which is a form of line that maestro reads
	Kind     signKind  `json:"kind"`
	TaskID   string    `json:"taskId,omitempty"`
	Title    string    `json:"title,omitempty"`
	Text     string    `json:"text,omitempty"`
	Events   []string  `json:"events,omitempty"`
	Attempts []Attempt `json:"attempts,omitempty"`
}

// agent plays one agent. It knows what a real one would know: its environment, and the output of the command line.
type agent struct {
	caller
	name string
	// cues counts the cues that the agent has had.
	cues int
	out  io.Writer
	// mail is what the command line printed for the agent in addition to its answers.
	mail []string
}

// task is the part of a task that an agent reads.
type task struct {
	ID    string `json:"id"`
	Title string `json:"title"`
}

// Agent plays one agent, which a runner has launched: a worker of the queue, the orchestrator or one of the
// orchestrator's workers. The name of its session says which. It writes signs to out.
func Agent(ctx context.Context, binary string, out io.Writer) error {
	a := &agent{caller: caller{binary: binary}, out: out}
	var broken error
	a.acknowledged = func(ids []string) {
		broken = errors.Join(broken, a.give(sign{Kind: signAcknowledged, Events: ids}))
	}
	var who struct {
		Name string `json:"name"`
	}
	if err := a.do(ctx, &who, "whoami"); err != nil {
		return err
	}
	a.name = who.Name
	play := a.pull
	switch a.name {
	case lead:
		play = a.orchestrate
	case writer, designer:
		play = a.doTask
	}
	return errors.Join(play(ctx), broken)
}

// give sends the demonstration a sign, in one write.
func (a *agent) give(s sign) error {
	s.Type = "text"
	if s.Text == "" {
		s.Text = strings.TrimSpace(string(s.Kind) + " " + s.Title)
	}
	line, err := json.Marshal(s)
	if err != nil {
		return err
	}
	_, err = a.out.Write(append(line, '\n'))
	return err
}

// looks is the time between two looks at what another process changes.
const looks = 10 * time.Millisecond

// cue waits until the agent may continue: until a file with its name is in the directory in which it works.
func (a *agent) cue(ctx context.Context) error {
	a.cues++
	file := filepath.Join(cuesDir, cueFile(a.name, a.cues))
	for {
		if _, err := os.Stat(file); err == nil {
			return nil
		}
		select {
		case <-time.After(looks):
		case <-ctx.Done():
			return fmt.Errorf("%s gets no cue: %w", a.name, context.Cause(ctx))
		}
	}
}

// cuesDir is the directory of the cues in the one in which the agents work.
const cuesDir = "cues"

// cueFile names the file that is an agent's cue of a number.
func cueFile(name string, number int) string { return fmt.Sprintf("%s.%d", name, number) }

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
			TaskID: item.ID,
			Title:  item.Title,
		}); err != nil {
			return err
		}
		work := a.work
		if first {
			if err := a.cue(ctx); err != nil {
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
	if err := a.cue(ctx); err != nil {
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
	if err := a.cue(ctx); err != nil {
		return err
	}
	return a.work(ctx, item)
}

// overstep tries to confirm its own work, which a worker may not do, as itself and then as the user.
func (a *agent) overstep(ctx context.Context, item task) error {
	done, err := a.call(ctx, "task", "complete", item.ID)
	if err != nil {
		return err
	}
	if done.code != exitNotAllowed {
		return fmt.Errorf("a worker confirms its own work: exit %d, expected %d", done.code, exitNotAllowed)
	}
	attempts, err := a.becomeUser(ctx, item)
	if err != nil {
		return err
	}
	if err := a.give(sign{Kind: signAttempted, Attempts: attempts}); err != nil {
		return err
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
		if err := a.do(ctx, &made, "session", "spawn", "--name", member.name, "--agent", agentName,
			"--task-ids", made.ID); err != nil {
			return err
		}
		member.session = made.ID
	}
	if err := a.give(sign{Kind: signTells, Text: "spawns " + writer + " and " + designer}); err != nil {
		return err
	}
	for _, member := range team {
		if err := a.awaitMember(ctx, member.session); err != nil {
			return err
		}
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

// awaitMember waits until an orchestrator's worker has ended.
func (a *agent) awaitMember(ctx context.Context, session string) error {
	for {
		var member struct {
			EndedAt json.RawMessage `json:"endedAt"`
			Status  string          `json:"status"`
		}
		if err := a.do(ctx, &member, "session", "info", session); err != nil {
			return err
		}
		switch {
		case member.EndedAt == nil:
		case member.Status == "completed":
			return nil
		default:
			return fmt.Errorf("session %s ended as %s", session, member.Status)
		}
		select {
		case <-time.After(memberLooks):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// memberLooks is the time between two looks at a worker of the orchestrator.
const memberLooks = 200 * time.Millisecond
