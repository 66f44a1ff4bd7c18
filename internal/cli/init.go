package cli

import (
	"context"
	"os"

	"github.com/spf13/cobra"

	"maestro/api/client"
	"maestro/commands"
	"maestro/events"
	"maestro/internal/failure"
	"maestro/internal/home"
	"maestro/service/wire"
	"maestro/workers/manifest"
	"maestro/workers/supervisor"
)

func newWorker(a *Run) *cobra.Command {
	return a.group("worker", "Print a worker's prompts, and register its session", newInit(a, events.RoleWorker))
}

func newOrchestrator(a *Run) *cobra.Command {
	return a.group("orchestrator", "Print an orchestrator's prompts, and register its session",
		newInit(a, events.RoleOrchestrator))
}

// initOptions are the flags of init.
type initOptions struct {
	file, part, session, key string
	force, launch, printed   bool
	fix, git                 bool
}

func newInit(a *Run, role events.Role) *cobra.Command {
	var o initOptions
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Check the session's manifest, register the session and print its prompts; run this first",
		Args:  Takes,
		Long: `Check this session's manifest against the recorded one, register the session,
and print the agent's prompts: the system prompt, then the task prompt. With
--json, both are members of the answer.

In a terminal, the command launches the agent with these prompts instead, in
the current directory unless the session has one of its own, and ends when the
agent does. If the session has an agent already, it says so. With --print, it
only prints.

A user can create a session from a manifest written by hand. The command checks
and stores the manifest, which is then like any other, and prints the session's
environment.`,
	}
	cmd.RunE = Running(func(ctx context.Context, _ []string) error {
		o.printed = cmd.Flags().Changed("print")
		return initSession(ctx, a, role, o)
	})
	f := cmd.Flags()
	f.StringVar(
		&o.file,
		"manifest",
		"",
		"the manifest; else MAESTRO_MANIFEST_PATH, else the home's, else the server's",
	)
	f.StringVar(&o.part, "print", "both", "system, task, or both")
	f.StringVar(&o.session, "session", "", "for a user: the id of the session that is created; a new one if absent")
	ValueName(cmd, "manifest", "<file>")
	ValueName(cmd, "session", "<sessionId>")
	f.BoolVar(&o.launch, "launch", false, "launch the agent, also if this is not a terminal")
	f.BoolVar(&o.fix, "fix-permissions", false,
		"for a launch: change the permissions of a working directory that the agent cannot read and write")
	f.BoolVar(&o.git, "allow-git-config", false,
		"for a launch: let the agent change git's hooks and configuration there; your git runs what is in them")
	f.BoolVar(&o.force, "force", false,
		"for a user: create it even if dependencies of its tasks are not completed")
	a.keyFlag(cmd, &o.key)
	Complete(cmd, "print", "system", "task", "both")
	return Tell(cmd, string(role)+":init")
}

func initSession(ctx context.Context, a *Run, role events.Role, o initOptions) error {
	if o.part == "all" {
		o.part = "both"
	}
	if o.part != "system" && o.part != "task" && o.part != "both" {
		return failure.Usage("--print is system, task or both, not %q", o.part)
	}
	if o.launch && o.printed {
		return failure.Usage("--launch and --print exclude each other").
			WithNext("leave --launch out to print the prompts, and --print to launch the agent")
	}
	if !a.isSession() {
		return initByUser(ctx, a, role, o)
	}
	id := a.sessionID()
	if o.session != "" && o.session != id {
		return failure.Usage("This process is session %s, not %s", id, o.session).WithNext("leave --session out")
	}
	m, err := ownManifest(ctx, a, o.file, id)
	if err != nil {
		return err
	}
	if o.mayLaunch(a) {
		x, err := Ask(ctx, a, (*client.Client).Session, id)
		if err != nil {
			return err
		}
		if !hasRun(x) || hasFailed(x) {
			return launchHere(ctx, a, x, m, o)
		}
		if o.launch || !a.throughSocket() { // the agent itself may have a terminal, and reads its prompts
			return hasAgent(a, x, x.Run.Runner)
		}
	}
	answer, err := a.send(
		ctx,
		string(role)+":init",
		&commands.InitSession{ManifestDigest: manifest.Digest(m.Canonical())},
		o.key,
	)
	if err != nil {
		return err
	}
	told, err := promptsFor(ctx, a, m, id)
	if err != nil {
		return err
	}
	a.waiting = nil // whoever runs this may not be the agent, which sees its mail with its first command
	a.Result(struct {
		written
		prompts
	}{writtenOf(answer, id), told}, func() {
		if o.part != "task" {
			a.raw([]byte(told.System))
		}
		if o.part != "system" {
			a.raw([]byte(told.Task))
		}
	})
	return nil
}

