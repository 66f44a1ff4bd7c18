package cli

import (
	"context"
	"net/http"
	"reflect"
	"strings"

	"github.com/spf13/cobra"

	"maestro/api/client"
	"maestro/commands"
	"maestro/events"
	"maestro/internal/failure"
	"maestro/internal/safetext"
	"maestro/projections"
	"maestro/service/wire"
)

func (a *Run) taskCommand() *cobra.Command {
	return group("task", "Tasks: what is to be done, decided by people and orchestrators",
		a.taskList(), a.taskGet(), a.taskCreate(), a.taskChildren(), a.taskTree(), a.taskUpdate(), a.taskComplete(),
		a.taskBlock(), a.taskReopen(), a.taskDelete(), a.taskImport(), a.taskReport())
}

func taskRow(t wire.Task) []string {
	return []string{t.ID, string(t.Status), says(t.SessionStatus), t.Priority, safetext.Clip(t.Title, 80), progress(t.Progress)}
}

// says shows what is said of a task, as opposed to where it stands.
func says(status events.TaskSessionStatus) string {
	if status == "" {
		return ""
	}
	return "says " + string(status)
}

func (a *Run) taskList() *cobra.Command {
	var project, status, parent, session, said, priority, order string
	var ready, mine bool
	cmd := &cobra.Command{
		Use: "list", Short: "List tasks with their status and what sessions report of them", Args: Takes(),
		RunE: Running(func(ctx context.Context, _ []string) error {
			if mine {
				if session = a.Getenv("MAESTRO_SESSION_ID"); session == "" {
					return failure.Usage("--mine is for a session, and MAESTRO_SESSION_ID names none").WithNext("name one with --session")
				}
			}
			if project == "" {
				project = a.Getenv("MAESTRO_PROJECT_ID")
			}
			filter := wire.TaskFilter{
				ProjectID: project, Status: status, ParentID: parent, SessionID: session, SessionStatus: said,
				Priority: priority, Order: order,
			}
			if ready {
				filter.Ready = "true"
			}
			tasks, err := ask(ctx, a, (*client.Client).Tasks, filter)
			if err != nil {
				return err
			}
			if err := a.unlessEmpty(ctx, len(tasks), named{project: project, session: session}); err != nil {
				return err
			}
			list(a, tasks, "There are no such tasks", taskRow)
			return nil
		}),
	}
	projectFlag(cmd, &project)
	cmd.Flags().StringVar(&status, "status", "",
		"only those with this status: todo, in_progress, completed, cancelled, blocked")
	cmd.Flags().StringVar(&parent, "parent", "", "only those directly below this task; null: the roots")
	cmd.Flags().StringVar(&session, "session", "", "only those of this session")
	cmd.Flags().BoolVar(&mine, "mine", false, "only those of the session that asks")
	cmd.Flags().StringVar(&said, "says", "", "only those of which an agent says so: working, needs_input, blocked, completed, failed")
	cmd.Flags().StringVar(&priority, "priority", "", "only those with this priority: low, medium, high, critical")
	cmd.Flags().BoolVar(&ready, "ready", false, "only those that can be started: todo, and all that they depend on completed")
	cmd.Flags().StringVar(&order, "order", "", "dependencies: each task after those that it depends on")
	choice(cmd, "status", "todo", "in_progress", "completed", "cancelled", "blocked")
	choice(cmd, "says", "working", "needs_input", "blocked", "completed", "failed")
	choice(cmd, "priority", "low", "medium", "high", "critical")
	choice(cmd, "order", "dependencies")
	exclude(cmd, "mine", "session")
	a.listFlags(cmd)
	return cmd
}

func (a *Run) taskChildren() *cobra.Command {
	cmd := &cobra.Command{
		Use: "children ID", Short: "List the tasks directly below a task", Args: Takes("ID"),
		RunE: Running(func(ctx context.Context, args []string) error {
			tasks, err := ask(ctx, a, (*client.Client).Children, args[0])
			if err != nil {
				return err
			}
			list(a, tasks, "There are no tasks below it", taskRow)
			return nil
		}),
	}
	a.listFlags(cmd)
	return cmd
}

