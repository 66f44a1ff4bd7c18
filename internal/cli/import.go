package cli

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/spf13/cobra"

	"maestro/api/client"
	"maestro/commands"
	"maestro/internal/failure"
	"maestro/internal/plan"
	"maestro/internal/safetext"
)

// taskImport is `maestro task import`.
type taskImport struct {
	*Run
	cmd *cobra.Command
	o   importOptions
}

func newTaskImport(a *Run) *cobra.Command {
	c := &taskImport{Run: a}
	cmd := &cobra.Command{
		Use:   "import <file>",
		Short: "Make the tasks of a plan, a YAML file; - is stdin",
		Args:  Takes,
		Long: `Make the tasks of a plan, a YAML file that lists them with their parents and dependencies under ids of its own.

The whole plan is checked before anything is made. An import that was interrupted is simply run again, and a plan that is
imported twice unchanged makes nothing new: the commands' keys follow from the plan. (--key makes it another import.)`,
	}
	cmd.RunE = Running(c.run)
	c.cmd = cmd
	projectFlag(cmd, &c.o.project)
	cmd.Flags().StringVar(&c.o.name, "name", "",
		"make a project of this name for the tasks; empty: the plan's own name")
	annotate(cmd, "name", emptyMeans, "the plan's own name")
	a.keyFlag(cmd, &c.o.key)
	return cmd
}

func (c *taskImport) run(ctx context.Context, args []string) error {
	if c.cmd.Flags().Changed("name") && c.o.project != "" {
		return failure.Usage(
			"--project and --name exclude each other: one names a project that there is, the other a new one",
		)
	}
	c.o.newProject = c.cmd.Flags().Changed("name")
	return importPlan(ctx, c.Run, args[0], c.o)
}

type importOptions struct {
	project, name, key string
	newProject         bool
}

// imported is a task that an import made, or found made.
type imported struct {
	LocalID string `json:"localId"`
	// ID is empty for what a dry run would make.
	ID    string `json:"id,omitempty"`
	Title string `json:"title"`
	// Existed says that an earlier import had made it.
	Existed bool `json:"existed,omitempty"`
}

func importPlan(ctx context.Context, a *Run, file string, o importOptions) error {
	content, err := readInput(a, file, plan.MaxBytes)
	if err != nil {
		return err
	}
	p, err := plan.Parse(content)
	if err != nil {
		return planFailure(file, err)
	}
	if o.newProject && o.name == "" {
		if o.name = p.Name; o.name == "" {
			return failure.Usage("The plan has no name for its project").WithNext("give one: --name NAME")
		}
	}
	c, err := a.Connect(ctx)
	if err != nil {
		return err
	}
	i := importing{
		client: c,
		keys:   keysOf(content, o.key),
		ids:    map[string]string{},
		dryRun: a.dryRun,
	}
	if o.newProject {
		err = i.makeProject(ctx, p, o.name)
	} else {
		i.project, err = a.project(ctx, o.project)
	}
	if err != nil {
		return err
	}
	step := i.makeTask
	if a.dryRun {
		step = i.tryTask
	}
	for _, t := range p.Tasks {
		if err := step(ctx, t); err != nil {
			return i.interrupted(err, t, len(p.Tasks))
		}
	}
	showImport(a, i)
	return nil
}

// planFailure shows the first faults of a plan, and how many there are.
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
		Message: fmt.Sprintf("The plan %s has %s, so nothing was made", file, faults),
		Why:     invalid.Error(),
		Next:    "correct the file and import it again",
		Details: map[string]any{"errors": invalid.Faults, "count": invalid.Count},
	}
}

// importing is an import on its way.
type importing struct {
	client  *client.Client
	keys    string
	project string
	// ids gives the id of each local one; done lists them in the order in which they were made.
	ids  map[string]string
	done []imported
	// dryRun makes nothing; ids then holds what there is already. absent says that the project is not there yet.
	dryRun, absent bool
}

// keysOf gives what the keys of an import begin with: the same plan gives the same.
func keysOf(content []byte, key string) string {
	sum := sha256.New()
	_, _ = sum.Write(content) // a hash takes everything
	_, _ = io.WriteString(sum, "\x00"+key)
	return "import-" + hex.EncodeToString(sum.Sum(nil)[:12])
}

func (i *importing) do(ctx context.Context, command string, body any, key string) (string, client.Answer, error) {
	answer, err := i.client.Do(ctx, command, body, client.Options{Key: i.keys + ":" + key, DryRun: i.dryRun})
	if err != nil {
		return "", answer, err
	}
	id, err := made(answer)
	return id, answer, err
}

