package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"maestro/api/client"
	"maestro/internal/files"
	"maestro/internal/failure"
	"maestro/service/wire"
	"maestro/workers/manifest"
)

func (a *Run) manifestCommand() *cobra.Command {
	return group("manifest", "Manifests: what a session is, in one file",
		a.manifestGenerate(), a.manifestValidate(), a.manifestMigrate(), a.manifestShow(), a.manifestSchema())
}

// generating are the flags of what a manifest is made of.
type generating struct {
	wire.NewManifest
	tasks, skills, allowed     []string
	timeout                    time.Duration
	contextFile, apiAt, output string
}

func (a *Run) manifestGenerate() *cobra.Command {
	var o generating
	cmd := &cobra.Command{
		Use:   "generate",
		Short: "Make a manifest from the server's tasks",
		Args:  Takes(),
		Long: `Make a manifest from the server's tasks. Without --output it is printed; with it, it is written whole or not at all, readable by
you alone. Give it to a session with "maestro session spawn --manifest FILE".

--context names a JSON file with any of codebaseContext, relatedTasks, projectStandards and custom.`,
	}
	cmd.RunE = Running(func(ctx context.Context, _ []string) error {
		if cmd.Flags().Changed("allowed-commands") {
			list := ids(o.allowed)
			o.Allowed = &list
		}
		err := cmp.Or(positive(cmd, "timeout", o.timeout), atLeastOne(cmd, "max-turns", o.MaxTurns))
		if err != nil {
			return err
		}
		return a.generate(ctx, o)
	})
	f := cmd.Flags()
	f.StringVar((*string)(&o.Role), "role", "", "worker (default) or orchestrator")
	f.StringVar(
		(*string)(&o.Strategy),
		"strategy",
		"",
		"worker: simple (default), queue, tree; orchestrator: default, intelligent-batching, dag",
	)
	f.StringVar(&o.Project, "project-id", "", "the project; else MAESTRO_PROJECT_ID")
	f.StringSliceVar(&o.tasks, "task-ids", nil, "the tasks, with commas; the first is the primary one")
	f.StringVar(&o.Model, "model", "", "sonnet (default), opus, haiku or a full name")
	f.StringVar(&o.PermissionMode, "permission-mode", "", "acceptEdits (default), interactive or readOnly")
	f.StringVar(&o.ThinkingMode, "thinking-mode", "", "auto (default), interleaved or disabled")
	f.IntVar(&o.MaxTurns, "max-turns", 0, "turns after which the agent ends")
	f.DurationVar(&o.timeout, "timeout", 0, "how long the session may take, such as 30m")
	f.StringVar(&o.WorkingDirectory, "working-directory", "", "where the agent works; the project's if absent")
	f.StringVar(&o.Agent, "agent", "", "claude (default), codex or gemini")
	f.StringSliceVar(&o.skills, "skills", nil, "skills to load, with commas")
	f.StringSliceVar(
		&o.allowed,
		"allowed-commands",
		nil,
		"exactly these commands and the core ones, with commas; else by role and strategy",
	)
	f.StringVar(&o.TemplateID, "template", "", "template of the prompt")
	f.StringVar(&o.contextFile, "context", "", "a JSON file with what else the agent should know")
	f.StringVar(&o.apiAt, "api-url", "", "the server's address; else MAESTRO_API_URL")
	f.StringVar(&o.output, "output", "", "where to write it; else, or with -, it is printed")
	Complete(cmd, "role", "worker", "orchestrator")
	Complete(cmd, "strategy", "simple", "queue", "tree", "default", "intelligent-batching", "dag")
	Complete(cmd, "permission-mode", "acceptEdits", "interactive", "readOnly")
	Complete(cmd, "thinking-mode", "auto", "interleaved", "disabled")
	Complete(cmd, "agent", "claude", "codex", "gemini")
	return cmd
}

func (a *Run) generate(ctx context.Context, o generating) error {
	if o.apiAt != "" {
		a.Env["MAESTRO_API_URL"] = o.apiAt
	}
	o.TaskIDs, o.Skills, o.Timeout = ids(o.tasks), ids(o.skills), o.timeout.Milliseconds()
	if o.Project == "" && len(o.TaskIDs) == 0 {
		o.Project = a.Getenv("MAESTRO_PROJECT_ID")
	}
	var err error
	if o.Context, err = a.readContext(o.contextFile); err != nil {
		return err
	}
	content, err := ask(ctx, a, (*client.Client).GenerateManifest, o.NewManifest)
	if err != nil {
		return manifestRefused("the manifest", err)
	}
	m, err := manifest.Parse(content)
	if err != nil {
		return manifestFailure("the manifest", err)
	}
	return a.giveManifest(m, o.output)
}

