package cli

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"maestro/api/client"
	"maestro/commands"
	"maestro/events"
	"maestro/internal/failure"
	"maestro/internal/safetext"
	"maestro/service/wire"
)

// AsItWas shows a project, a task, a session or a queue at a moment, as the command that shows it does with --at. The
// id of a queue is <project>/<queue>.
func AsItWas(ctx context.Context, a *Run, kind, id, moment string) error {
	c, err := a.Connect(ctx)
	if err != nil {
		return err
	}
	a.moment = moment
	c.LookBack(moment)
	switch kind {
	case "task":
		return (&taskGet{Run: a}).run(ctx, []string{id})
	case "session":
		return (&sessionInfo{Run: a}).run(ctx, []string{id})
	case "project":
		return (&projectGet{Run: a}).run(ctx, []string{id})
	}
	project, queue, _ := strings.Cut(id, "/")
	of := commands.QueueRef{ProjectRef: commands.ProjectRef{Project: project}, Queue: queue}
	return (&queueList{Run: a, o: of}).run(ctx, nil)
}

// ShowTask shows a task as `maestro task get` does.
func ShowTask(a *Run, t wire.Task) { a.Result(t, func() { showTask(a, t) }) }

// ShowSession shows a session as `maestro session info` does.
func ShowSession(a *Run, x wire.Session) { a.Result(x, func() { showSession(a, x, "", nil) }) }

// ShowProject shows a project as `maestro project get` does.
func ShowProject(a *Run, p wire.Project) { a.Result(p, func() { showProject(a, p) }) }

// ShowItems shows the items of a queue as `maestro queue list` does.
func ShowItems(a *Run, items []wire.Item) { showItems(a, items, "The queue is empty") }

// Meant returns the kind and the id of what a text on the command line means: the project, task, session or queue with
// this id or the beginning of it, the task with this plan id, the session or project with this name, or the queue with
// this name in the current project.
func Meant(ctx context.Context, a *Run, text string) (kind, id string, err error) {
	if project, queue, isQueue := strings.Cut(text, "/"); isQueue {
		project, err = a.projectNamed(ctx, project)
		return "queue", project + "/" + queue, err
	}
	if id, err = a.fullID(ctx, "id", text); err != nil {
		return "", "", err
	}
	if kind = KindOfID(id); kind != "" {
		return kind, id, nil
	}
	c, err := a.Connect(ctx) // a client chose the id, or it is a project's name
	if err != nil {
		return "", "", err
	}
	for kind, name := range map[string]string{"task": "taskId", "session": "sessionId", "project": "projectId"} {
		exists, err := idKinds[name].is(ctx, c, id)
		if err != nil {
			return "", "", err
		}
		if exists {
			return kind, id, nil
		}
	}
	if project, err := a.projectNamed(ctx, text); err == nil && KindOfID(project) == "project" {
		return "project", project, nil
	}
	if of, err := a.project(ctx, ""); err == nil && of != "" { // a queue of the current project, or of the only one
		_, err := c.Queue(ctx, wire.QueueName{Name: text, ProjectID: of})
		var said *client.Error
		if !errors.As(err, &said) || said.Status != http.StatusNotFound {
			return "queue", of + "/" + text, err
		}
	}
	return "", "", NoSubject(text)
}

// KindOfID returns the kind of object that an id of Maestro's own form names: "task", "session", "project" or "queue";
// "" for another text.
func KindOfID(id string) string {
	project, _, isQueue := strings.Cut(id, "/")
	word, _, _ := strings.Cut(id, "_")
	switch {
	case isQueue && madeID().MatchString(project) && strings.HasPrefix(project, "proj_"):
		return "queue"
	case !madeID().MatchString(id):
		return ""
	case word == "sess":
		return "session"
	case word == "proj":
		return "project"
	case word == "task":
		return "task"
	}
	return ""
}

// NoSubject returns the error for a text that names nothing with a timeline.
func NoSubject(text string) error {
	return &failure.Error{
		Code:    failure.NotFound,
		Message: "There is no task, session, project or queue " + safetext.Quoted(text),
		Next: "name its id, as `maestro task list`, `maestro session list` and `maestro project list` show it; " +
			"a queue is <projectId>/<queue>",
	}
}

// EventLine prints a line for an event: its sequence, its time as given, who caused it and what happened. A text with
// line breaks does not look like other events. The names stand beside the ids. redacted are its texts that were
// removed.
func (a *Run) EventLine(
	sequence uint64, at string, event *events.Event, names map[string]string, redacted []wire.RedactedText,
) {
	what := a.told(WhoNamed(event.Source, names), Happened(event.Data.Describe(), names)+
		WholeOfEvent(sequence, events.Digests(event.Data), redacted))
	a.hanging(strconv.FormatUint(sequence, 10)+"  "+at+"  ", what)
}

// Below prints a line that belongs to the one above it, with a text that stays in its place.
func (a *Run) Below(mark, text string) { a.hanging("     "+mark+" ", text) }

// InLines reports whether the output is to be a JSON document per line.
func (a *Run) InLines() bool { return a.format == "jsonl" }

// Broken returns the first error of a write to stdout.
func (a *Run) Broken() error { return a.broken }

// Interrupted is the regular end of a command that Ctrl-C ends: it needs no words.
func Interrupted() error { return &commandExit{ExitInterrupted} }

// NewestAt returns the newest event that the caller may see at a moment; nil if there is none.
func NewestAt(ctx context.Context, c *client.Client, moment string) (*wire.LogEvent, error) {
	c.LookBack(moment)
	found, err := c.Events(ctx, wire.EventsQuery{Limit: "1"})
	if err != nil || len(found.Events) == 0 {
		return nil, err
	}
	return &found.Events[0], nil
}