func (i *importing) makeProject(ctx context.Context, p *plan.Plan, name string) error {
	sum := sha256.Sum256([]byte(name))
	id, answer, err := i.do(ctx, "project:create", &commands.CreateProject{
		Name: name, Description: p.Description, WorkingDir: p.WorkingDir,
	}, "project:"+hex.EncodeToString(sum[:8]))
	i.project, i.absent = id, i.dryRun && !answer.Retried
	return err
}

// tryTask asks whether a task would be made, or is. Parents and dependencies that are not there yet are left out: the
// plan was checked for those. A project that is not there yet refuses nothing.
func (i *importing) tryTask(ctx context.Context, t plan.Task) error {
	task := imported{LocalID: t.ID, Title: t.Title}
	if !i.absent {
		id, answer, err := i.do(ctx, "task:create", i.taskOf(t), "task:"+t.ID)
		if err != nil {
			return err
		}
		if answer.Retried {
			i.ids[t.ID], task.ID, task.Existed = id, id, true
		}
	}
	i.done = append(i.done, task)
	return nil
}

// taskOf gives the command that makes a task, with those of its parent and its dependencies that are there.
func (i *importing) taskOf(t plan.Task) *commands.CreateTask {
	body := &commands.CreateTask{
		In: commands.In{
			Project: i.project,
		},
		Title:              t.Title,
		Description:        t.Description,
		AcceptanceCriteria: t.AcceptanceCriteria,
		Priority:           t.Priority,
		ParentID:           i.ids[t.Parent],
		InitialPrompt:      t.InitialPrompt,
		SkillIDs:           t.Skills,
		Model:              t.Model,
		Metadata:           t.Metadata,
	}
	for _, dependency := range t.Dependencies {
		if id := i.ids[dependency]; id != "" {
			body.Dependencies = append(body.Dependencies, id)
		}
	}
	return body
}

func (i *importing) makeTask(ctx context.Context, t plan.Task) error {
	id, answer, err := i.do(ctx, "task:create", i.taskOf(t), "task:"+t.ID)
	if err != nil {
		return err
	}
	i.ids[t.ID] = id
	i.done = append(i.done, imported{
		LocalID: t.ID,
		ID:      id,
		Title:   t.Title,
		Existed: answer.Retried,
	})
	return nil
}

// interrupted says how far an import came.
func (i *importing) interrupted(err error, t plan.Task, of int) error {
	e := explain(err)
	if i.dryRun {
		return &failure.Error{
			Code:    e.code,
			Err:     err,
			Details: e.details,
			Why:     e.why,
			Next:    e.next,
			Message: fmt.Sprintf("Task %q (line %d) would not be made: %s", t.ID, t.Line, e.message),
		}
	}
	next := fmt.Sprintf("%d of %s are made", len(i.done), Many(of, "task"))
	if e.next != "" { // running it again alone may meet the same refusal
		next += "; " + e.next
	}
	return &failure.Error{
		Code:    e.code,
		Err:     err,
		Details: e.details,
		Why:     e.why,
		Message: fmt.Sprintf("Task %q (line %d) could not be made: %s", t.ID, t.Line, e.message),
		Next:    next + "; then run the import again with the same file: it continues from there",
	}
}

func showImport(a *Run, i importing) {
	data := struct {
		DryRun  bool       `json:"dryRun,omitempty"`
		Project string     `json:"project"`
		Tasks   []imported `json:"tasks"`
	}{i.dryRun, i.project, i.done}
	if i.absent {
		data.Project = ""
	}
	a.Result(data, func() {
		existed := 0
		rows := make([][]string, len(i.done))
		for n, t := range i.done {
			rows[n] = []string{t.LocalID, "->", cmp.Or(t.ID, "new"), safetext.Clip(t.Title, 80)}
			if t.Existed {
				existed++
			}
		}
		a.table(rows)
		earlier := ""
		switch {
		case existed == len(i.done) && existed > 0:
			earlier = fmt.Sprintf("; an earlier import made all %d", existed)
		case existed > 0:
			earlier = fmt.Sprintf("; an earlier import made %d of them", existed)
		}
		switch {
		case i.absent:
			a.Print("Dry run: would make a project and %s in it\n", Many(len(i.done), "task"))
		case i.dryRun:
			a.Print(
				"Dry run: would make %s in project %s; %d exist already\n",
				Many(len(i.done)-existed, "task"),
				i.project,
				existed,
			)
		default:
			a.Print("%s in project %s%s\n", Many(len(i.done), "task"), i.project, earlier)
		}
	})
}