// giveManifest writes a manifest to a file, or prints it; "-" is stdout, whatever form was asked for.
func (a *Run) giveManifest(m *manifest.Manifest, output string) error {
	if output == "" || output == "-" {
		if a.JSON && output == "" {
			a.Result(json.RawMessage(m.Canonical()), nil)
			return nil
		}
		a.raw(m.Canonical())
		return nil
	}
	content := m.Canonical()
	if err := writeWhole(output, content); err != nil {
		return err
	}
	a.Result(struct {
		File   string `json:"file"`
		Bytes  int    `json:"bytes"`
		Digest string `json:"digest"`
	}{output, len(content), manifest.Digest(content)}, func() { a.Print("Wrote %s, %d bytes, %s\n", output, len(content), manifest.Digest(content)) })
	return nil
}

// writeWhole writes a file whole or not at all, for this user alone.
func writeWhole(path string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return notWritten(path, err)
	}
	if err := files.WritePath(path, content); err != nil {
		return notWritten(path, err)
	}
	return nil
}

// readContext reads what else the agent should know, and checks it before the server is asked.
func (a *Run) readContext(file string) (json.RawMessage, error) {
	if file == "" {
		return nil, nil
	}
	content, err := a.readFile(file)
	if err != nil {
		return nil, err
	}
	if !json.Valid(content) {
		return nil, failure.Usage("The context file %s is no JSON", file).
			WithNext("it is an object with any of codebaseContext, relatedTasks, projectStandards and custom; see `maestro manifest schema`")
	}
	if _, err := manifest.ParseContext(content); err != nil {
		return nil, manifestFailure("the context file "+file, err)
	}
	return content, nil
}

// readFile reads a file, or with "-" stdin, up to the size of a manifest.
func (a *Run) readFile(file string) ([]byte, error) {
	content, err := a.readInput(file, manifest.MaxSize)
	if err != nil {
		return nil, err
	}
	if len(content) > manifest.MaxSize {
		return nil, manifestFailure(file, &manifest.InvalidError{Faults: []manifest.Fault{{Message: fmt.Sprintf(
			"the document has more than the %d bytes (16 MiB) that a manifest has at most", manifest.MaxSize,
		)}}})
	}
	return content, nil
}

// manifestRefused says every fault of a manifest that the server found.
func manifestRefused(what string, err error) error {
	var said *client.Error
	invalid := new(manifest.InvalidError)
	if !errors.As(err, &said) || said.Code != "INVALID_MANIFEST" || json.Unmarshal(said.Details, invalid) != nil {
		return err
	}
	return manifestFailure(what, invalid)
}

// manifestFailure says every fault of a manifest.
func manifestFailure(file string, err error) error {
	var invalid *manifest.InvalidError
	if !errors.As(err, &invalid) {
		return err
	}
	var b strings.Builder
	for _, fault := range invalid.Faults {
		b.WriteString("\n  ")
		if fault.Pointer != "" { // else it is about the document, and says so
			b.WriteString(fault.Pointer + ": ")
		}
		b.WriteString(fault.Message)
	}
	if invalid.More > 0 {
		fmt.Fprintf(&b, "\n  and %d more", invalid.More)
	}
	details := map[string]any{"errors": invalid.Faults}
	if invalid.More > 0 {
		details["more"] = invalid.More
	}
	return &failure.Error{
		Status:  http.StatusUnprocessableEntity,
		Code:    "INVALID_MANIFEST",
		Message: "Invalid manifest: " + file + b.String(),
		Why: Many(
			len(invalid.Faults)+invalid.More,
			"fault",
		),
		Next:    "see `maestro manifest schema`",
		Details: details,
		Err:     err,
	}
}

// readManifest reads a manifest file.
func (a *Run) readManifest(file string) (*manifest.Manifest, error) {
	content, err := a.readFile(file)
	if err != nil {
		return nil, err
	}
	m, err := manifest.Parse(content)
	if err != nil {
		return nil, manifestFailure(file, err)
	}
	return m, nil
}

func (a *Run) manifestValidate() *cobra.Command {
	return &cobra.Command{
		Use:   "validate FILE",
		Short: "Check a manifest, and say everything that is wrong with it",
		Args:  Takes("FILE"),
		RunE: Running(func(_ context.Context, args []string) error {
			m, err := a.readManifest(args[0])
			if err != nil {
				return err
			}
			a.Result(struct {
				Valid  bool   `json:"valid"`
				Digest string `json:"digest"`
			}{true, manifest.Digest(m.Canonical())}, func() { a.Print("Valid: %s\n", describeManifest(m)) })
			return nil
		}),
	}
}

