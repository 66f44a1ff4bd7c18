package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"maestro/api/client"
	"maestro/commands"
	"maestro/internal/failure"
	"maestro/internal/safetext"
	"maestro/service/wire"
	"maestro/workers/preflight"
)

func newProject(a *Run) *cobra.Command {
	return a.group("project", "Projects: what tasks and sessions belong to",
		newProjectList(a), newProjectGet(a), newProjectUse(a), newProjectCreate(a), newProjectUpdate(a),
		newProjectDelete(a))
}

// projectList is `maestro project list`.
type projectList struct {
	*Run
	filter wire.ProjectFilter
}

func newProjectList(a *Run) *cobra.Command {
	c := &projectList{Run: a}
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the projects that you may see",
		Args:  Takes,
		RunE:  Running(c.run),
	}
	bindQuery(cmd, &c.filter)
	a.ListFlags(cmd)
	a.WatchFlag(cmd, "project")
	a.AtFlag(cmd)
	return Tell(cmd, "project:list")
}

func (c *projectList) run(ctx context.Context, _ []string) error {
	projects, err := Ask(ctx, c.Run, (*client.Client).Projects, c.filter)
	if err != nil {
		return err
	}
	if err := c.namedByEnvironment(ctx); err != nil {
		return err
	}
	List(
		c.Run,
		projects,
		"There is no project yet; create one with `maestro project create NAME`",
		[]string{"ID", "NAME", "TASKS", "SESSIONS", "CURRENT"},
		func(p wire.Project) []string {
			current := ""
			if p.ID == c.Getenv(wire.EnvProjectID) {
				current = "current project"
			}
			return []string{
				p.ID,
				safetext.Clip(p.Name, 60),
				Many(p.Tasks, "task"),
				Many(p.Sessions, "session"),
				current,
			}
		},
	)
	return nil
}

// projectGet is `maestro project get`.
type projectGet struct {
	*Run
}

func newProjectGet(a *Run) *cobra.Command {
	c := &projectGet{Run: a}
	cmd := &cobra.Command{
		Use:   "get [<projectId>]",
		Short: "Show a project, the current one if none is named",
		Args:  Takes,
		RunE:  Running(c.run),
	}
	annotated(cmd, inProject, "true")
	a.AtFlag(cmd)
	return Tell(cmd, "project:get")
}

func (c *projectGet) run(ctx context.Context, args []string) error {
	id, err := c.project(ctx, At(args, 0))
	if err != nil {
		return err
	}
	if id == "" {
		return failure.Usage("Name a project").WithNext("name it: `maestro project get ID`")
	}
	p, err := Ask(ctx, c.Run, (*client.Client).Project, id)
	if err != nil {
		return err
	}
	ShowProject(c.Run, p)
	return nil
}

func showProject(a *Run, p wire.Project) {
	a.hanging(p.ID+"  ", p.Name)
	a.Field("Directory", p.WorkingDir)
	a.Field("Holds", Many(p.Tasks, "task")+", "+Many(p.Sessions, "session"))
	a.Field("Created", a.When(p.CreatedAt)+" by "+Who(p.CreatedBy))
	a.longBlock("Description", p.Description, wholeField("description", p.Blobs, p.Redacted))
}

// projectCreate is `maestro project create`.
type projectCreate struct {
	*Run
	fields *fields
	body   commands.CreateProject
	key    string
	quiet  bool
}

func newProjectCreate(a *Run) *cobra.Command {
	c := &projectCreate{Run: a}
	cmd := &cobra.Command{
		Use:   `create "<name>"`,
		Short: "Create a project",
		Args:  Takes,
		RunE:  Running(c.run),
	}
	c.fields = bind(cmd, &c.body)
	a.keyFlag(cmd, &c.key)
	quietFlag(cmd, &c.quiet)
	return Tell(cmd, "project:create", "description", "working-dir")
}

func (c *projectCreate) run(ctx context.Context, args []string) error {
	if err := c.fields.set(args); err != nil {
		return err
	}
	if err := makeAbsolute(&c.body.WorkingDir); err != nil {
		return err
	}
	answer, err := c.send(ctx, "project:create", &c.body, c.key)
	if err == nil || errors.Is(err, errDone) {
		c.warnOfDirectory(ctx, c.body.WorkingDir)
	}
	if err != nil {
		return err
	}
	c.sayNamesakes(ctx, c.body.Name)
	return c.wroteNew(answer, c.quiet, "project", c.body.Name)
}

// makeAbsolute completes a directory that is named from here, as the runner would: no shell replaces the ~ of a plan.
// "" stays.
func makeAbsolute(directory *string) error {
	if *directory == "" {
		return nil
	}
	full, err := preflight.Absolute(*directory)
	var failed *preflight.Failure
	if errors.As(err, &failed) {
		return failure.Usage("%s", safetext.OneLine(failed.Message)).WithNext("%s", failed.Fix)
	}
	*directory = full
	return err
}

// sayNamesakes warns a user with several projects of one name: no command resolves that name.
func (a *Run) sayNamesakes(ctx context.Context, name string) {
	if a.isSession() || a.client == nil {
		return
	}
	named, err := a.client.Projects(ctx, wire.ProjectFilter{Name: name})
	if own := usersOwn(named); err == nil && len(own) > 1 {
		a.Say("maestro: %d projects have the name %q; in commands, name the one you mean by its id: %s\n",
			len(own), safetext.OneLine(name), idsOf(candidates(own, ofProject)))
	}
}

func newProjectUpdate(a *Run) *cobra.Command {
	body := &commands.UpdateProject{}
	cmd := newUpdate(a, body, "update <projectId>", "Change fields of a project",
		"Updated project %[1]s", "name", "description", "working-dir")
	update := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		err := update(cmd, args)
		if body.WorkingDir != nil && (err == nil || errors.Is(err, errDone)) {
			a.warnOfDirectory(cmd.Context(), *body.WorkingDir)
		}
		if err != nil {
			return err
		}
		if body.Name != nil {
			a.sayNamesakes(cmd.Context(), *body.Name)
		}
		return nil
	}
	return cmd
}

func newProjectDelete(a *Run) *cobra.Command {
	return newChange(a, &commands.DeleteProject{}, "delete <projectId>", "Delete an empty project",
		"Deleted project %[1]s")
}