func (a *Run) taskGet() *cobra.Command {
	var timeline bool
	cmd := &cobra.Command{
		Use: "get ID", Short: "Show a task", Args: Takes("ID"),
		RunE: Running(func(ctx context.Context, args []string) error {
			var shown struct {
				wire.Task
				Timeline []wire.Entry `json:"timeline,omitempty"`
			}
			var err error
			if shown.Task, err = ask(ctx, a, (*client.Client).Task, args[0]); err != nil {
				return err
			}
			if timeline {
				if shown.Timeline, err = ask(ctx, a, (*client.Client).TaskTimeline, args[0]); err != nil {
					return err
				}
			}
			a.Result(shown, func() {
				a.showTask(shown.Task)
				a.timeline(shown.Timeline)
			})
			return nil
		}),
	}
	cmd.Flags().BoolVar(&timeline, "timeline", false, "with its timeline")
	return cmd
}

func (a *Run) showTask(t wire.Task) {
	a.Print("%s  %s\n", t.ID, safetext.OneLine(t.Title))
	a.field("Status", string(t.Status)+statement(t.StatusReason))
	for _, said := range t.Says {
		reason := ""
		if said.SessionID == t.SaidBy {
			reason = statement(t.SessionReason)
		}
		a.field("Says", string(said.Status)+", by "+said.SessionID+" at "+instant(said.At)+reason)
	}
	a.field("Below", progress(t.Progress))
	a.field("Priority", t.Priority)
	a.field("Project", t.ProjectID)
	if t.ParentID != nil {
		a.field("Parent", *t.ParentID)
	}
	a.field("Waits for", strings.Join(t.Dependencies, ", "))
	a.field("Unmet", strings.Join(t.UnmetDependencies, ", "))
	a.field("Sessions", strings.Join(t.SessionIDs, ", "))
	a.field("Skills", strings.Join(t.SkillIDs, ", "))
	a.field("Model", t.Model)
	a.field("Metadata", string(t.Metadata))
	a.field("Created", instant(t.CreatedAt)+" by "+who(t.CreatedBy))
	a.block("Description", t.Description)
	if len(t.AcceptanceCriteria) > 0 {
		a.block("Acceptance criteria", "- "+strings.Join(t.AcceptanceCriteria, "\n- "))
	}
	a.block("Prompt", t.InitialPrompt)
	if t.Result != nil {
		a.block("Result, by "+who(t.Result.By)+" at "+instant(t.Result.At), t.Result.Text)
	}
}

// statement puts what was said behind what it explains.
func statement(said *projections.StatementView) string {
	if said == nil {
		return ""
	}
	return prefixed(": ", said.Text)
}

// field prints a named value, if there is one.
func (a *Run) field(name, value string) {
	if value != "" {
		a.Print("  %-10s %s\n", name, safetext.OneLine(value))
	}
}

// block prints a named text of several lines, if there is one.
func (a *Run) block(name, text string) {
	if text != "" {
		a.Print("  %s:\n    %s\n", name, strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n    "))
	}
}

// timeline prints entries of a timeline.
func (a *Run) timeline(entries []wire.Entry) {
	for _, e := range entries {
		words := e.Message
		if words == "" {
			words = string(e.Data)
		}
		said := ""
		if e.OccurredAt != 0 {
			said = " (said at " + instant(e.OccurredAt) + ")"
		}
		a.Print("  %d  %s  %s  %s%s%s\n", e.Sequence, instant(e.Timestamp), who(e.Source), e.Type, prefixed(": ", safetext.OneLine(words)), said)
	}
}

// prefixed puts something before a text, if there is one.
func prefixed(prefix, text string) string {
	if text == "" {
		return ""
	}
	return prefix + text
}

// who names the source of an event in short: the session's id, or the user's name.
func who(source string) string {
	if _, session, ok := projections.SessionOfSource(source); ok {
		return session
	}
	return strings.TrimPrefix(strings.TrimPrefix(source, "/"), "users/")
}

// taskFields are the flags that the creation and the update of a task have in common.
type taskFields struct {
	description, priority, model, metadata string
	criteria, dependencies, skills         []string
}

func (f *taskFields) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.description, "description", "", "what is to be done")
	cmd.Flags().StringArrayVar(&f.criteria, "criteria", nil, "what must be true when it is done; may be repeated")
	cmd.Flags().StringVar(&f.priority, "priority", "", "low, medium, high or critical")
	cmd.Flags().StringSliceVar(&f.dependencies, "depends-on", nil, "ids of tasks that must be completed first, with commas")
	cmd.Flags().StringVar(&f.model, "model", "", "model that should do it: sonnet, opus, haiku or a full name")
	cmd.Flags().StringSliceVar(&f.skills, "skills", nil, "skills that the work needs, with commas")
	cmd.Flags().StringVar(&f.metadata, "metadata", "", "a JSON object, free")
	Complete(cmd, "priority", "low", "medium", "high", "critical")
	Complete(cmd, "model", "sonnet", "opus", "haiku")
}

