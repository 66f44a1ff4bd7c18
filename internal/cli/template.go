package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"maestro/api/client"
	"maestro/commands"
	"maestro/events"
	"maestro/internal/failure"
	"maestro/internal/safetext"
	"maestro/service/wire"
	"maestro/workers/prompt"
)

func newTemplate(a *Run) *cobra.Command {
	return a.group(
		"template",
		"Templates: the workflows that prompts are made from",
		newTemplateList(a),
		newTemplateGet(a),
		newTemplateCreate(a),
		newTemplateUpdate(a),
		newTemplateReset(a),
		newTemplateDelete(a),
	)
}

// templateList is `maestro template list`.
type templateList struct {
	*Run
}

func newTemplateList(a *Run) *cobra.Command {
	c := &templateList{Run: a}
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the templates, built-in ones first",
		Args:  Takes,
		RunE:  Running(c.run),
	}
	a.ListFlags(cmd)
	a.WatchFlag(cmd)
	a.AtFlag(cmd)
	return Tell(cmd, "template:list")
}

func (c *templateList) run(ctx context.Context, _ []string) error {
	templates, err := Look(ctx, c.Run, (*client.Client).Templates)
	if err != nil {
		return err
	}
	columns := []string{"ID", "ROLE", "NAME", "ORIGIN"}
	List(c.Run, templates, "There are no templates", columns, func(t wire.Template) []string {
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
}

// templateGet is `maestro template get`.
type templateGet struct {
	*Run
}

func newTemplateGet(a *Run) *cobra.Command {
	c := &templateGet{Run: a}
	cmd := &cobra.Command{
		Use:   "get <templateId>",
		Short: "Print a template's workflow",
		Args:  Takes,
		RunE:  Running(c.run),
	}
	a.AtFlag(cmd)
	return Tell(cmd, "template:get")
}

func (c *templateGet) run(ctx context.Context, args []string) error {
	t, err := Ask(ctx, c.Run, (*client.Client).Template, args[0])
	if err != nil {
		return err
	}
	c.Result(t, func() { c.raw([]byte(strings.TrimRight(t.Content, "\n") + "\n")) })
	return nil
}

// templateText reads a workflow from a file, - for stdin, and checks it before the server is asked.
func templateText(a *Run, file string) (string, error) {
	content, err := readFile(a, file)
	if err != nil {
		return "", err
	}
	if err := prompt.CheckTemplate(string(content)); err != nil {
		return "", failure.Usage("The template cannot be used: %s", err).
			WithNext("start from a built-in one: `maestro template get execute-simple`")
	}
	return string(content), nil
}

// templateCreate is `maestro template create`.
type templateCreate struct {
	*Run
	fields *fields
	body   commands.CreateTemplate
	key    string
	quiet  bool
}

func newTemplateCreate(a *Run) *cobra.Command {
	c := &templateCreate{Run: a, body: commands.CreateTemplate{Role: events.RoleWorker}}
	cmd := &cobra.Command{
		Use:   `create "<name>" <file>`,
		Short: "Create a prompt template from a file, or from stdin with -",
		Args:  Takes,
		Long: "Create a prompt template from a file, or from stdin with -. To use it, name it with " +
			"`maestro session spawn --template`.",
		RunE: Running(c.run),
	}
	c.fields = bind(cmd, &c.body)
	a.keyFlag(cmd, &c.key)
	quietFlag(cmd, &c.quiet)
	return Tell(cmd, "template:create", "role")
}

func (c *templateCreate) run(ctx context.Context, args []string) error {
	err := c.fields.set(args)
	if err != nil {
		return err
	}
	if c.body.Content, err = templateText(c.Run, args[1]); err != nil {
		return err
	}
	answer, err := c.send(ctx, "template:create", &c.body, c.key)
	if err != nil {
		return err
	}
	return c.wroteNew(answer, c.quiet, "template", c.body.Name)
}

// templateUpdate is `maestro template update`.
type templateUpdate struct {
	*Run
	fields    *fields
	body      commands.UpdateTemplate
	key, file string
}

func newTemplateUpdate(a *Run) *cobra.Command {
	c := &templateUpdate{Run: a}
	cmd := &cobra.Command{
		Use:   "update <templateId>",
		Short: "Change a template's name or workflow; built-in templates too",
		Args:  Takes,
		RunE:  Running(c.run),
	}
	c.fields = bind(cmd, &c.body)
	cmd.Flags().StringVar(&c.file, "file", "", "a file with the new workflow, - for stdin")
	ValueName(cmd, "file", "<file>")
	a.keyFlag(cmd, &c.key)
	return Tell(cmd, "template:update", "name", "file")
}

func (c *templateUpdate) run(ctx context.Context, args []string) error {
	if err := c.fields.set(args); err != nil {
		return err
	}
	if c.file != "" {
		text, err := templateText(c.Run, c.file)
		if err != nil {
			return err
		}
		c.body.Content = &text
	}
	return c.change(ctx, "template:update", &c.body, c.key, args[0], "Updated template %s", args[0])
}

func newTemplateReset(a *Run) *cobra.Command {
	return newChange(a, &commands.ResetTemplate{}, "reset <templateId>",
		"Restore the original workflow of a built-in template", "Reset template %[1]s")
}

func newTemplateDelete(a *Run) *cobra.Command {
	return newChange(a, &commands.DeleteTemplate{}, "delete <templateId>",
		"Delete a template; built-in ones cannot be deleted", "Deleted template %[1]s")
}
