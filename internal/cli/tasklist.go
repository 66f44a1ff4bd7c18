package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"maestro/api/client"
	"maestro/events"
	"maestro/internal/failure"
	"maestro/internal/safetext"
	"maestro/service/wire"
)

// taskColumns are the columns of taskRow.
var taskColumns = []string{"ID", "STATUS", "SAYS", "PRIORITY", "TITLE", "BELOW"}

func taskRow(t wire.Task) []string {
	return []string{
		t.ID,
		string(t.Status),
		says(t.SessionStatus),
		t.Priority,
		safetext.Clip(t.Title, 80),
		progress(t.Progress),
	}
}

// says shows a task's session status, as opposed to its own status.
func says(status events.TaskSessionStatus) string {
	if status == "" {
		return ""
	}
	return "says " + string(status)
}

// taskList is `maestro task list`.
type taskList struct {
	*Run
	filter wire.TaskFilter
	mine   bool
}

func newTaskList(a *Run) *cobra.Command {
	c := &taskList{Run: a}
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List tasks with their status and what sessions report about them",
		Args:  Takes,
		RunE:  Running(c.run),
	}
	projectFlag(cmd, &c.filter.ProjectID)
	bindQuery(cmd, &c.filter)
	cmd.Flags().BoolVar(&c.mine, "mine", false, "only those of your session")
	Exclude(cmd, "mine", "session")
	a.ListFlags(cmd)
	a.WatchFlag(cmd, "task")
	a.AtFlag(cmd)
	return Tell(cmd, "task:list", "status", "parent")
}

func (c *taskList) run(ctx context.Context, _ []string) error {
	if c.mine {
		if c.filter.SessionID = c.Getenv(wire.EnvSessionID); c.filter.SessionID == "" {
			return failure.Usage("--mine is for a session, and MAESTRO_SESSION_ID names none").
				WithNext("name one with --session")
		}
	}
	if c.filter.ProjectID == "" {
		c.filter.ProjectID = c.Getenv(wire.EnvProjectID)
	}
	tasks, err := Ask(ctx, c.Run, (*client.Client).Tasks, c.filter)
	if err != nil {
		return err
	}
	columns, row := byProject(tasks, func(t wire.Task) string { return t.ProjectID }, taskColumns, taskRow)
	List(c.Run, tasks, "No tasks", columns, row)
	return nil
}

// taskChildren is `maestro task children`.
type taskChildren struct {
	*Run
}

func newTaskChildren(a *Run) *cobra.Command {
	c := &taskChildren{Run: a}
	cmd := &cobra.Command{
		Use:   "children <taskId>",
		Short: "List the tasks directly below a task",
		Args:  Takes,
		RunE:  Running(c.run),
	}
	a.ListFlags(cmd)
	a.WatchFlag(cmd, "task")
	a.AtFlag(cmd)
	return Tell(cmd, "task:children")
}

func (c *taskChildren) run(ctx context.Context, args []string) error {
	tasks, err := Ask(ctx, c.Run, (*client.Client).Children, args[0])
	if err != nil {
		return err
	}
	List(c.Run, tasks, "No tasks below it", taskColumns, taskRow)
	return nil
}

// taskGet is `maestro task get`.
type taskGet struct {
	*Run
	timeline bool
}

func newTaskGet(a *Run) *cobra.Command {
	c := &taskGet{Run: a}
	cmd := &cobra.Command{
		Use:   "get <taskId>",
		Short: "Show a task; with --timeline what happened to it",
		Args:  Takes,
		RunE:  Running(c.run),
	}
	cmd.Flags().BoolVar(&c.timeline, "timeline", false, "show its timeline too")
	a.AtFlag(cmd)
	return Tell(cmd, "task:get", "timeline")
}

func (c *taskGet) run(ctx context.Context, args []string) error {
	var shown struct {
		wire.Task
		Timeline []wire.Entry `json:"timeline,omitempty"`
	}
	var err error
	if shown.Task, err = Ask(ctx, c.Run, (*client.Client).Task, args[0]); err != nil {
		return err
	}
	if c.timeline {
		if shown.Timeline, err = Ask(ctx, c.Run, (*client.Client).TaskTimeline, args[0]); err != nil {
			return err
		}
	}
	c.Result(shown, func() {
		showTask(c.Run, shown.Task)
		c.Run.timeline(shown.Timeline)
	})
	return nil
}

