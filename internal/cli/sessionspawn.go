package cli

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"maestro/api/client"
	"maestro/commands"
	"maestro/events"
	"maestro/internal/safetext"
	"maestro/service/wire"
	"maestro/workers/manifest"
)

// sessionSpawn is `maestro session spawn`.
type sessionSpawn struct {
	*Run
	cmd    *cobra.Command
	fields *fields
	body   commands.SpawnSession
	key    string
	quiet  bool
	file   string
}

func newSessionSpawn(a *Run) *cobra.Command {
	c := &sessionSpawn{Run: a}
	cmd := &cobra.Command{
		Use:   "spawn",
		Short: "Spawn a session for tasks whose dependencies are completed",
		Args:  Takes,
		Long: "Spawn a session: its tasks move to in_progress, its permissions are frozen, and it gets a secret of " +
			"its own.\n\nThe server's runner launches its agent: follow it with `maestro session logs <sessionId> " +
			"--follow`.\nWith --runner none, or if the server has no runner, nobody does: the command prints the " +
			"environment\nthat the agent needs, with the secret; -q prints only the id, for `maestro session exec " +
			"<sessionId> -- <command>`.",
		RunE: Running(c.run),
	}
	c.cmd = cmd
	projectFlag(cmd, &c.body.Project)
	c.fields = bind(cmd, &c.body)
	cmd.Flags().StringVar(&c.file, "manifest", "",
		"a manifest that you wrote or generated; it gives role, strategy, tasks and commands")
	ValueName(cmd, "manifest", "<file>")
	a.keyFlag(cmd, &c.key)
	quietFlag(cmd, &c.quiet)
	annotated(cmd, exportsSession, "true")
	return Tell(cmd, "session:spawn", "task-ids!", "role", "strategy", "name", "agent", "model", "skills",
		"allowed-commands", "like", "queue", "timeout", "quiet")
}

func (c *sessionSpawn) run(ctx context.Context, _ []string) error {
	err := c.fields.numbers()
	if err != nil {
		return err
	}
	if err := makeAbsolute(&c.body.WorkingDirectory); err != nil {
		return err
	}
	var m *manifest.Manifest
	switch {
	case c.file != "":
		m, err = spawnWith(ctx, c.Run, c.file, &c.body)
	case c.body.Like != nil && len(c.body.TaskIDs) == 0 && !c.cmd.Flags().Changed("project"):
		c.body.Project = "" // that of the other session
	default:
		c.body.Project, err = c.project(ctx, c.body.Project, c.body.TaskIDs...)
	}
	if err != nil {
		return err
	}
	if err := c.refuseDirectory(ctx, m); err != nil {
		return err
	}
	answer, err := c.send(ctx, "session:spawn", &c.body, c.key)
	if err != nil {
		return err
	}
	return showSpawned(ctx, c.Run, answer, c.quiet)
}

// spawnWith uses a manifest to describe the session. The server refuses flags that contradict it.
func spawnWith(
	ctx context.Context, a *Run, file string, body *commands.SpawnSession,
) (m *manifest.Manifest, err error) {
	if m, err = uploadManifest(ctx, a, file, body.Role); err != nil {
		return nil, err
	}
	body.ManifestDigest = manifest.Digest(m.Canonical())
	body.Project, err = projectOfManifest(ctx, a, m, body.Project)
	return m, err
}

// sessionMade is the JSON output of a command that creates a session.
type sessionMade struct {
	written
	SessionID string            `json:"sessionId"`
	Env       map[string]string `json:"env"`
	Unmet     []string          `json:"unmetDependencies,omitempty"`
}

// showSpawned prints a new session and what its agent needs to know.
func showSpawned(ctx context.Context, a *Run, answer client.Answer, quiet bool) error {
	data, err := dataOf(answer)
	if err != nil {
		return err
	}
	server, err := a.Connect(ctx)
	if err != nil {
		return err
	}
	var project, about, runner string
	session := sessionMade{}
	strategy := events.StrategySimple
	switch d := data.(type) {
	case *events.SessionSpawned:
		session.SessionID, session.Unmet, strategy = d.SessionID, d.Unmet, d.Strategy
		about = string(d.Role) + " (" + string(d.Strategy) + " strategy), " + Many(len(d.TaskIDs), "task")
		runner = d.Runner
	case *events.SessionRegistered:
		session.SessionID = d.SessionID
		if d.Created != nil {
			strategy = d.Created.Strategy
			about = string(d.Created.Role) + " (" + string(d.Created.Strategy) + " strategy), " +
				Many(len(d.Created.TaskIDs), "task")
		}
	}
	if event, err := events.Decode(answer.Event); err == nil {
		project = event.Project
	}
	session.written = writtenOf(answer, session.SessionID)
	// The runner, or the user, launches the agent: no process of the caller needs the secret.
	others := runner != "" || a.throughSocket()
	if others {
		session.Env = wire.Environment(server.Base(), project, session.SessionID, strategy, "")
	} else {
		session.Env = sessionEnv(server.Base(), placeManifest(ctx, a, session.SessionID), wire.Credential{
			SessionID: session.SessionID,
			ProjectID: project,
			Strategy:  strategy,
			Token:     answer.Token,
		})
	}
	if len(session.Unmet) > 0 {
		a.Say(
			"maestro: warning: the session's tasks wait for tasks that are not completed: %s (you forced the start)\n",
			strings.Join(session.Unmet, ", "),
		)
	}
	if spawned, ok := data.(*events.SessionSpawned); ok {
		a.warnOfMissingAgent(ctx, server, spawned)
	}
	if quiet && !a.JSON {
		a.Print("%s\n", session.SessionID)
		return nil
	}
	if others {
		a.showLaunched(session, about, runner)
		return nil
	}
	a.warnOfSecret("to run a command as the session, use `maestro session exec " + session.SessionID +
		" -- COMMAND`, which shows no secret; with -q, spawn prints the id only")
	a.Result(session, func() {
		a.Print("# %s: %s\n", session.SessionID, about)
		for _, name := range wire.SessionEnvironment() {
			if session.Env[name] != "" {
				a.Print("export %s=%s\n", name, safetext.QuotedAsIs(session.Env[name]))
			}
		}
	})
	return nil
}

