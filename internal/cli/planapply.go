package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"maestro/api/client"
	"maestro/commands"
	"maestro/events"
	"maestro/internal/failure"
	"maestro/internal/plan"
	"maestro/internal/safetext"
	"maestro/service/wire"
)

// planApply is `maestro plan apply`, and `maestro task import`.
type planApply struct {
	*Run
	cmd *cobra.Command
	o   applyOptions
}

func newPlanApply(a *Run) *cobra.Command {
	return newApply(a, "apply <file>", "Create and update tasks from a plan, a YAML file; - is stdin")
}

func newTaskImport(a *Run) *cobra.Command {
	return newApply(a, "import <file>", "Create and update tasks from a plan, as `maestro plan apply`")
}

// samplePlan has every key of a plan.
const samplePlan = `  name: Sign-in                      # the project's name, for --name
  description: Accounts and passwords
  workingDir: /srv/shop
  tasks:
    - id: model                      # your own id: letters, digits, dots, - and _
      title: User model
      description: One row for each user.
      acceptanceCriteria: [The migration runs twice]
      priority: high                 # low, medium, high or critical
      labels: [backend]
      skills: [go]
      model: sonnet
      initialPrompt: Read docs/schema.md first.
      metadata: {ticket: AUTH-7}
    - id: form
      title: Sign-in form
      dependencies: [model]          # can start when these are completed
      tasks:                         # below it; or give a task "parent: form"
        - id: layout
          title: Lay out the form`

func newApply(a *Run, use, short string) *cobra.Command {
	c := &planApply{Run: a}
	cmd := &cobra.Command{
		Use:   use,
		Short: short,
		Args:  Takes,
		Long: `Create and update tasks from a plan: a YAML file that lists tasks with their own
ids, parents and dependencies. If the project already has a task with the plan
id of an entry, that task is updated; otherwise a task is created.

The file determines every field of its tasks except the status: a field that it
omits becomes empty, and an omitted priority becomes medium. Siblings get their
order in the file. Tasks that are not in the file stay as they are.

The answer shows what changed. Applying a plan twice changes nothing. --dry-run
only shows the difference. The whole plan is checked before anything changes.

This plan shows every key. A task needs only an id and a title:

` + samplePlan,
	}
	cmd.RunE = Running(c.run)
	c.cmd = cmd
	projectFlag(cmd, &c.o.project)
	cmd.Flags().StringVar(&c.o.name, "name", "",
		"use the project of this name, and create it if there is none; empty: the plan's own name")
	ValueName(cmd, "name", "<name>")
	annotate(cmd, "name", emptyMeans, "the plan's own name")
	a.keyFlag(cmd, &c.o.key)
	return cmd
}

func (c *planApply) run(ctx context.Context, args []string) error {
	if c.cmd.Flags().Changed("name") && c.o.project != "" {
		return failure.Usage("--project and --name cannot be used together").WithNext("leave one of them out")
	}
	c.o.byName = c.cmd.Flags().Changed("name")
	return applyPlan(ctx, c.Run, args[0], c.o)
}

type applyOptions struct {
	project, name, key string
	// byName says that the plan's project is identified by its name, and created if there is none.
	byName bool
}

func applyPlan(ctx context.Context, a *Run, file string, o applyOptions) error {
	content, err := readInput(a, file, plan.MaxBytes)
	if err != nil {
		return err
	}
	p, err := plan.Parse(content)
	if err != nil {
		return planFailure(file, err)
	}
	if o.byName && o.name == "" {
		if o.name = p.Name; o.name == "" {
			return failure.Usage("The plan has no name for its project").WithNext("give one: --name NAME")
		}
	}
	c, err := a.Connect(ctx)
	if err != nil {
		return err
	}
	i := applying{
		Diff:   plan.NewDiff(content, o.key),
		client: c,
		key:    o.key,
		dryRun: a.dryRun,
		user:   !a.isSession(),
	}
	if err := i.permitted(ctx); err != nil {
		return err
	}
	if !o.byName {
		i.Project, err = a.project(ctx, o.project)
		if errors.Is(err, errNoProject) && p.Name != "" { // the first plan of a home creates its own
			o.byName, o.name = true, p.Name
		}
	}
	if o.byName {
		if err = i.projectNamed(ctx, p, o.name); err == nil {
			a.warnOfDirectory(ctx, i.directory)
		}
	}
	if err == nil && !i.absent {
		err = i.look(ctx, p)
	}
	if err != nil {
		return err
	}
	if !o.byName && o.project == "" && p.Name != "" {
		i.sayWhereTo(ctx, a, p.Name)
	}
	defer i.warn(a)
	for n := range p.Tasks {
		if err := i.applyOrDetach(ctx, p, n); err != nil {
			return i.interrupted(err, p.Tasks[n], ofMany(len(i.Done), len(p.Tasks), "task")+" are done")
		}
	}
	for n := range p.Tasks {
		if err := i.later(ctx, &p.Tasks[n]); err != nil {
			return i.interrupted(err, p.Tasks[n], ofMany(len(i.Done), len(p.Tasks), "task")+" are done")
		}
	}
	if err := i.order(ctx, p); err != nil {
		return err
	}
	showApplied(a, i)
	i.sayUnqueued(ctx, a)
	return nil
}

