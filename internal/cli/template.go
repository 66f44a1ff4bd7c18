package cli

import (
	"context"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"maestro/api/client"
	"maestro/commands"
	"maestro/internal/failure"
	"maestro/internal/safetext"
	"maestro/service/wire"
	"maestro/workers/manifest"
	"maestro/workers/prompt"
)

func (a *Run) templateCommand() *cobra.Command {
	return group("template", "Templates: the workflows that prompts are made from",
		a.templateList(), a.templateGet(), a.templateCreate(), a.templateUpdate(), a.templateReset(), a.templateDelete())
}

func (a *Run) templateList() *cobra.Command {
	cmd := &cobra.Command{
		Use: "list", Short: "List the templates, Maestro's own first", Args: Takes(),
		RunE: Running(func(ctx context.Context, _ []string) error {
			templates, err := look(ctx, a, (*client.Client).Templates)
			if err != nil {
				return err
			}
			list(a, templates, "There are no templates", func(t wire.Template) []string {
				about := ""
				switch {
				case t.IsDefault && t.Changed:
					about = "Maestro's own, changed"
				case t.IsDefault:
					about = "Maestro's own"
				}
				return []string{t.ID, string(t.Role), safetext.Clip(t.Name, 60), about}
			})
			return nil
		}),
	}
	a.listFlags(cmd)
	return cmd
}

func (a *Run) templateGet() *cobra.Command {
	return &cobra.Command{
		Use: "get ID", Short: "Print a template's workflow", Args: Takes("ID"),
		RunE: Running(func(ctx context.Context, args []string) error {
			t, err := ask(ctx, a, (*client.Client).Template, args[0])
			if err != nil {
				return err
			}
			a.Result(t, func() { a.Print("%s\n", strings.TrimRight(t.Content, "\n")) })
			return nil
		}),
	}
}

// templateText reads a workflow from a file, - for stdin, and checks it before anybody is asked.
func (a *Run) templateText(file string) (string, error) {
	content, err := a.readFile(file)
	if err != nil {
		return "", err
	}
	if err := prompt.CheckTemplate(string(content)); err != nil {
		return "", failure.Usage("The template cannot be used: %s", err).WithNext("begin with one of Maestro's own: `maestro template get execute-simple`")
	}
	return string(content), nil
}

func (a *Run) templateCreate() *cobra.Command {
	var body commands.CreateTemplate
	var key string
	var quiet bool
	cmd := &cobra.Command{
		Use: "create NAME FILE", Short: "Make a template of a file, - for stdin; name it at a spawn with --template", Args: Takes("NAME", "FILE"),
		RunE: Running(func(ctx context.Context, args []string) error {
			var err error
			body.Name = args[0]
			if body.Content, err = a.templateText(args[1]); err != nil {
				return err
			}
			answer, err := a.send(ctx, "template:create", &body, key)
			if err != nil {
				return err
			}
			return a.wroteNew(answer, quiet, "template", body.Name)
		}),
	}
	cmd.Flags().StringVar((*string)(&body.Role), "role", "worker", "worker or orchestrator")
	Complete(cmd, "role", "worker", "orchestrator")
	a.keyFlag(cmd, &key)
	quietFlag(cmd, &quiet)
	return cmd
}

func (a *Run) templateUpdate() *cobra.Command {
	var body commands.UpdateTemplate
	var key, name, file string
	cmd := &cobra.Command{Use: "update ID", Short: "Give a template another name or workflow; Maestro's own too", Args: Takes("ID")}
	cmd.RunE = Running(func(ctx context.Context, args []string) error {
		body.TemplateID, body.Name = args[0], given(cmd, "name", name)
		if file != "" {
			text, err := a.templateText(file)
			if err != nil {
				return err
			}
			body.Content = &text
		}
		return a.change(ctx, "template:update", &body, key, args[0], "Updated template %s", args[0])
	})
	cmd.Flags().StringVar(&name, "name", "", "new name")
	cmd.Flags().StringVar(&file, "file", "", "a file with the new workflow, - for stdin")
	a.keyFlag(cmd, &key)
	return cmd
}

func (a *Run) templateReset() *cobra.Command {
	var key string
	cmd := &cobra.Command{
		Use: "reset ID", Short: "Give a template the workflow that Maestro comes with", Args: Takes("ID"),
		RunE: Running(func(ctx context.Context, args []string) error {
			return a.change(ctx, "template:reset", &commands.ResetTemplate{TemplateID: args[0]}, key, args[0], "Reset template %s", args[0])
		}),
	}
	a.keyFlag(cmd, &key)
	return cmd
}

func (a *Run) templateDelete() *cobra.Command {
	var key string
	cmd := &cobra.Command{
		Use: "delete ID", Short: "Delete a template; Maestro's own stay", Args: Takes("ID"),
		RunE: Running(func(ctx context.Context, args []string) error {
			return a.change(ctx, "template:delete", &commands.DeleteTemplate{TemplateID: args[0]}, key, args[0], "Deleted template %s", args[0])
		}),
	}
	a.keyFlag(cmd, &key)
	return cmd
}

// storedTemplates are the workflows that a prompt is written by, as the server has them.
type storedTemplates map[string]string

// Template implements prompt.Templates.
func (t storedTemplates) Template(id string) (string, bool) {
	text, ok := t[id]
	return text, ok
}

// templatesOf fetches the workflow that a manifest's prompt is written by: the one that it names, or that of its mode and
// strategy. One that is not there is left to the renderer, which says so.
func (a *Run) templatesOf(ctx context.Context, m *manifest.Manifest) (prompt.Templates, error) {
	axes := m.Axes()
	stored := storedTemplates{}
	for _, id := range []string{m.TemplateID, string(axes.Mode) + "-" + string(axes.Strategy)} {
		if id == "" {
			continue
		}
		switch t, err := ask(ctx, a, (*client.Client).Template, id); {
		case err == nil:
			stored[id] = t.Content
		case exitCode(err) != ExitNotFound:
			return nil, err
		default:
			return nil, &failure.Error{
				Status: http.StatusNotFound, Code: "NOT_FOUND", Message: "Template with id '" + id + "' not found",
				Why:  "the session's manifest names it, and it was deleted since",
				Next: "let a user issue the manifest again without it, with `maestro session update SESSION --manifest FILE`, and begin again",
			}
		}
	}
	return stored, nil
}
