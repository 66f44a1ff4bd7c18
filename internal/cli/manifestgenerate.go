package cli

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/spf13/cobra"

	"maestro/api/client"
	"maestro/commands"
	"maestro/internal/failure"
	"maestro/service/wire"
	"maestro/workers/manifest"
)

// generating holds the flags that describe a manifest to generate.
type generating struct {
	wire.NewManifest
	contextFile, apiAt, file string
}

// manifestGenerate is `maestro manifest generate`.
type manifestGenerate struct {
	*Run
	fields *fields
	o      generating
}

func newManifestGenerate(a *Run) *cobra.Command {
	c := &manifestGenerate{Run: a}
	cmd := &cobra.Command{
		Use:   "generate",
		Short: "Generate a manifest that you can edit and pass to session spawn --manifest",
		Args:  Takes,
		Long: `Generate a manifest from tasks on the server, and print it. With --file, the
manifest is written to that file, completely or not at all, and only you can
read it. Spawn a session with it: "maestro session spawn --manifest FILE".

--context names a JSON file with any of codebaseContext, relatedTasks,
projectStandards and custom.`,
	}
	cmd.RunE = Running(c.run)
	c.fields = bindAs(cmd, &c.o.NewManifest, &commands.SpawnSession{})
	f := cmd.Flags()
	f.StringVar(&c.o.Project, "project-id", "", "the project; that of the tasks, else MAESTRO_PROJECT_ID if absent")
	f.StringVar(&c.o.contextFile, "context", "", "a JSON file with what else the agent should know")
	f.StringVar(&c.o.apiAt, "api-url", "", "the server's address; MAESTRO_API_URL if absent")
	f.StringVar(&c.o.file, "file", "", "where to write it; printed if absent or -")
	annotated(cmd, oldFile, "true")
	ValueName(cmd, "project-id", "<projectId>")
	ValueName(cmd, "context", "<file>")
	ValueName(cmd, "api-url", "<url>")
	ValueName(cmd, "file", "<file>")
	return Tell(cmd, "manifest:generate", "task-ids!", "role", "strategy", "file")
}

func (c *manifestGenerate) run(ctx context.Context, _ []string) error {
	if err := c.fields.numbers(); err != nil {
		return err
	}
	return generateManifest(ctx, c.Run, c.o)
}

func generateManifest(ctx context.Context, a *Run, o generating) error {
	if o.apiAt != "" {
		a.Env[wire.EnvAPIURL] = o.apiAt
	}
	if o.Project == "" && len(o.TaskIDs) == 0 {
		o.Project = a.Getenv(wire.EnvProjectID)
	}
	err := makeAbsolute(&o.WorkingDirectory)
	if err != nil {
		return err
	}
	if o.Context, err = readContext(a, o.contextFile); err != nil {
		return err
	}
	content, err := Ask(ctx, a, (*client.Client).GenerateManifest, o.NewManifest)
	if err != nil {
		return manifestRefused("the manifest", err)
	}
	m, err := manifest.ParseChecked(content)
	if err != nil {
		return manifestFailure("the manifest", err)
	}
	return giveManifest(a, m, o.file)
}

// giveManifest writes a manifest to a file, or prints it; "-" is stdout, whatever output format is set.
func giveManifest(a *Run, m *manifest.Manifest, file string) error {
	if file == "" || file == "-" {
		if a.JSON && file == "" {
			a.Result(json.RawMessage(m.Canonical()), nil)
			return nil
		}
		a.raw(m.Canonical())
		return nil
	}
	content := m.Canonical()
	if err := writeWhole(file, content); err != nil {
		return err
	}
	a.Result(struct {
		File   string `json:"file"`
		Bytes  int    `json:"bytes"`
		Digest string `json:"digest"`
	}{file, len(content), manifest.Digest(content)}, func() {
		a.Print("Wrote %s, %d bytes, %s\n", file, len(content), manifest.Digest(content))
	})
	return nil
}

// readContext reads the additional context for the agent, and checks it before the server is asked.
func readContext(a *Run, file string) (json.RawMessage, error) {
	if file == "" {
		return nil, nil
	}
	content, err := readFile(a, file)
	if err != nil {
		return nil, err
	}
	if !json.Valid(content) {
		return nil, failure.Usage("The context file %s is not JSON", file).
			WithNext("write an object with any of codebaseContext, relatedTasks, projectStandards and custom; " +
				"see `maestro manifest schema`")
	}
	if _, err := manifest.ParseContext(content); err != nil {
		return nil, manifestFailure("the context file "+file, err)
	}
	return content, nil
}

// manifestRefused lists every fault of a manifest that the server found.
func manifestRefused(what string, err error) error {
	var said *client.Error
	invalid := new(manifest.InvalidError)
	if !errors.As(err, &said) || said.Code != "INVALID_MANIFEST" || said.Pointer != "" ||
		json.Unmarshal(said.Details, invalid) != nil {
		return err
	}
	return manifestFailure(what, invalid)
}
