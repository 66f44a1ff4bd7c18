package cli

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"maestro/api/client"
	"maestro/commands"
	"maestro/events"
	"maestro/internal/failure"
	"maestro/workers/manifest"
)

// sessionSpawn is `maestro session spawn`.
type sessionSpawn struct {
	*Run
	cmd                    *cobra.Command
	body                   commands.SpawnSession
	key                    string
	tasks, allowed, skills []string
	quiet                  bool
	file                   string
	timeout                time.Duration
}

func newSessionSpawn(a *Run) *cobra.Command {
	c := &sessionSpawn{Run: a}
	cmd := &cobra.Command{
		Use:   "spawn",
		Short: "Order a session for tasks, and print the environment that its agent needs",
		Args:  Takes(),
		Long: "Order a session: its tasks move to in_progress, its permissions are frozen, and it gets a secret of " +
			"its own.\n\n" + `What is printed can be given to a shell: eval "$(maestro session spawn --task-ids ID)"`,
	}
	cmd.RunE = Running(c.run)
	c.cmd = cmd
	projectFlag(cmd, &c.body.Project)
	f := cmd.Flags()
	f.StringSliceVar(&c.tasks, "task-ids", nil, "its tasks, with commas; the first is the primary one")
	f.StringVar((*string)(&c.body.Role), "role", "", "worker (default) or orchestrator")
	f.StringVar(
		(*string)(&c.body.Strategy), "strategy", "",
		"worker: simple (default), queue, tree; orchestrator: default, intelligent-batching, dag",
	)
	f.StringSliceVar(
		&c.allowed, "allowed-commands", nil,
		"exactly these commands and the core ones, with commas; else by role and strategy",
	)
	f.StringVar(&c.body.Name, "name", "", "as people call it")
	f.StringVar(&c.body.Model, "model", "", "sonnet, opus, haiku or a full name")
	f.StringVar(&c.body.Agent, "agent", "", "claude (default), codex, gemini or a configured one")
	f.StringSliceVar(&c.skills, "skills", nil, "skills to load, with commas")
	f.StringVar(&c.body.PermissionMode, "permission-mode", "", "acceptEdits (default), interactive or readOnly")
	f.StringVar(&c.body.ThinkingMode, "thinking-mode", "", "auto (default), interleaved or disabled")
	f.IntVar(&c.body.MaxTurns, "max-turns", 0, "turns after which the agent ends")
	f.StringVar(&c.body.WorkingDirectory, "working-directory", "", "where the agent works; the project's if absent")
	f.StringVar(&c.body.TemplateID, "template", "", "template of its prompt")
	f.StringVar(
		&c.file, "manifest", "", "a manifest that was written or generated; it says role, strategy, tasks and commands",
	)
	f.BoolVar(&c.body.Strict, "strict", false, "refuse while dependencies of its tasks are not completed")
	f.StringVar(
		&c.body.Queue, "queue", "",
		"strategy queue: a queue of the project that it pulls from; else its own, with its tasks",
	)
	f.DurationVar(&c.timeout, "timeout", 0, "end it as failed after so long, such as 30m")
	Complete(cmd, "role", "worker", "orchestrator")
	Complete(cmd, "strategy", "simple", "queue", "tree", "default", "intelligent-batching", "dag")
	Complete(cmd, "model", "sonnet", "opus", "haiku")
	Complete(cmd, "agent", "claude", "codex", "gemini")
	a.keyFlag(cmd, &c.key)
	quietFlag(cmd, &c.quiet)
	return cmd
}

func (c *sessionSpawn) run(ctx context.Context, _ []string) error {
	err := cmp.Or(positive(c.cmd, "timeout", c.timeout), atLeastOne(c.cmd, "max-turns", c.body.MaxTurns))
	if err != nil {
		return err
	}
	c.body.TaskIDs, c.body.Skills, c.body.Timeout = ids(c.tasks), ids(c.skills), c.timeout.Milliseconds()
	if c.cmd.Flags().Changed("allowed-commands") {
		list := ids(c.allowed)
		c.body.Allowed = &list
	}
	if c.file != "" {
		err = spawnWith(ctx, c.Run, c.cmd, c.file, &c.body)
	} else {
		c.body.Project, err = c.project(ctx, c.body.Project)
	}
	if err != nil {
		return err
	}
	answer, err := c.send(ctx, "session:spawn", &c.body, c.key)
	if err != nil {
		return err
	}
	return showSpawned(ctx, c.Run, answer, c.quiet)
}

// ofManifest are the flags of a spawn that only say what a manifest says.
var ofManifest = []string{
	"skills",
	"timeout",
	"permission-mode",
	"thinking-mode",
	"max-turns",
	"working-directory",
	"template",
}

