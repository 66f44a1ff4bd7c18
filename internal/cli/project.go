package cli

import (
	"context"

	"github.com/spf13/cobra"

	"maestro/api/client"
	"maestro/commands"
	"maestro/internal/failure"
	"maestro/internal/safetext"
	"maestro/service/wire"
)

func newProject(a *Run) *cobra.Command {
	return group("project", "Projects: what tasks and sessions belong to",
		newProjectList(a), newProjectGet(a), newProjectCreate(a), newProjectUpdate(a), newProjectDelete(a))
}

// projectList is `maestro project list`.
type projectList struct {
	*Run
}

func newProjectList(a *Run) *cobra.Command {
	c := &projectList{Run: a}
	cmd := &cobra.Command{
		Use: "list", Short: "List the projects", Args: Takes(),
		RunE: Running(c.run),
	}
	a.ListFlags(cmd)
	return cmd
}

func (c *projectList) run(ctx context.Context, _ []string) error {
	projects, err := Look(ctx, c.Run, (*client.Client).Projects)
	if err != nil {
		return err
	}
	List(
		c.Run,
		projects,
		"There is no project yet; make one with `maestro project create NAME`",
		func(p wire.Project) []string {
			return []string{
				p.ID,
				safetext.Clip(p.Name, 60),
				Many(p.Tasks, "task"),
				Many(p.Sessions, "session"),
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
	return &cobra.Command{
		Use: "get [ID]", Short: "Show a project", Args: Takes("[ID]"),
		RunE: Running(c.run),
	}
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
	c.Result(p, func() {
		c.Print("%s  %s\n", p.ID, safetext.OneLine(p.Name))
		c.Field("Directory", p.WorkingDir)
		c.Field("Holds", Many(p.Tasks, "task")+", "+Many(p.Sessions, "session"))
		c.Field("Created", Instant(p.CreatedAt)+" by "+Who(p.CreatedBy))
		c.block("Description", p.Description)
	})
	return nil
}

// projectCreate is `maestro project create`.
type projectCreate struct {
	*Run
	body  commands.CreateProject
	key   string
	quiet bool
}

func newProjectCreate(a *Run) *cobra.Command {
	c := &projectCreate{Run: a}
	cmd := &cobra.Command{
		Use: "create NAME", Short: "Make a project", Args: Takes("NAME"),
		RunE: Running(c.run),
	}
	cmd.Flags().StringVar(&c.body.Description, "description", "", "what it is for")
	cmd.Flags().StringVar(&c.body.WorkingDir, "working-dir", "", "where its code is")
	a.keyFlag(cmd, &c.key)
	quietFlag(cmd, &c.quiet)
	return cmd
}

func (c *projectCreate) run(ctx context.Context, args []string) error {
	c.body.Name = args[0]
	answer, err := c.send(ctx, "project:create", &c.body, c.key)
	if err != nil {
		return err
	}
	return c.wroteNew(answer, c.quiet, "project", c.body.Name)
}

// projectUpdate is `maestro project update`.
type projectUpdate struct {
	*Run
	cmd                                *cobra.Command
	name, description, workingDir, key string
}

func newProjectUpdate(a *Run) *cobra.Command {
	c := &projectUpdate{Run: a}
	cmd := &cobra.Command{Use: "update ID", Short: "Give fields of a project new values", Args: Takes("ID")}
	cmd.RunE = Running(c.run)
	c.cmd = cmd
	cmd.Flags().StringVar(&c.name, "name", "", "new name")
	cmd.Flags().StringVar(&c.description, "description", "", "new description")
	cmd.Flags().StringVar(&c.workingDir, "working-dir", "", "new working directory")
	a.keyFlag(cmd, &c.key)
	return cmd
}

func (c *projectUpdate) run(ctx context.Context, args []string) error {
	body := commands.UpdateProject{
		ProjectID: args[0], Name: given(c.cmd, "name", c.name), WorkingDir: given(c.cmd, "working-dir", c.workingDir),
		Description: given(c.cmd, "description", c.description),
	}
	if body.Name == nil && body.WorkingDir == nil && body.Description == nil {
		return failure.Usage("There is nothing to update").WithNext("use --name, --description or --working-dir")
	}
	return c.change(ctx, "project:update", &body, c.key, args[0], "Updated project %s", args[0])
}

// projectDelete is `maestro project delete`.
type projectDelete struct {
	*Run
	key string
}

func newProjectDelete(a *Run) *cobra.Command {
	c := &projectDelete{Run: a}
	cmd := &cobra.Command{
		Use: "delete ID", Short: "Delete a project that holds nothing", Args: Takes("ID"),
		RunE: Running(c.run),
	}
	a.keyFlag(cmd, &c.key)
	return cmd
}

func (c *projectDelete) run(ctx context.Context, args []string) error {
	return c.change(
		ctx,
		"project:delete",
		&commands.DeleteProject{ProjectID: args[0]},
		c.key,
		args[0],
		"Deleted project %s",
		args[0],
	)
}