// permitted refuses a plan that the session may not apply, before anything of it is applied.
func (i *applying) permitted(ctx context.Context) error {
	if i.user {
		return nil
	}
	needed, _ := commands.Needs("plan:apply")
	check, err := firstRefused(ctx, i.client, needed...)
	if err != nil || check == nil {
		return err
	}
	return &failure.Error{
		Code:    failure.NotAllowed,
		Message: "This session may apply no plan",
		Why: "it needs " + strings.Join(needed, ", ") + "; of these, " + check.Command + " is refused: " +
			check.Why,
		Next: check.Next,
	}
}

// planFailure shows the first faults of a plan, and their number.
func planFailure(file string, err error) error {
	var invalid *plan.InvalidError
	if !errors.As(err, &invalid) {
		return err
	}
	faults := Many(invalid.Count, "fault")
	if invalid.Cut {
		faults = fmt.Sprintf("%d or more faults", invalid.Count)
	}
	return &failure.Error{
		Status:  http.StatusBadRequest,
		Code:    "INVALID_PLAN",
		Message: fmt.Sprintf("The plan %s has %s, so nothing was changed", file, faults),
		Why:     invalid.Error(),
		Next:    "correct the file and apply it again",
		Details: map[string]any{"errors": invalid.Faults, "count": invalid.Count},
	}
}

// applying is an apply in progress.
type applying struct {
	*plan.Diff
	client *client.Client
	// key is the given key, "" for none.
	key string
	// dryRun changes nothing. absent says that the project does not exist yet, user that no session applies the plan.
	dryRun, absent, user bool
	// detachedAll says that tasks were detached.
	detachedAll bool
	// directory is that of a project that was created.
	directory string
	// warnings are those of the server, without repetitions.
	warnings []string
}

func (i *applying) do(ctx context.Context, command string, body any, key string) (client.Answer, error) {
	answer, err := i.client.Do(ctx, command, body, client.Options{Key: key, DryRun: i.dryRun})
	for _, warning := range answer.Warnings {
		if !slices.Contains(i.warnings, warning) { // of several updates of one task
			i.warnings = append(i.warnings, warning)
		}
	}
	return answer, err
}

// projectNamed finds the project with a name, or creates it.
func (i *applying) projectNamed(ctx context.Context, p *plan.Plan, name string) error {
	projects, err := i.client.Projects(ctx, wire.ProjectFilter{Name: name})
	if err != nil {
		return err
	}
	meant := projects
	if i.user {
		meant = usersOwn(projects)
	}
	switch {
	case len(meant) == 1:
		i.Project = meant[0].ID
		return nil
	case len(meant) > 1:
		return sameName(name, meant)
	case len(projects) > 0:
		f := failure.Usage(
			"Project %q was created by session '%s': %s", name, makingSession(projects[0]), projects[0].ID).
			WithNext("use it with --project %s, or create yours with `maestro project create`", projects[0].ID)
		f.Why = "Maestro puts your plan into a session's project only if you name that project by its id"
		return f
	}
	body := &commands.CreateProject{Name: name, Description: p.Description, WorkingDir: p.WorkingDir}
	if err := makeAbsolute(&body.WorkingDir); err != nil {
		return err
	}
	i.directory = body.WorkingDir
	if i.absent = i.dryRun; i.key == "" && !i.dryRun {
		i.Project, err = i.createNamed(ctx, body)
	} else {
		var answer client.Answer
		if answer, err = i.do(ctx, "project:create", body, i.key); err == nil {
			i.Project, err = made(answer)
		}
	}
	if err != nil || i.dryRun {
		return err
	}
	i.Project, err = i.onlyOne(ctx, name, i.Project)
	return err
}

// look finds the plan's tasks: those with its ids, and those that it names by their ids in the project, as an export
// does.
func (i *applying) look(ctx context.Context, p *plan.Plan) error {
	planned, err := i.client.Tasks(ctx, wire.TaskFilter{ProjectID: i.Project, Planned: "true"})
	if err != nil {
		return err
	}
	for _, id := range i.Found(p, planned) {
		task, err := i.client.Task(ctx, id)
		if exitCode(err) == ExitNotFound {
			continue
		}
		if err != nil {
			return err
		}
		i.Named(task)
	}
	return nil
}

func (i *applying) apply(ctx context.Context, t *plan.Task) error {
	task, there := i.There(t)
	if !there {
		id, err := i.create(ctx, t)
		if err == nil {
			i.Apply(t, id, nil)
		}
		return err
	}
	changed, err := i.update(ctx, &task, t)
	if err == nil {
		i.Apply(t, task.ID, changed)
	}
	return err
}