// showLaunched prints a new session whose agent a runner launches. Nobody else needs its secret.
func (a *Run) showLaunched(session sessionMade, about, runner string) {
	if a.throughSocket() {
		delete(session.Env, wire.EnvServerURL) // a confined process reaches no address
	}
	a.Result(session, func() {
		if runner == "" {
			a.Print("Spawned %s: %s; no runner launches its agent, but the user can: `maestro session exec %s -- "+
				"<command>`\n", session.SessionID, about, session.SessionID)
			return
		}
		waits := slices.ContainsFunc(session.Warnings, func(warning string) bool {
			return strings.HasPrefix(warning, wire.RunnerAway(runner))
		})
		if waits {
			a.Print("Spawned %s: %s; it waits for runner %s\n", session.SessionID, about, runner)
			return
		}
		a.Print("Spawned %s: %s; runner %s launches its agent\n", session.SessionID, about, runner)
		if !a.isSession() {
			a.Print("follow it with `maestro session logs %s --follow`\n", session.SessionID)
		}
	})
}

// exportsSession is the annotation of a command that prints a session's environment for a shell.
const exportsSession = "exports-session"

// exportNobody gives a shell that evaluates the output of a failed spawn an empty session, with which every command is
// refused. Without it, the shell would go on as the user. It does so also if the command line was not understood, but
// meant a spawn.
func (a *Run) exportNobody(called *cobra.Command, args []string) {
	if dash := slices.Index(args, "--"); dash >= 0 {
		args = args[:dash]
	}
	exports := called.Annotations[exportsSession] != "" || called.HasSubCommands() && likeSpawn(args)
	quiet := called.Flags().Lookup("quiet")
	forID := quiet != nil && quiet.Changed || slices.Contains(args, "-q") || slices.Contains(args, "--quiet")
	if !exports || forID || a.JSON || a.terminal() {
		return
	}
	a.Print("export %s=\n", wire.EnvSessionID)
}

// likeSpawn reports whether a command line that names no command probably meant one that exports a session.
func likeSpawn(args []string) bool {
	session := false
	for _, arg := range args {
		word := strings.ToLower(arg)
		switch {
		case safetext.Nearest(word, []string{"spawn", "register"}) != "",
			session && (slices.Contains(meantBy[word], "spawn") || meantLines["session"][word] == "session spawn"):
			return true
		case safetext.Nearest(word, []string{"session"}) != "":
			session = true
		}
	}
	return false
}

// sessionEnv returns Maestro's own variables of a session.
func sessionEnv(address, manifest string, c wire.Credential) map[string]string {
	env := wire.Environment(address, c.ProjectID, c.SessionID, c.Strategy, manifest)
	env[wire.EnvToken], env[wire.EnvAPIURL] = c.Token, address
	return env
}

// sessionRegister is `maestro session register`.
type sessionRegister struct {
	*Run
	fields *fields
	body   commands.RegisterSession
	key    string
	quiet  bool
}

func newSessionRegister(a *Run) *cobra.Command {
	c := &sessionRegister{Run: a}
	cmd := &cobra.Command{
		Use:   "register [<sessionId>]",
		Short: "Register the session as running, as `worker init` also does. A user may register a new session",
		Args:  Takes,
		RunE:  Running(c.run),
	}
	projectFlag(cmd, &c.body.Project)
	c.fields = bind(cmd, &c.body)
	a.keyFlag(cmd, &c.key)
	quietFlag(cmd, &c.quiet)
	annotated(cmd, exportsSession, "true")
	return Tell(cmd, "session:register", ownOnly)
}

func (c *sessionRegister) run(ctx context.Context, args []string) error {
	if err := c.fields.set(args); err != nil {
		return err
	}
	if !c.isSession() {
		var err error
		if c.body.Project, err = projectOfNew(ctx, c.Run, c.body.Project, c.body.TaskIDs...); err != nil {
			return err
		}
	}
	answer, err := c.send(ctx, "session:register", &c.body, c.key)
	if err != nil {
		return err
	}
	if answer.Token != "" {
		return showSpawned(ctx, c.Run, answer, c.quiet)
	}
	c.wrote(answer, c.body.SessionID, "Registered%s", Prefixed(" session ", c.body.SessionID))
	return nil
}

// projectOfNew is project, but none is required: a known session has one already.
func projectOfNew(ctx context.Context, a *Run, named string, tasks ...string) (string, error) {
	id, err := a.project(ctx, named, tasks...)
	if exitCode(err) == ExitInvalid {
		return "", nil
	}
	return id, err
}
