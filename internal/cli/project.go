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

func (a *Run) projectCommand() *cobra.Command {
	return group("project", "Projects: what tasks and sessions belong to",
		a.projectList(), a.projectGet(), a.projectCreate(), a.projectUpdate(), a.projectDelete())
}

func (a *Run) projectList() *cobra.Command {
	cmd := &cobra.Command{
		Use: "list", Short: "List the projects", Args: Takes(),
		RunE: Running(func(ctx context.Context, _ []string) error {
			projects, err := look(ctx, a, (*client.Client).Projects)
			if err != nil {
				return err
			}
			list(
				a,
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
		}),
	}
	a.listFlags(cmd)
	return cmd
}

func (a *Run) projectGet() *cobra.Command {
	return &cobra.Command{
		Use: "get [ID]", Short: "Show a project", Args: Takes("[ID]"),
		RunE: Running(func(ctx context.Context, args []string) error {
			id, err := a.project(ctx, at(args, 0))
			if err != nil {
				return err
			}
			if id == "" {
				return failure.Usage("Name a project").WithNext("name it: `maestro project get ID`")
			}
			p, err := ask(ctx, a, (*client.Client).Project, id)
			if err != nil {
				return err
			}
			a.Result(p, func() {
				a.Print("%s  %s\n", p.ID, safetext.OneLine(p.Name))
				a.field("Directory", p.WorkingDir)
				a.field("Holds", Many(p.Tasks, "task")+", "+Many(p.Sessions, "session"))
				a.field("Created", instant(p.CreatedAt)+" by "+who(p.CreatedBy))
				a.block("Description", p.Description)
			})
			return nil
		}),
	}
}

func (a *Run) projectCreate() *cobra.Command {
	var body commands.CreateProject
	var key string
	var quiet bool
	cmd := &cobra.Command{
		Use: "create NAME", Short: "Make a project", Args: Takes("NAME"),
		RunE: Running(func(ctx context.Context, args []string) error {
			body.Name = args[0]
			answer, err := a.send(ctx, "project:create", &body, key)
			if err != nil {
				return err
			}
			return a.wroteNew(answer, quiet, "project", body.Name)
		}),
	}
	cmd.Flags().StringVar(&body.Description, "description", "", "what it is for")
	cmd.Flags().StringVar(&body.WorkingDir, "working-dir", "", "where its code is")
	a.keyFlag(cmd, &key)
	quietFlag(cmd, &quiet)
	return cmd
}

func (a *Run) projectUpdate() *cobra.Command {
	var name, description, workingDir, key string
	cmd := &cobra.Command{Use: "update ID", Short: "Give fields of a project new values", Args: Takes("ID")}
	cmd.RunE = Running(func(ctx context.Context, args []string) error {
		body := commands.UpdateProject{
			ProjectID: args[0], Name: given(cmd, "name", name), WorkingDir: given(cmd, "working-dir", workingDir),
			Description: given(cmd, "description", description),
		}
		if body.Name == nil && body.WorkingDir == nil && body.Description == nil {
			return failure.Usage("There is nothing to update").WithNext("use --name, --description or --working-dir")
		}
		return a.change(ctx, "project:update", &body, key, args[0], "Updated project %s", args[0])
	})
	cmd.Flags().StringVar(&name, "name", "", "new name")
	cmd.Flags().StringVar(&description, "description", "", "new description")
	cmd.Flags().StringVar(&workingDir, "working-dir", "", "new working directory")
	a.keyFlag(cmd, &key)
	return cmd
}

func (a *Run) projectDelete() *cobra.Command {
	var key string
	cmd := &cobra.Command{
		Use: "delete ID", Short: "Delete a project that holds nothing", Args: Takes("ID"),
		RunE: Running(func(ctx context.Context, args []string) error {
			return a.change(
				ctx,
				"project:delete",
				&commands.DeleteProject{ProjectID: args[0]},
				key,
				args[0],
				"Deleted project %s",
				args[0],
			)
		}),
	}
	a.keyFlag(cmd, &key)
	return cmd
}