// create creates a task. A task that was deleted since is created again, with another key.
func (i *applying) create(ctx context.Context, t *plan.Task) (string, error) {
	if i.absent {
		return "", nil
	}
	body, key := i.Create(t)
	rest := plan.SplitCreate(body)
	answer, err := i.do(ctx, "task:create", body, key)
	if err == nil && answer.Retried {
		answer, err = i.do(ctx, "task:create", body, "")
	}
	if err != nil || i.dryRun {
		return "", err
	}
	id, err := made(answer)
	for _, update := range rest {
		if err == nil {
			update.TaskID = id
			_, err = i.do(ctx, "task:update", update, "")
		}
	}
	return id, err
}

// update sets a task's fields to those of the plan, and names those that changed. The server determines the
// differences.
func (i *applying) update(ctx context.Context, task *wire.Task, t *plan.Task) ([]string, error) {
	body, key := i.Update(task, t, !i.dryRun)
	var fields []string
	for n, part := range append([]*commands.UpdateTask{body}, plan.SplitUpdate(body)...) {
		if n > 0 && key != "" {
			key += ":more"
		}
		answer, err := i.do(ctx, "task:update", part, key)
		if err != nil {
			return nil, err
		}
		data, err := dataOf(answer)
		if err != nil {
			return nil, err
		}
		if update, ok := data.(*events.TaskUpdated); ok {
			fields = append(fields, update.Fields()...)
		}
	}
	if i.dryRun {
		fields = append(fields, i.Moves(task, t)...)
	}
	return fields, nil
}

// later gives a task the dependencies that were not there when it was applied.
func (i *applying) later(ctx context.Context, t *plan.Task) error {
	update, key := i.Later(t)
	if update == nil || i.dryRun {
		return nil
	}
	if _, err := i.do(ctx, "task:update", update, key); err != nil {
		return err
	}
	i.Depends(t)
	return nil
}

// order sorts siblings into the order of the plan. It runs last, once all tasks are below their parents.
func (i *applying) order(ctx context.Context, p *plan.Plan) error {
	var there []string
	if !i.absent {
		tasks, err := i.client.Tasks(ctx, wire.TaskFilter{ProjectID: i.Project, Order: "siblings"})
		if err != nil {
			return err
		}
		for _, t := range tasks {
			there = append(there, t.ID)
		}
	}
	moves := i.Order(p, there)
	for n, m := range moves {
		if err := i.place(ctx, m); err != nil {
			return i.interrupted(err, *m.Task, ofMany(len(p.Tasks), len(p.Tasks), "task")+" are done, and "+
				ofMany(n, len(moves), "move"))
		}
		i.Moved(m.Task)
	}
	return nil
}

// place puts a task next to a sibling. A dry run tries it only if both stand below their parent already.
func (i *applying) place(ctx context.Context, m plan.Reorder) error {
	if i.dryRun && !i.Stand(m) {
		return nil
	}
	body, key := i.Place(m)
	_, err := i.do(ctx, "task:update", body, key)
	return err
}

func showApplied(a *Run, i applying) {
	data := struct {
		DryRun    bool           `json:"dryRun,omitempty"`
		Project   string         `json:"project"`
		Tasks     []plan.Applied `json:"tasks"`
		Created   int            `json:"created"`
		Updated   int            `json:"updated"`
		Unchanged int            `json:"unchanged"`
		// NotInPlan counts the project's other tasks that come from a plan.
		NotInPlan int `json:"notInPlan,omitempty"`
	}{
		DryRun:    i.dryRun,
		Project:   i.Project,
		Tasks:     i.Done,
		Created:   i.Count(plan.Created),
		Updated:   i.Count(plan.Updated),
		Unchanged: i.Count(plan.Unchanged),
		NotInPlan: len(i.Beside),
	}
	if i.absent {
		data.Project = ""
	}
	rows := make([][]string, len(i.Done))
	for n, t := range i.Done {
		action := string(t.Action)
		if t.Action == plan.Updated {
			action += " (" + strings.Join(t.Changed, ", ") + ")"
		}
		rows[n] = []string{t.LocalID, "->", cmp.Or(t.ID, "new"), action, safetext.Clip(t.Title, 80)}
	}
	a.Result(data, func() {
		a.table([]string{"PLAN ID", "", "TASK", "STATUS", "TITLE"}, rows)
		where := "project " + data.Project
		if i.absent {
			where = "a new project"
		}
		counts := fmt.Sprintf("%d created, %d updated, %d unchanged", data.Created, data.Updated, data.Unchanged)
		if i.dryRun {
			a.Print("Dry run: nothing was changed. ")
		}
		a.Print("%s in %s: %s\n", Many(len(i.Done), "task"), where, counts)
		if len(i.Beside) > 0 {
			a.Print("Not in the file, and unchanged: %s\n", ofEarlierPlans(i.Beside))
		}
	})
}