func showTask(a *Run, t wire.Task) {
	a.hanging(t.ID+"  ", t.Title)
	a.Field("Status", string(t.Status)+whyStatus(t))
	if reason := t.StatusReason; reason != nil && t.Status == events.TaskInProgress {
		a.Field("Reopened", safetext.OneLine(reason.Text)+whole(reason.Blob, reason.Redacted))
	}
	for _, said := range t.Says {
		reason := ""
		if said.SessionID == t.SaidBy {
			reason = statement(t.SessionReason)
		}
		by := withName(said.SessionID, t.Names[said.SessionID])
		a.Field("Says", string(said.Status)+", by "+by+" "+a.at(said.At)+reason)
	}
	a.Field("Below", progress(t.Progress))
	a.Field("Priority", t.Priority)
	a.Field("Project", t.ProjectID)
	if t.ParentID != nil {
		a.Field("Parent", withName(*t.ParentID, t.Names[*t.ParentID]))
	}
	a.Field("Depends on", allNamed(t.Dependencies, t.Names))
	a.Field("Waits for", waitsFor(t))
	a.Field("Sessions", allNamed(t.SessionIDs, t.Names))
	a.Field("Plan id", t.PlanID)
	a.Field("Labels", strings.Join(t.Labels, ", "))
	a.Field("Skills", strings.Join(t.SkillIDs, ", "))
	a.Field("Model", t.Model)
	a.Field("Metadata", string(t.Metadata))
	a.Field("Created", a.When(t.CreatedAt)+" by "+WhoNamed(t.CreatedBy, t.Names))
	a.longBlock("Description", t.Description, wholeField("description", t.Blobs, t.Redacted))
	if len(t.AcceptanceCriteria) > 0 {
		a.block("Acceptance criteria", listOf(t.AcceptanceCriteria))
	}
	a.longBlock("Prompt", t.InitialPrompt, wholeField("initialPrompt", t.Blobs, t.Redacted))
	if t.Result != nil {
		a.longBlock("Result, by "+WhoNamed(t.Result.By, t.Names)+" "+a.at(t.Result.At), t.Result.Text,
			whole(t.Result.Blob, t.Result.Redacted))
	}
}

// whyStatus returns the reason of a status.
func whyStatus(t wire.Task) string {
	if t.Status == events.TaskInProgress {
		return "" // that is why it was reopened, which has a line of its own
	}
	return statement(t.StatusReason)
}

// waitsFor lists what a task waits for, and marks tasks that it waits for in vain.
func waitsFor(t wire.Task) string {
	why := map[string]string{}
	for _, gone := range t.GoneDependencies {
		why[gone.TaskID] = " (" + gone.Why + ")"
	}
	var names []string
	for _, id := range t.UnmetDependencies {
		names = append(names, withName(id, t.Names[id])+why[id])
	}
	return strings.Join(names, ", ")
}

// statement appends a statement to what it explains.
func statement(said *wire.Statement) string {
	if said == nil {
		return ""
	}
	return Prefixed(": ", said.Text) + whole(said.Blob, said.Redacted)
}

// timeline prints entries of a timeline.
func (a *Run) timeline(entries []wire.Entry) {
	for _, e := range entries {
		said := ""
		if e.OccurredAt != 0 {
			said = " (said at " + Instant(e.OccurredAt) + ")"
		}
		a.hanging(
			fmt.Sprintf("  %d  %s  ", e.Sequence, Instant(e.Timestamp)),
			a.told(withName(Who(e.Source), e.SourceName), entryType(e))+
				Prefixed(": ", safetext.OneLine(entryWords(e)))+whole(e.Blob, e.Redacted)+said,
		)
	}
}

// entryWords returns the text of an entry: its message, its file, or else its data.
func entryWords(e wire.Entry) string {
	var of struct {
		File string `json:"file"`
	}
	switch {
	case e.Message != "":
		return e.Message
	case e.Type == wire.TypeFile && json.Unmarshal(e.Data, &of) == nil && of.File != "":
		return of.File
	}
	return string(e.Data)
}

// entryType returns the type of an entry. Older clients know a session's report by the name of what it claims; only a
// person or an orchestrator completes a task.
func entryType(e wire.Entry) string {
	kind := wire.ReportOfType(e.Type)
	_, _, fromSession := wire.SessionOfSource(e.Source)
	if fromSession && (kind == events.ReportComplete || kind == events.ReportBlocked) {
		return "said " + string(kind.SessionStatus())
	}
	if !wire.WritesType(e.Type) { // it could otherwise read like a decision or a report
		return "note (" + safetext.OneLine(e.Type) + ")"
	}
	return e.Type
}

// Prefixed adds a prefix to a text, if it is not empty.
func Prefixed(prefix, text string) string {
	if text == "" {
		return ""
	}
	return prefix + text
}

// Who returns a short name for the source of an event: a session's id, the name of a user's token, or the system. No
// two sources have the same name, whatever a token or an older client's session is called.
func Who(source string) string {
	if _, session, ok := wire.SessionOfSource(source); ok {
		if strings.HasPrefix(session, "sess_") {
			return session
		}
		return "session " + session
	}
	user, ok := wire.UserOfSource(source)
	switch {
	case !ok:
		return strings.TrimPrefix(source, "/")
	case user == wire.AdminPart:
		return user
	}
	return "user " + user
}

func newTaskReport(a *Run) *cobra.Command {
	cmd := a.group("report", "Report on one task, like `maestro report KIND --task ID`")
	for _, kind := range reportKinds() {
		cmd.AddCommand(newTaskReporting(a, kind))
	}
	return cmd
}
