package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"maestro/internal/failure"
	"maestro/workers/manifest"
)

func newManifest(a *Run) *cobra.Command {
	return a.group("manifest", "Manifests: files that describe sessions",
		newManifestGenerate(a), newManifestValidate(a), newManifestMigrate(a), newManifestShow(a), newManifestSchema(a))
}

// manifestValidate is `maestro manifest validate`.
type manifestValidate struct {
	*Run
}

func newManifestValidate(a *Run) *cobra.Command {
	c := &manifestValidate{Run: a}
	return &cobra.Command{
		Use:   "validate <file>",
		Short: "Check a manifest, and list everything that is wrong with it",
		Args:  Takes,
		RunE:  Running(c.run),
	}
}

func (c *manifestValidate) run(_ context.Context, args []string) error {
	m, err := readManifest(c.Run, args[0])
	if err != nil {
		return err
	}
	c.Result(struct {
		Valid  bool   `json:"valid"`
		Digest string `json:"digest"`
	}{true, manifest.Digest(m.Canonical())}, func() { c.Print("Valid: %s\n", describeManifest(m)) })
	return nil
}

func describeManifest(m *manifest.Manifest) string {
	axes := m.Axes()
	return fmt.Sprintf("%s (%s strategy), %s", m.Role, axes.Strategy, Many(len(m.Tasks), "task"))
}

// manifestMigrate is `maestro manifest migrate`.
type manifestMigrate struct {
	*Run
	file  string
	write bool
}

func newManifestMigrate(a *Run) *cobra.Command {
	c := &manifestMigrate{Run: a}
	cmd := &cobra.Command{
		Use:   "migrate <file>",
		Short: "Convert an older manifest to the current version, and print it",
		Long: `Convert an older manifest to the current version, and print it. The file itself
changes only with --write.`,
		Args: Takes,
		RunE: Running(c.run),
	}
	cmd.Flags().StringVar(&c.file, "file", "", "where to write it; printed if absent or -")
	ValueName(cmd, "file", "<file>")
	cmd.Flags().BoolVarP(&c.write, "write", "i", false, "write it to the file that was read")
	Exclude(cmd, "file", "write")
	return cmd
}

func (c *manifestMigrate) run(_ context.Context, args []string) error {
	if c.write && args[0] == "-" {
		return failure.Usage("--write needs a file: stdin cannot be written to").WithNext("leave --write out")
	}
	content, err := readFile(c.Run, args[0])
	if err != nil {
		return err
	}
	migrated, changed, err := manifest.Migrate(content)
	if err != nil {
		return manifestFailure(args[0], err)
	}
	if c.write {
		c.file = args[0]
	}
	if c.file == "" || c.file == "-" {
		if c.JSON && c.file == "" {
			c.Result(json.RawMessage(migrated), nil)
			return nil
		}
		c.raw(migrated)
		return nil
	}
	if changed || !c.write {
		if err := writeWhole(c.file, migrated); err != nil {
			return err
		}
	}
	c.Result(struct {
		File    string `json:"file"`
		Changed bool   `json:"changed"`
	}{c.file, changed}, func() {
		if changed {
			c.Print("Migrated %s to version %s\n", c.file, manifest.Version)
		} else {
			c.Print("Nothing to do: %s already has version %s\n", args[0], manifest.Version)
		}
	})
	return nil
}

// manifestShow is `maestro manifest show`.
type manifestShow struct {
	*Run
	session, file string
}

func newManifestShow(a *Run) *cobra.Command {
	c := &manifestShow{Run: a}
	cmd := &cobra.Command{
		Use:   "show [<file>]",
		Short: "Show a manifest: a file, a session's, or this session's own",
		Args:  Takes,
		RunE:  Running(c.run),
	}
	cmd.Flags().StringVar(&c.session, "session", "", "the session whose manifest it is")
	cmd.Flags().StringVar(&c.file, "file", "", "where to write it as it is; - for stdout")
	ValueName(cmd, "session", "<sessionId>")
	ValueName(cmd, "file", "<file>")
	return Tell(cmd, "manifest:show", "session")
}

func (c *manifestShow) run(ctx context.Context, args []string) error {
	m, err := someManifest(ctx, c.Run, At(args, 0), c.session)
	if err != nil {
		return err
	}
	if c.JSON || c.file != "" {
		return giveManifest(c.Run, m, c.file)
	}
	showManifest(c.Run, m)
	return nil
}

func showManifest(a *Run, m *manifest.Manifest) {
	axes := m.Axes()
	a.Print("%s\n", describeManifest(m))
	a.Field("Mode", string(axes.Mode)+", strategy "+string(axes.Strategy))
	var can []string
	for _, c := range axes.Capabilities.List() {
		if c.Enabled {
			can = append(can, strings.TrimPrefix(c.Name, "can_"))
		}
	}
	a.Field("Can", strings.Join(can, ", "))
	a.Field("Agent", cmp.Or(m.Session.Agent, "claude")+" "+m.Session.Model+", "+string(m.Session.PermissionMode))
	a.Field("Directory", m.Session.WorkingDirectory)
	if m.Session.Timeout > 0 {
		a.Field("Timeout", (time.Duration(m.Session.Timeout) * time.Millisecond).String())
	}
	a.Field("Skills", strings.Join(m.Skills, ", "))
	a.Field("Template", m.TemplateID)
	for i, t := range m.Tasks {
		name := "Task"
		if i == 0 {
			name = "Primary"
		}
		a.Field(name, t.ID+"  "+t.Title)
	}
	a.Field("May", strings.Join(axes.Commands, ", "))
	a.Field("Digest", manifest.Digest(m.Canonical()))
}

// manifestSchema is `maestro manifest schema`.
type manifestSchema struct {
	*Run
}

func newManifestSchema(a *Run) *cobra.Command {
	c := &manifestSchema{Run: a}
	return Tell(&cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of manifests",
		Args:  Takes,
		RunE:  Running(c.run),
	}, "manifest:schema")
}

func (c *manifestSchema) run(_ context.Context, _ []string) error {
	if err := guardHere(c.Run, "manifest:schema"); err != nil {
		return err
	}
	if c.JSON {
		c.Result(json.RawMessage(manifest.Schema()), nil)
		return nil
	}
	c.write(manifest.Schema())
	return nil
}