func (a *Run) taskCreate() *cobra.Command {
	var f taskFields
	var project, parent, prompt, key string
	var quiet bool
	cmd := &cobra.Command{
		Use: "create TITLE", Short: "Make a task", Args: Takes("TITLE"),
		RunE: Running(func(ctx context.Context, args []string) error {
			metadata, err := object("metadata", f.metadata)
			if err != nil {
				return err
			}
			if project, err = a.project(ctx, project); err != nil {
				return err
			}
			if parent == "null" {
				parent = ""
			}
			answer, err := a.send(ctx, "task:create", &commands.CreateTask{
				In: commands.In{Project: project}, Title: args[0], Description: f.description, AcceptanceCriteria: f.criteria,
				Priority: f.priority, ParentID: parent, Dependencies: ids(f.dependencies), InitialPrompt: prompt,
				SkillIDs: ids(f.skills), Model: f.model, Metadata: metadata,
			}, key)
			if err != nil {
				return err
			}
			return a.wroteNew(answer, quiet, "task", args[0])
		}),
	}
	projectFlag(cmd, &project)
	cmd.Flags().StringVar(&parent, "parent", "", "the task above it; null: a root task")
	cmd.Flags().StringVar(&prompt, "prompt", "", "what to tell the agent first")
	f.flags(cmd)
	a.keyFlag(cmd, &key)
	quietFlag(cmd, &quiet)
	return cmd
}

func (a *Run) taskUpdate() *cobra.Command {
	var f taskFields
	var title, status, key string
	cmd := &cobra.Command{Use: "update ID", Short: "Give fields of a task, or its status, new values", Args: Takes("ID")}
	cmd.RunE = Running(func(ctx context.Context, args []string) error {
		metadata, err := object("metadata", f.metadata)
		if err != nil {
			return err
		}
		body := commands.UpdateTask{
			TaskID: args[0], Title: given(cmd, "title", title), Description: given(cmd, "description", f.description),
			AcceptanceCriteria: given(cmd, "criteria", f.criteria), Priority: given(cmd, "priority", f.priority),
			Dependencies: given(cmd, "depends-on", ids(f.dependencies)), SkillIDs: given(cmd, "skills", ids(f.skills)),
			Model: given(cmd, "model", f.model), Metadata: metadata, Status: given(cmd, "status", events.TaskStatus(status)),
		}
		for _, list := range []*[]string{body.Dependencies, body.SkillIDs} {
			if list != nil && *list == nil {
				*list = []string{}
			}
		}
		if reflect.DeepEqual(body, commands.UpdateTask{TaskID: args[0]}) {
			return failure.Usage("There is nothing to update").WithNext("see `maestro task update --help`")
		}
		return a.change(ctx, "task:update", &body, key, args[0], "Updated task %s", args[0])
	})
	cmd.Flags().StringVar(&title, "title", "", "new title")
	cmd.Flags().StringVar(&status, "status", "", "new status: todo, in_progress, completed, blocked, or (the user only) cancelled")
	Complete(cmd, "status", "todo", "in_progress", "completed", "cancelled", "blocked")
	f.flags(cmd)
	a.keyFlag(cmd, &key)
	return cmd
}

func (a *Run) taskComplete() *cobra.Command {
	var key string
	cmd := &cobra.Command{
		Use: "complete ID", Short: "Confirm that a task is done", Args: Takes("ID"),
		RunE: Running(func(ctx context.Context, args []string) error {
			return a.change(ctx, "task:complete", &commands.CompleteTask{TaskID: args[0]}, key, args[0], "Completed task %s", args[0])
		}),
	}
	a.keyFlag(cmd, &key)
	return cmd
}