// spawnWith lets a manifest say what the session is.
func spawnWith(ctx context.Context, a *Run, cmd *cobra.Command, file string, body *commands.SpawnSession) error {
	for _, flag := range ofManifest {
		if cmd.Flags().Changed(flag) {
			return failure.Usage("--%s cannot be used with --manifest", flag).WithWhy("the manifest sets it").
				WithNext("leave the flag out, or change the manifest")
		}
	}
	m, err := uploadManifest(ctx, a, file, body.Role)
	if err != nil {
		return err
	}
	body.ManifestDigest = manifest.Digest(m.Canonical())
	body.Project, err = projectOfManifest(ctx, a, m, body.Project)
	return err
}

// sessionMade is what the making of a session answers as JSON.
type sessionMade struct {
	written
	SessionID string            `json:"sessionId"`
	Env       map[string]string `json:"env"`
	Unmet     []string          `json:"unmetDependencies,omitempty"`
}

// showSpawned answers with a new session and what its agent needs to know.
func showSpawned(ctx context.Context, a *Run, answer client.Answer, quiet bool) error {
	data, err := dataOf(answer)
	if err != nil {
		return err
	}
	address, _, err := a.find()
	if err != nil {
		return err
	}
	var project, about string
	session := sessionMade{}
	strategy := events.StrategySimple
	switch d := data.(type) {
	case *events.SessionSpawned:
		session.SessionID, session.Unmet, strategy = d.SessionID, d.Unmet, d.Strategy
		about = string(d.Role) + " (" + string(d.Strategy) + " strategy), " + Many(len(d.TaskIDs), "task")
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
	session.Env = map[string]string{
		"MAESTRO_API_URL": address, "MAESTRO_PROJECT_ID": project, "MAESTRO_SERVER_URL": address,
		"MAESTRO_SESSION_ID": session.SessionID, "MAESTRO_STRATEGY": string(strategy), "MAESTRO_TOKEN": answer.Token,
	}
	if path := placeManifest(ctx, a, session.SessionID); path != "" {
		session.Env["MAESTRO_MANIFEST_PATH"] = path
	}
	if len(session.Unmet) > 0 {
		a.Say(
			"maestro: warning: its tasks wait for what is not completed: %s (spawn with --strict to refuse)\n",
			strings.Join(session.Unmet, ", "),
		)
	}
	if quiet && !a.JSON {
		a.Print("%s\n", session.SessionID)
		return nil
	}
	a.Result(session, func() {
		a.Print("# %s: %s\n", session.SessionID, about)
		for _, name := range []string{
			"MAESTRO_SESSION_ID", "MAESTRO_PROJECT_ID", "MAESTRO_TOKEN", "MAESTRO_API_URL", "MAESTRO_SERVER_URL",
			"MAESTRO_STRATEGY", "MAESTRO_MANIFEST_PATH",
		} {
			if session.Env[name] != "" {
				a.Print("export %s=%s\n", name, Quoted(session.Env[name]))
			}
		}
	})
	return nil
}

// Quoted makes a value one word of a shell.
func Quoted(value string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
			strings.ContainsRune("-_./:@%+=,", r)
	}
	if value != "" && !strings.ContainsFunc(value, func(r rune) bool { return !plain(r) }) {
		return value
	}
	return "'" + strings.ReplaceAll(value, "'", `'\''`) + "'"
}

// sessionRegister is `maestro session register`.
type sessionRegister struct {
	*Run
	cmd            *cobra.Command
	body           commands.RegisterSession
	key            string
	tasks, allowed []string
	quiet          bool
}

func newSessionRegister(a *Run) *cobra.Command {
	c := &sessionRegister{Run: a}
	cmd := &cobra.Command{
		Use:   "register [ID]",
		Short: "Report for work; a user may register a session that nobody spawned",
		Args:  Takes("[ID]"),
	}
	cmd.RunE = Running(c.run)
	c.cmd = cmd
	projectFlag(cmd, &c.body.Project)
	f := cmd.Flags()
	f.StringVar(&c.body.Name, "name", "", "of a new one")
	f.StringVar((*string)(&c.body.Role), "role", "", "of a new one: worker (default) or orchestrator")
	f.StringVar((*string)(&c.body.Strategy), "strategy", "", "of a new one")
	f.StringSliceVar(&c.tasks, "task-ids", nil, "of a new one: its tasks, with commas")
	f.StringSliceVar(&c.allowed, "allowed-commands", nil, "of a new one: exactly these commands and the core ones")
	a.keyFlag(cmd, &c.key)
	quietFlag(cmd, &c.quiet)
	return cmd
}

func (c *sessionRegister) run(ctx context.Context, args []string) error {
	c.body.SessionID, c.body.TaskIDs = At(args, 0), ids(c.tasks)
	if !c.isSession() {
		var err error
		if c.body.Project, err = projectOfNew(ctx, c.Run, c.body.Project); err != nil {
			return err
		}
	}
	if c.cmd.Flags().Changed("allowed-commands") {
		list := ids(c.allowed)
		c.body.Allowed = &list
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

// projectOfNew is project without insisting: a session that is known has one already.
func projectOfNew(ctx context.Context, a *Run, named string) (string, error) {
	id, err := a.project(ctx, named)
	if exitCode(err) == ExitInvalid {
		return "", nil
	}
	return id, err
}
