package moments

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"maestro/commands"
	"maestro/engine"
	"maestro/events"
)

// The log is written by authors, each with a project. An author keeps some tasks that are not done.
const (
	authors   = 16
	keptTasks = 40
)

// author gives out tasks, and does them as the sessions that it spawned.
type author struct {
	t       testing.TB
	handler *engine.Handler
	random  *rand.Rand
	name    string
	calls   int
	project commands.ProjectRef
	// tasks are some that are not done.
	tasks []string
	// runner is a session that works on the project's queue.
	runner commands.Actor
	// head is the newest sequence of all authors.
	head *atomic.Uint64
}

// fill writes events until the log has as many as asked.
func fill(t testing.TB, handler *engine.Handler, random *rand.Rand, until uint64) {
	t.Helper()
	var all sync.WaitGroup
	head := &atomic.Uint64{}
	for i := range authors {
		a := &author{
			t:       t,
			handler: handler,
			random:  rand.New(rand.NewPCG(random.Uint64(), uint64(i))),
			name:    fmt.Sprint("author ", i),
			head:    head,
		}
		all.Go(func() {
			if !a.begin() {
				return
			}
			for head.Load() < until && a.work() {
			}
		})
	}
	all.Wait()
	if t.Failed() {
		t.FailNow()
	}
}

// do sends a command. A refused one returns nil, as does one that failed, which ends the test.
func (a *author) do(by commands.Actor, command commands.Command) events.Data {
	a.calls++
	key := fmt.Sprint(a.name, " ", a.calls)
	answer, err := a.handler.Do(a.t.Context(), engine.Request{By: by, Command: command, Key: key})
	var refusal *commands.Refusal
	switch {
	case errors.As(err, &refusal):
		return nil
	case err != nil:
		a.t.Errorf("%s: %v", command.ID(), err)
		return nil
	}
	for now := a.head.Load(); answer.Sequence > now && !a.head.CompareAndSwap(now, answer.Sequence); {
		now = a.head.Load()
	}
	return answer.Data
}

func (a *author) asUser(command commands.Command) events.Data {
	return a.do(commands.Admin(commands.AuthnToken), command)
}

const queue = "work"

func (a *author) begin() bool {
	made, ok := a.asUser(&commands.CreateProject{Name: a.name}).(*events.ProjectCreated)
	if !ok {
		a.t.Errorf("%s has no project", a.name)
		return false
	}
	a.project = commands.ProjectRef{Project: made.ProjectID}
	a.asUser(&commands.CreateQueue{ProjectRef: a.project, Queue: queue})
	return true
}

// spawn returns a session that works on a task, false if it may not.
func (a *author) spawn(task string) (by commands.Actor, spawned bool) {
	made, spawned := a.asUser(&commands.SpawnSession{
		ProjectRef: a.project,
		Name:       a.name,
		TaskIDs:    []string{task},
	}).(*events.SessionSpawned)
	if spawned {
		by = commands.SessionActor(a.project.Project, made.SessionID, commands.AuthnToken)
	}
	return by, spawned
}

// work plans a task and has a session do it; false if the test has failed.
func (a *author) work() bool {
	create := &commands.CreateTask{ProjectRef: a.project, Title: fmt.Sprint("Task ", a.calls)}
	if len(a.tasks) > 0 && a.random.IntN(2) == 0 {
		create.ParentID = a.tasks[a.random.IntN(len(a.tasks))]
	}
	if len(a.tasks) > 0 && a.random.IntN(4) == 0 {
		create.Dependencies = []string{a.tasks[a.random.IntN(len(a.tasks))]}
	}
	made, ok := a.asUser(create).(*events.TaskCreated)
	if !ok {
		return !a.t.Failed()
	}
	task := made.TaskID
	a.queueWork(task)
	if session, spawned := a.spawn(task); spawned {
		for range a.random.IntN(80) {
			a.step(session, task)
		}
		switch a.random.IntN(8) {
		case 0: // it stays, and cannot continue
			if a.random.IntN(2) == 0 {
				a.do(session, &commands.Report{Kind: events.ReportBlocked, Message: "The build is broken."})
			}
		case 1:
			a.asUser(&commands.KillSession{ProjectRef: a.project, SessionID: session.Name, Reason: "It is slow."})
		default:
			a.say(session, events.ReportComplete, task)
		}
	}
	if a.random.IntN(4) > 0 {
		a.asUser(&commands.CompleteTask{ProjectRef: a.project, TaskID: task, Force: true})
		return !a.t.Failed()
	}
	a.tasks = append(a.tasks, task)
	if len(a.tasks) > keptTasks {
		a.end(a.tasks[0])
		a.tasks = a.tasks[1:]
	}
	return !a.t.Failed()
}