func (a *Run) taskBlock() *cobra.Command {
	var key, reason string
	cmd := &cobra.Command{
		Use: "block ID [REASON]", Short: "Mark a task as blocked", Args: Takes("ID", "[REASON]"),
		RunE: Running(func(ctx context.Context, args []string) error {
			if reason == "" {
				reason = at(args, 1)
			}
			return a.change(ctx, "task:block", &commands.BlockTask{TaskID: args[0], Reason: reason}, key, args[0], "Blocked task %s", args[0])
		}),
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why")
	a.keyFlag(cmd, &key)
	return cmd
}

func (a *Run) taskReopen() *cobra.Command {
	var key, reason string
	cmd := &cobra.Command{
		Use: "reopen ID [REASON]", Short: "Send a task back to in_progress", Args: Takes("ID", "[REASON]"),
		RunE: Running(func(ctx context.Context, args []string) error {
			if reason == "" {
				reason = at(args, 1)
			}
			return a.change(ctx, "task:reopen", &commands.ReopenTask{TaskID: args[0], Reason: reason}, key, args[0], "Reopened task %s", args[0])
		}),
	}
	cmd.Flags().StringVar(&reason, "reason", "", "what is still missing; its session is told")
	a.keyFlag(cmd, &key)
	return cmd
}

func (a *Run) taskDelete() *cobra.Command {
	var key string
	var recursive bool
	cmd := &cobra.Command{
		Use: "delete ID", Short: "Delete a task", Args: Takes("ID"),
		RunE: Running(func(ctx context.Context, args []string) error {
			if !recursive && !a.isSession() { // a session is refused by the rule, not by what lies below
				if err := a.refuseParent(ctx, args[0]); err != nil {
					return err
				}
			}
			answer, err := a.send(ctx, "task:delete", &commands.DeleteTask{TaskID: args[0], Recursive: recursive}, key)
			if err != nil {
				return err
			}
			data, err := dataOf(answer)
			if err != nil {
				return err
			}
			below := ""
			if deleted, ok := data.(*events.TaskDeleted); ok && len(deleted.Descendants) > 0 {
				below = " and " + Many(len(deleted.Descendants), "task") + " below it"
			}
			a.wrote(answer, args[0], "Deleted task %s%s", args[0], below)
			return nil
		}),
	}
	cmd.Flags().BoolVar(&recursive, "recursive", false, "with everything below it")
	a.keyFlag(cmd, &key)
	return cmd
}

// refuseParent keeps a task with tasks below it from being deleted alone. One that is gone already is left to the server,
// which knows whether this is a retry.
func (a *Run) refuseParent(ctx context.Context, id string) error {
	children, err := ask(ctx, a, (*client.Client).Children, id)
	if exitCode(err) == ExitNotFound {
		return nil
	}
	if err != nil || len(children) == 0 {
		return err
	}
	below := make([]string, len(children))
	for i, child := range children {
		below[i] = child.ID
	}
	return &failure.Error{
		Status: http.StatusUnprocessableEntity, Code: "BUSINESS_RULE_ERROR",
		Message: "Task '" + id + "' has tasks below it: " + strings.Join(below, ", "),
		Why:     "deleting it alone would leave them without a parent",
		Next:    "delete everything with --recursive, or delete them first",
	}
}

func (a *Run) taskReport() *cobra.Command {
	short := "Say how work on one task goes, as `maestro report KIND --task ID`"
	cmd := group("report", short)
	for _, kind := range reportKinds() {
		var key string
		var asking asking
		var verb *cobra.Command
		verb = &cobra.Command{
			Use: kind.name + " TASK MESSAGE", Short: kind.short, Args: Takes("TASK", "MESSAGE"),
			RunE: Running(func(ctx context.Context, args []string) error {
				if err := asking.check(verb); err != nil {
					return err
				}
				return a.report(ctx, "task:report:"+kind.name, kind, args[1], []string{args[0]}, key, asking)
			}),
		}
		a.keyFlag(verb, &key)
		if kind.name == string(events.ReportNeedsInput) {
			asking.add(verb)
		}
		cmd.AddCommand(verb)
	}
	return cmd
}