func describeManifest(m *manifest.Manifest) string {
	axes := m.Axes()
	return fmt.Sprintf("%s (%s strategy), %s", m.Role, axes.Strategy, Many(len(m.Tasks), "task"))
}

func (a *Run) manifestMigrate() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use: "migrate FILE", Short: "Write an older manifest as today's", Args: Takes("FILE"),
		RunE: Running(func(_ context.Context, args []string) error {
			content, err := a.readFile(args[0])
			if err != nil {
				return err
			}
			migrated, changed, err := manifest.Migrate(content)
			if err != nil {
				return manifestFailure(args[0], err)
			}
			if output == "" {
				output = args[0]
			}
			if output != "-" && (changed || output != args[0]) {
				if err := writeWhole(output, migrated); err != nil {
					return err
				}
			}
			if output == "-" {
				a.raw(migrated)
				return nil
			}
			a.Result(struct {
				File    string `json:"file"`
				Changed bool   `json:"changed"`
			}{output, changed}, func() {
				if changed {
					a.Print("Migrated %s to version %s\n", output, manifest.Version)
				} else {
					a.Print("Nothing to do: %s is of version %s already\n", args[0], manifest.Version)
				}
			})
			return nil
		}),
	}
	cmd.Flags().StringVar(&output, "output", "", "where to write it, - for stdout; else in place")
	return cmd
}

func (a *Run) manifestShow() *cobra.Command {
	var session, output string
	cmd := &cobra.Command{
		Use:   "show [FILE]",
		Short: "Show a manifest: a file, a session's, or this session's own",
		Args:  Takes("[FILE]"),
		RunE: Running(func(ctx context.Context, args []string) error {
			m, err := a.someManifest(ctx, at(args, 0), session)
			if err != nil {
				return err
			}
			if a.JSON || output != "" {
				return a.giveManifest(m, output)
			}
			a.showManifest(m)
			return nil
		}),
	}
	cmd.Flags().StringVar(&session, "session", "", "the session whose manifest it is")
	cmd.Flags().StringVar(&output, "output", "", "write it to this file as it is, - for stdout")
	return cmd
}

// someManifest reads the manifest of a file, or of a session from the server.
func (a *Run) someManifest(ctx context.Context, file, session string) (*manifest.Manifest, error) {
	if file != "" {
		return a.readManifest(file)
	}
	id, err := a.session(session)
	if err != nil {
		return nil, err
	}
	return a.manifestOf(ctx, id)
}

// manifestOf fetches the manifest that the server gave a session.
func (a *Run) manifestOf(ctx context.Context, session string) (*manifest.Manifest, error) {
	content, err := ask(ctx, a, (*client.Client).SessionManifest, session)
	if err != nil {
		return nil, err
	}
	m, err := manifest.Parse(content)
	if err != nil {
		return nil, manifestFailure("of session "+session, err)
	}
	return m, nil
}

func (a *Run) showManifest(m *manifest.Manifest) {
	axes := m.Axes()
	a.Print("%s\n", describeManifest(m))
	a.field("Mode", string(axes.Mode)+", strategy "+string(axes.Strategy))
	var can []string
	for _, c := range axes.Capabilities.List() {
		if c.Enabled {
			can = append(can, strings.TrimPrefix(c.Name, "can_"))
		}
	}
	a.field("Can", strings.Join(can, ", "))
	a.field("Agent", cmp.Or(m.Session.Agent, "claude")+" "+m.Session.Model+", "+string(m.Session.PermissionMode))
	a.field("Directory", m.Session.WorkingDirectory)
	if m.Session.Timeout > 0 {
		a.field("Timeout", (time.Duration(m.Session.Timeout) * time.Millisecond).String())
	}
	a.field("Skills", strings.Join(m.Skills, ", "))
	a.field("Template", m.TemplateID)
	for i, t := range m.Tasks {
		name := "Task"
		if i == 0 {
			name = "Primary"
		}
		a.field(name, t.ID+"  "+t.Title)
	}
	a.field("May", strings.Join(axes.Commands, ", "))
	a.field("Digest", manifest.Digest(m.Canonical()))
}

func (a *Run) manifestSchema() *cobra.Command {
	return &cobra.Command{
		Use: "schema", Short: "Print the JSON Schema of manifests", Args: Takes(),
		RunE: Running(func(_ context.Context, _ []string) error {
			if a.JSON {
				a.Result(json.RawMessage(manifest.Schema()), nil)
				return nil
			}
			a.write(manifest.Schema())
			return nil
		}),
	}
}