// end completes a task, or deletes it.
func (a *author) end(task string) {
	if a.random.IntN(4) == 0 {
		a.asUser(&commands.DeleteTask{
			ProjectRef: a.project,
			TaskID:     task,
			Recursive:  true,
			Force:      true,
		})
		return
	}
	a.asUser(&commands.CompleteTask{ProjectRef: a.project, TaskID: task, Force: true})
}

func (a *author) say(by commands.Actor, kind events.ReportKind, task string) events.Data {
	return a.do(by, &commands.Report{
		Kind:    kind,
		Message: fmt.Sprint("Message ", a.calls, " of the work on this task"),
		TaskIDs: []string{task},
	})
}

// step is something that a session does, or somebody does with its task.
func (a *author) step(by commands.Actor, task string) {
	title := fmt.Sprint("Changed ", a.calls)
	switch a.random.IntN(24) {
	case 0:
		asked, ok := a.say(by, events.ReportNeedsInput, task).(*events.SessionReported)
		if ok && a.random.IntN(4) > 0 {
			a.asUser(&commands.AnswerInput{InputID: asked.InputID, Answer: "Yes."})
			a.do(by, &commands.ReceiveInput{InputID: asked.InputID})
		}
	case 1:
		a.asUser(&commands.MessageSession{
			ProjectRef: a.project,
			SessionID:  by.Name,
			Text:       "Look at " + title,
		})
	case 2:
		a.do(by, &commands.TrackFile{File: fmt.Sprint("/src/", a.random.IntN(10), ".go")})
	case 3:
		a.asUser(&commands.UpdateTask{ProjectRef: a.project, TaskID: task, Title: &title})
	case 4:
		a.say(by, events.ReportBlocked, task)
	case 5:
		a.asUser(&commands.BlockTask{ProjectRef: a.project, TaskID: task, Reason: "It waits for somebody."})
		a.asUser(&commands.ReopenTask{ProjectRef: a.project, TaskID: task, Reason: "It goes on."})
	default:
		a.say(by, events.ReportProgress, task)
	}
}

// queueWork pushes a task sometimes, and has a runner take a step with the queue.
func (a *author) queueWork(task string) {
	in := commands.QueueRef{ProjectRef: a.project, Queue: queue}
	if a.random.IntN(3) > 0 {
		return
	}
	a.asUser(&commands.PushItem{QueueRef: in, TaskID: task})
	if a.runner.Name == "" {
		made, ok := a.asUser(&commands.SpawnSession{
			ProjectRef: a.project,
			Strategy:   events.StrategyQueue,
			Queue:      queue,
		}).(*events.SessionSpawned)
		if !ok {
			return
		}
		a.runner = commands.SessionActor(a.project.Project, made.SessionID, commands.AuthnToken)
	}
	own := commands.QueueRef{ProjectRef: a.project}
	a.do(a.runner, &commands.StartItem{QueueRef: own})
	switch a.random.IntN(4) {
	case 0:
		a.do(a.runner, &commands.FailItem{QueueRef: own, Reason: "The build is broken."})
	case 1:
		a.do(a.runner, &commands.SkipItem{QueueRef: own, Reason: "It is for later."})
	default:
		a.do(a.runner, &commands.CompleteItem{QueueRef: own})
	}
}