// prompts are the prompts of an agent.
type prompts struct {
	System string `json:"systemPrompt"`
	Task   string `json:"taskPrompt"`
}

// promptsFor renders the prompts of a session's agent.
func promptsFor(ctx context.Context, a *Run, m *manifest.Manifest, id string) (prompts, error) {
	server, err := a.Connect(ctx)
	if err != nil {
		return prompts{}, err
	}
	told, err := supervisor.RenderPrompts(ctx, server, m, id, a.Getenv(wire.EnvProjectID), "", nil)
	return prompts{told.System, told.Task}, err
}

// ownManifest reads this session's manifest: from the named file, the path in the environment, the home, or the server.
// A copy that a power cut left empty counts as none.
func ownManifest(ctx context.Context, a *Run, file, session string) (*manifest.Manifest, error) {
	if file == "" {
		file = manifestFile(a, session)
	}
	if file != "" {
		return readManifest(a, file)
	}
	return manifestOf(ctx, a, session)
}

// manifestFile returns the path of the copy of a session's manifest on this machine, or "" if there is none: the server
// has it too.
func manifestFile(a *Run, session string) string {
	files := []string{a.Getenv(wire.EnvManifestPath)}
	if h := a.openHome(); h != nil {
		files = append(files, h.ManifestPath(session))
		_ = h.Close()
	}
	for _, file := range files {
		// Another process could put a pipe there, and reading it would block.
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && info.Size() > 0 {
			return file
		}
	}
	return ""
}

// guardHere refuses, in the server's words, what this session's manifest forbids. The server decides every call that
// reaches it, and records its refusals; this is for the other commands. Without a readable manifest it permits
// everything.
func guardHere(a *Run, id string) error {
	if !a.isSession() {
		return nil
	}
	file := manifestFile(a, a.sessionID())
	if file == "" {
		return nil
	}
	m, err := readManifest(a, file)
	if err != nil {
		return nil
	}
	axes := m.Axes()
	return refusedHere(commands.PermitListed(commands.CurrentRules(), m.Role, axes.Strategy, axes.Commands, id))
}

// initByUser creates a session from a manifest that was written by hand.
func initByUser(ctx context.Context, a *Run, role events.Role, o initOptions) error {
	if o.file == "" {
		what := "is not set"
		if _, set := a.Env[wire.EnvSessionID]; set {
			what = "is set, but empty"
		}
		return failure.Usage("No session: %s %s", wire.EnvSessionID, what).
			WithNext(
				"set the environment that the spawn of a session printed, or name a manifest with --manifest FILE")
	}
	m, err := uploadManifest(ctx, a, o.file, role)
	if err != nil {
		return err
	}
	body := &commands.RegisterSession{
		SessionID:      o.session,
		Create:         true,
		Force:          o.force,
		ManifestDigest: manifest.Digest(m.Canonical()),
	}
	if body.Project, err = projectOfManifest(ctx, a, m, ""); err != nil {
		return err
	}
	answer, err := a.send(ctx, "session:register", body, o.key)
	if err != nil {
		return err
	}
	return showSpawned(ctx, a, answer, false)
}

// projectOfManifest returns the project of a session that is created from a manifest: the named one, or that of its
// tasks.
func projectOfManifest(ctx context.Context, a *Run, m *manifest.Manifest, named string) (string, error) {
	if named == "" && len(m.Tasks) > 0 {
		return m.Tasks[0].ProjectID, nil
	}
	return a.project(ctx, named)
}

// uploadManifest checks a manifest file and stores it on the server, where its digest names it.
func uploadManifest(ctx context.Context, a *Run, file string, role events.Role) (*manifest.Manifest, error) {
	m, err := readManifest(a, file)
	if err != nil {
		return nil, err
	}
	if role != "" && m.Role != role {
		return nil, failure.Usage("The manifest is for role %s", m.Role).WithNext("use it with that role")
	}
	_, err = Ask(ctx, a, (*client.Client).StoreManifest, m.Canonical())
	return m, err
}

// placeManifest puts a copy of a session's manifest into this home, and returns its path; "" if there is none.
func placeManifest(ctx context.Context, a *Run, session string) string {
	m, err := manifestOf(ctx, a, session)
	if err != nil {
		return ""
	}
	path, err := home.Path(a.Getenv)
	if err != nil {
		return ""
	}
	h, err := home.Create(path)
	if err != nil {
		a.Say("maestro: the manifest is not put into the home: %s\n", err)
		return ""
	}
	defer func() { _ = h.Close() }()
	if err := h.PlaceManifest(session, m.Canonical()); err != nil {
		a.Say("maestro: the manifest is not put into the home: %s\n", err)
		return ""
	}
	return h.ManifestPath(session)
}
