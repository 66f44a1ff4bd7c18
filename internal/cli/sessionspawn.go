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

func (a *Run) sessionSpawn() *cobra.Command {
	var body commands.SpawnSession
	var key string
	var tasks, allowed, skills []string
	var quiet bool
	var file string
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "spawn",
		Short: "Order a session for tasks, and print the environment that its agent needs",
		Args:  Takes(),
		Long: "Order a session: its tasks move to in_progress, its permissions are frozen, and it gets a secret of " +
			"its own.\n\n" + `What is printed can be given to a shell: eval "$(maestro session spawn --task-ids ID)"`,
	}
	cmd.RunE = Running(func(ctx context.Context, _ []string) error {
		err := cmp.Or(positive(cmd, "timeout", timeout), atLeastOne(cmd, "max-turns", body.MaxTurns))
		if err != nil {
			return err
		}
		body.TaskIDs, body.Skills, body.Timeout = ids(tasks), ids(skills), timeout.Milliseconds()
		if cmd.Flags().Changed("allowed-commands") {
			list := ids(allowed)
			body.Allowed = &list
		}
		if file != "" {
			err = a.spawnWith(ctx, cmd, file, &body)
		} else {
			body.Project, err = a.project(ctx, body.Project)
		}
		if err != nil {
			return err
		}
		answer, err := a.send(ctx, "session:spawn", &body, key)
		if err != nil {
			return err
		}
		return a.spawned(ctx, answer, quiet)
	})
	projectFlag(cmd, &body.Project)
	f := cmd.Flags()
	f.StringSliceVar(&tasks, "task-ids", nil, "its tasks, with commas; the first is the primary one")
	f.StringVar((*string)(&body.Role), "role", "", "worker (default) or orchestrator")
	f.StringVar(
		(*string)(&body.Strategy), "strategy", "",
		"worker: simple (default), queue, tree; orchestrator: default, intelligent-batching, dag",
	)
	f.StringSliceVar(
		&allowed, "allowed-commands", nil,
		"exactly these commands and the core ones, with commas; else by role and strategy",
	)
	f.StringVar(&body.Name, "name", "", "as people call it")
	f.StringVar(&body.Model, "model", "", "sonnet, opus, haiku or a full name")
	f.StringVar(&body.Agent, "agent", "", "claude (default), codex, gemini or a configured one")
	f.StringSliceVar(&skills, "skills", nil, "skills to load, with commas")
	f.StringVar(&body.PermissionMode, "permission-mode", "", "acceptEdits (default), interactive or readOnly")
	f.StringVar(&body.ThinkingMode, "thinking-mode", "", "auto (default), interleaved or disabled")
	f.IntVar(&body.MaxTurns, "max-turns", 0, "turns after which the agent ends")
	f.StringVar(&body.WorkingDirectory, "working-directory", "", "where the agent works; the project's if absent")
	f.StringVar(&body.TemplateID, "template", "", "template of its prompt")
	f.StringVar(
		&file, "manifest", "", "a manifest that was written or generated; it says role, strategy, tasks and commands",
	)
	f.BoolVar(&body.Strict, "strict", false, "refuse while dependencies of its tasks are not completed")
	f.StringVar(
		&body.Queue, "queue", "",
		"strategy queue: a queue of the project that it pulls from; else its own, with its tasks",
	)
	f.DurationVar(&timeout, "timeout", 0, "end it as failed after so long, such as 30m")
	Complete(cmd, "role", "worker", "orchestrator")
	Complete(cmd, "strategy", "simple", "queue", "tree", "default", "intelligent-batching", "dag")
	Complete(cmd, "model", "sonnet", "opus", "haiku")
	Complete(cmd, "agent", "claude", "codex", "gemini")
	a.keyFlag(cmd, &key)
	quietFlag(cmd, &quiet)
	return cmd
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
func (a *Run) spawnWith(ctx context.Context, cmd *cobra.Command, file string, body *commands.SpawnSession) error {
	for _, flag := range ofManifest {
		if cmd.Flags().Changed(flag) {
			return failure.Usage("--%s cannot be used with --manifest", flag).WithWhy("the manifest sets it").
				WithNext("leave the flag out, or change the manifest")
		}
	}
	m, err := a.upload(ctx, file, body.Role)
	if err != nil {
		return err
	}
	body.ManifestDigest = manifest.Digest(m.Canonical())
	body.Project, err = a.projectOfManifest(ctx, m, body.Project)
	return err
}

// newSession is what the making of a session answers as JSON.
type newSession struct {
	written
	SessionID string            `json:"sessionId"`
	Env       map[string]string `json:"env"`
	Unmet     []string          `json:"unmetDependencies,omitempty"`
}

// spawned answers with a new session and what its agent needs to know.
func (a *Run) spawned(ctx context.Context, answer client.Answer, quiet bool) error {
	data, err := dataOf(answer)
	if err != nil {
		return err
	}
	address, _, err := a.find()
	if err != nil {
		return err
	}
	var project, about string
	session := newSession{}
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
	if path := a.placeManifest(ctx, session.SessionID); path != "" {
		session.Env["MAESTRO_MANIFEST_PATH"] = path
	}
	if len(session.Unmet) > 0 {
		a.say(
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
				a.Print("export %s=%s\n", name, quoted(session.Env[name]))
			}
		}
	})
	return nil
}

// quoted makes a value one word of a shell.
func quoted(value string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
			strings.ContainsRune("-_./:@%+=,", r)
	}
	if value != "" && !strings.ContainsFunc(value, func(r rune) bool { return !plain(r) }) {
		return value
	}
	return "'" + strings.ReplaceAll(value, "'", `'\''`) + "'"
}

func (a *Run) sessionRegister() *cobra.Command {
	var body commands.RegisterSession
	var key string
	var tasks, allowed []string
	var quiet bool
	cmd := &cobra.Command{
		Use:   "register [ID]",
		Short: "Report for work; a user may register a session that nobody spawned",
		Args:  Takes("[ID]"),
	}
	cmd.RunE = Running(func(ctx context.Context, args []string) error {
		body.SessionID, body.TaskIDs = at(args, 0), ids(tasks)
		if !a.isSession() {
			var err error
			if body.Project, err = a.projectOfNew(ctx, body.Project); err != nil {
				return err
			}
		}
		if cmd.Flags().Changed("allowed-commands") {
			list := ids(allowed)
			body.Allowed = &list
		}
		answer, err := a.send(ctx, "session:register", &body, key)
		if err != nil {
			return err
		}
		if answer.Token != "" {
			return a.spawned(ctx, answer, quiet)
		}
		a.wrote(answer, body.SessionID, "Registered%s", prefixed(" session ", body.SessionID))
		return nil
	})
	projectFlag(cmd, &body.Project)
	f := cmd.Flags()
	f.StringVar(&body.Name, "name", "", "of a new one")
	f.StringVar((*string)(&body.Role), "role", "", "of a new one: worker (default) or orchestrator")
	f.StringVar((*string)(&body.Strategy), "strategy", "", "of a new one")
	f.StringSliceVar(&tasks, "task-ids", nil, "of a new one: its tasks, with commas")
	f.StringSliceVar(&allowed, "allowed-commands", nil, "of a new one: exactly these commands and the core ones")
	a.keyFlag(cmd, &key)
	quietFlag(cmd, &quiet)
	return cmd
}

// projectOfNew is project without insisting: a session that is known has one already.
func (a *Run) projectOfNew(ctx context.Context, named string) (string, error) {
	id, err := a.project(ctx, named)
	if exitCode(err) == ExitInvalid {
		return "", nil
	}
	return id, err
}
