package main

import (
	"context"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"maestro/api/client"
	"maestro/commands"
	"maestro/events"
	"maestro/projections"
	"maestro/workers/manifest"
)

func (a *app) sessionCommand() *cobra.Command {
	return group("session", "Sessions: agents at work",
		a.sessionList(), a.sessionInfo(), a.sessionSpawn(), a.sessionRegister(), a.sessionComplete(), a.sessionKill(),
		a.sessionNote(), a.sessionUpdate(), a.sessionDelete(), a.sessionLink(), a.sessionUnlink())
}

func (a *app) sessionList() *cobra.Command {
	var project, status, task string
	var active bool
	cmd := &cobra.Command{
		Use: "list", Short: "List sessions", Args: takes(),
		RunE: running(func(ctx context.Context, _ []string) error {
			query := url.Values{"brief": {"true"}}
			if project == "" {
				project = a.getenv("MAESTRO_PROJECT_ID")
			}
			for name, value := range map[string]string{"projectId": project, "status": status, "taskId": task} {
				if value != "" {
					query.Set(name, value)
				}
			}
			if active {
				query.Set("active", "true")
			}
			var sessions []projections.SessionView
			if err := a.get(ctx, "/api/sessions", query, &sessions); err != nil {
				return err
			}
			if err := a.unlessEmpty(ctx, len(sessions), map[string]string{"projects": project, "tasks": task}); err != nil {
				return err
			}
			list(a, sessions, "There are no such sessions", func(x projections.SessionView) []string {
				return []string{x.ID, standing(x), string(x.Role), string(x.Strategy), many(len(x.TaskIDs), "task"), clip(x.Name, 60)}
			})
			return nil
		}),
	}
	projectFlag(cmd, &project)
	cmd.Flags().StringVar(&status, "status", "", "only those that stand there")
	choice(cmd, "status", "spawning", "idle", "running", "working", "completed", "stopped", "failed")
	cmd.Flags().StringVar(&task, "task", "", "only those that have this task")
	cmd.Flags().BoolVar(&active, "active", false, "only those that have not ended or said that they are done")
	a.listFlags(cmd)
	return cmd
}

// standing says where a session stands, and if nothing is heard of it.
func standing(x projections.SessionView) string {
	if x.LostAt != nil && x.EndedAt == nil {
		return string(x.Status) + ", lost"
	}
	return string(x.Status)
}

func (a *app) sessionInfo() *cobra.Command {
	var timeline bool
	cmd := &cobra.Command{
		Use: "info [ID]", Short: "Show a session, its own if none is named", Args: takes("[ID]"),
		RunE: running(func(ctx context.Context, args []string) error {
			id, err := a.session(at(args, 0))
			if err != nil {
				return err
			}
			shown := struct {
				projections.SessionView
				Timeline []projections.EntryView `json:"timeline,omitempty"`
			}{}
			if err := a.get(ctx, pathTo("sessions", id), nil, &shown.SessionView); err != nil {
				return err
			}
			if timeline {
				if err := a.get(ctx, pathTo("sessions", id, "timeline"), nil, &shown.Timeline); err != nil {
					return err
				}
			}
			a.result(shown, func() {
				a.showSession(shown.SessionView)
				a.timeline(shown.Timeline)
			})
			return nil
		}),
	}
	cmd.Flags().BoolVar(&timeline, "timeline", false, "with its timeline")
	return cmd
}

// session gives the session that is named, or the one that this process is.
func (a *app) session(named string) (string, error) {
	if named == "" {
		named = a.getenv("MAESTRO_SESSION_ID")
	}
	if named == "" {
		return "", usage("Which session is meant?").withNext("name it, or set MAESTRO_SESSION_ID; see `maestro session list`")
	}
	return named, nil
}

func (a *app) showSession(x projections.SessionView) {
	a.print("%s  %s\n", x.ID, oneLine(x.Name))
	a.field("Status", standing(x)+prefixed(": ", x.EndReason))
	a.field("Role", string(x.Role)+", strategy "+string(x.Strategy))
	a.field("Project", x.ProjectID)
	a.field("Tasks", strings.Join(x.TaskIDs, ", "))
	a.field("Queue", x.Queue+prefixed(", in hand: ", x.Item))
	if x.LostAt != nil {
		a.field("Lost", "since "+instant(*x.LostAt))
	}
	if x.Deadline != nil {
		a.field("Deadline", instant(*x.Deadline))
	}
	a.field("Agent", strings.TrimSpace(x.Agent+" "+x.Model))
	a.field("Skills", strings.Join(x.Skills, ", "))
	a.field("Spawned by", x.SpawnedBy)
	a.field("Started", instant(x.StartedAt))
	a.field("Active", instant(x.LastActivity))
	if x.EndedAt != nil {
		a.field("Ended", instant(*x.EndedAt))
	}
	if x.Permissions != nil {
		a.field("May", strings.Join(x.Permissions.Commands, ", "))
	}
}

func (a *app) sessionSpawn() *cobra.Command {
	var body commands.SpawnSession
	var key string
	var tasks, allowed, skills []string
	var quiet bool
	var file string
	var timeout time.Duration
	cmd := &cobra.Command{
		Use: "spawn", Short: "Order a session for tasks, and print the environment that its agent needs", Args: takes(),
		Long: `Order a session: its tasks move to in_progress, its permissions are frozen, and it gets a secret of its own.

What is printed can be given to a shell: eval "$(maestro session spawn --task-ids ID)"`,
	}
	cmd.RunE = running(func(ctx context.Context, _ []string) error {
		err := positive(cmd, "timeout", timeout)
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
	f.StringVar((*string)(&body.Strategy), "strategy", "", "worker: simple (default), queue, tree; orchestrator: default, intelligent-batching, dag")
	f.StringSliceVar(&allowed, "allowed-commands", nil, "exactly these commands and the core ones, with commas; else by role and strategy")
	f.StringVar(&body.Name, "name", "", "as people call it")
	f.StringVar(&body.Model, "model", "", "sonnet, opus, haiku or a full name")
	f.StringVar(&body.Agent, "agent", "", "claude (default), codex, gemini or a configured one")
	f.StringSliceVar(&skills, "skills", nil, "skills to load, with commas")
	f.StringVar(&body.PermissionMode, "permission-mode", "", "acceptEdits (default), interactive or readOnly")
	f.StringVar(&body.ThinkingMode, "thinking-mode", "", "auto (default), interleaved or disabled")
	f.IntVar(&body.MaxTurns, "max-turns", 0, "turns after which the agent ends")
	f.StringVar(&body.WorkingDirectory, "working-directory", "", "where the agent works; the project's if absent")
	f.StringVar(&body.TemplateID, "template", "", "template of its prompt")
	f.StringVar(&file, "manifest", "", "a manifest that was written or generated; it says role, strategy, tasks and commands")
	f.BoolVar(&body.Strict, "strict", false, "refuse while dependencies of its tasks are not completed")
	f.StringVar(&body.Queue, "queue", "", "strategy queue: a queue of the project that it pulls from; else its own, with its tasks")
	f.DurationVar(&timeout, "timeout", 0, "end it as failed after so long, such as 30m")
	complete(cmd, "role", "worker", "orchestrator")
	complete(cmd, "strategy", "simple", "queue", "tree", "default", "intelligent-batching", "dag")
	complete(cmd, "model", "sonnet", "opus", "haiku")
	complete(cmd, "agent", "claude", "codex", "gemini")
	a.keyFlag(cmd, &key)
	quietFlag(cmd, &quiet)
	return cmd
}

// ofManifest are the flags of a spawn that only say what a manifest says.
var ofManifest = []string{"skills", "timeout", "permission-mode", "thinking-mode", "max-turns", "working-directory", "template"}

// spawnWith lets a manifest say what the session is.
func (a *app) spawnWith(ctx context.Context, cmd *cobra.Command, file string, body *commands.SpawnSession) error {
	for _, flag := range ofManifest {
		if cmd.Flags().Changed(flag) {
			return usage("--%s cannot stand beside --manifest", flag).withWhy("the manifest says it").withNext("leave the flag out, or change the manifest")
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
func (a *app) spawned(ctx context.Context, answer client.Answer, quiet bool) error {
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
		about = string(d.Role) + " (" + string(d.Strategy) + " strategy), " + many(len(d.TaskIDs), "task")
	case *events.SessionRegistered:
		session.SessionID = d.SessionID
		if d.Created != nil {
			strategy = d.Created.Strategy
			about = string(d.Created.Role) + " (" + string(d.Created.Strategy) + " strategy), " + many(len(d.Created.TaskIDs), "task")
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
		a.say("maestro: warning: its tasks wait for what is not completed: %s (spawn with --strict to refuse)\n", strings.Join(session.Unmet, ", "))
	}
	if quiet && !a.json {
		a.print("%s\n", session.SessionID)
		return nil
	}
	a.result(session, func() {
		a.print("# %s: %s\n", session.SessionID, about)
		for _, name := range []string{
			"MAESTRO_SESSION_ID", "MAESTRO_PROJECT_ID", "MAESTRO_TOKEN", "MAESTRO_API_URL", "MAESTRO_SERVER_URL", "MAESTRO_STRATEGY",
			"MAESTRO_MANIFEST_PATH",
		} {
			if session.Env[name] != "" {
				a.print("export %s=%s\n", name, quoted(session.Env[name]))
			}
		}
	})
	return nil
}

// quoted makes a value one word of a shell.
func quoted(value string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:@%+=,", r)
	}
	if value != "" && !strings.ContainsFunc(value, func(r rune) bool { return !plain(r) }) {
		return value
	}
	return "'" + strings.ReplaceAll(value, "'", `'\''`) + "'"
}

func (a *app) sessionRegister() *cobra.Command {
	var body commands.RegisterSession
	var key string
	var tasks, allowed []string
	var quiet bool
	cmd := &cobra.Command{
		Use: "register [ID]", Short: "Report for work; a user may register a session that nobody spawned", Args: takes("[ID]"),
	}
	cmd.RunE = running(func(ctx context.Context, args []string) error {
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
func (a *app) projectOfNew(ctx context.Context, named string) (string, error) {
	id, err := a.project(ctx, named)
	if exitCode(err) == exitInvalid {
		return "", nil
	}
	return id, err
}

func (a *app) sessionComplete() *cobra.Command {
	var key string
	cmd := &cobra.Command{
		Use: "complete [ID]", Short: "Say that a session is done, its own if none is named", Args: takes("[ID]"),
		RunE: running(func(ctx context.Context, args []string) error {
			if _, err := a.session(at(args, 0)); err != nil {
				return err
			}
			return a.tell(ctx, "session:complete", &commands.CompleteSession{SessionID: at(args, 0)}, key, func(answer client.Answer) {
				a.wrote(answer, at(args, 0), "The session is completed")
			})
		}),
	}
	a.keyFlag(cmd, &key)
	return cmd
}

func (a *app) sessionKill() *cobra.Command {
	var body commands.KillSession
	var key string
	var tree bool
	cmd := &cobra.Command{
		Use: "kill ID", Short: "End a session, with --tree also those that it spawned", Args: takes("ID"),
		RunE: running(func(ctx context.Context, args []string) error {
			body.SessionID = args[0]
			answer, err := a.sendWith(ctx, "session:kill", &body, client.Options{Key: key, Tree: tree})
			if err != nil {
				return err
			}
			if answer.Event == nil && !a.json {
				a.print("Session %s had already ended\n", args[0])
			} else {
				a.wrote(answer, args[0], "Ended session %s", args[0])
			}
			if !a.json {
				a.below(answer, "end", "Ended", "maestro session kill "+args[0]+" --tree")
			}
			return nil
		}),
	}
	treeFlag(cmd, &tree, "end")
	cmd.Flags().StringVar(&body.Reason, "reason", "", "why")
	cmd.Flags().BoolVar(&body.Failed, "failed", false, "it ends as failed, not as stopped")
	a.keyFlag(cmd, &key)
	return cmd
}

func (a *app) sessionNote() *cobra.Command {
	var body commands.NoteSession
	var data, key string
	cmd := &cobra.Command{
		Use: "note MESSAGE", Short: "Put an entry on a session's timeline that moves no status", Args: takes("MESSAGE"),
		RunE: running(func(ctx context.Context, args []string) error {
			var err error
			if body.Data, err = object("data", data); err != nil {
				return err
			}
			if body.SessionID == "" && !a.isSession() {
				return usage("Which session is meant?").withNext("name it with --session; see `maestro session list`")
			}
			body.Message = args[0]
			return a.change(ctx, "session:note", &body, key, body.SessionID, "Noted")
		}),
	}
	cmd.Flags().StringVar(&body.SessionID, "session", "", "the session; its own if absent")
	cmd.Flags().StringVar(&body.Type, "type", "", "kind of entry, such as milestone; progress if absent")
	cmd.Flags().StringVar(&body.TaskID, "task", "", "the task that it is about")
	cmd.Flags().StringVar(&data, "data", "", "a JSON object, free")
	a.keyFlag(cmd, &key)
	return cmd
}

func (a *app) sessionUpdate() *cobra.Command {
	var name, status, agent, file, key string
	var tasks []string
	var env map[string]string
	cmd := &cobra.Command{Use: "update ID", Short: "Give fields of a session new values", Args: takes("ID")}
	cmd.RunE = running(func(ctx context.Context, args []string) error {
		body := commands.UpdateSession{
			SessionID: args[0], Name: given(cmd, "name", name), Status: given(cmd, "status", events.SessionStatus(status)),
			AgentID: given(cmd, "agent-id", agent), TaskIDs: given(cmd, "task-ids", ids(tasks)), Env: env,
		}
		if body.TaskIDs != nil && *body.TaskIDs == nil {
			*body.TaskIDs = []string{}
		}
		if body.Name == nil && body.Status == nil && body.AgentID == nil && body.TaskIDs == nil && body.Env == nil && file == "" {
			return usage("There is nothing to update").withNext("see `maestro session update --help`")
		}
		if file != "" {
			m, err := a.upload(ctx, file, "")
			if err != nil {
				return err
			}
			digest := manifest.Digest(m.Canonical())
			body.ManifestDigest = &digest
		}
		answer, err := a.send(ctx, "session:update", &body, key)
		if err != nil {
			return err
		}
		if file != "" {
			a.placeManifest(ctx, args[0])
		}
		a.wrote(answer, args[0], "Updated session %s", args[0])
		return nil
	})
	f := cmd.Flags()
	f.StringVar(&name, "name", "", "new name")
	f.StringVar(&status, "status", "", "idle or working")
	f.StringVar(&agent, "agent-id", "", "new agent")
	f.StringSliceVar(&tasks, "task-ids", nil, "its tasks from now on, with commas")
	f.StringToStringVar(&env, "env", nil, "NAME=VALUE, merged into its environment")
	f.StringVar(&file, "manifest", "", "issue its manifest again, from this file; role, strategy and allowed commands stay as they are")
	complete(cmd, "status", "idle", "working")
	a.keyFlag(cmd, &key)
	return cmd
}

func (a *app) sessionDelete() *cobra.Command {
	var key string
	cmd := &cobra.Command{
		Use: "delete ID", Short: "Take a session out of the views; its history stays", Args: takes("ID"),
		RunE: running(func(ctx context.Context, args []string) error {
			return a.change(ctx, "session:delete", &commands.DeleteSession{SessionID: args[0]}, key, args[0], "Deleted session %s", args[0])
		}),
	}
	a.keyFlag(cmd, &key)
	return cmd
}

func (a *app) sessionLink() *cobra.Command {
	var key string
	cmd := &cobra.Command{
		Use: "link ID TASK", Short: "Make a task one of a session's", Args: takes("ID", "TASK"),
		RunE: running(func(ctx context.Context, args []string) error {
			return a.change(ctx, "session:link", &commands.LinkTask{SessionID: args[0], TaskID: args[1]}, key, args[0], "Linked task %s to session %s", args[1], args[0])
		}),
	}
	a.keyFlag(cmd, &key)
	return cmd
}

func (a *app) sessionUnlink() *cobra.Command {
	var key string
	cmd := &cobra.Command{
		Use: "unlink ID TASK", Short: "Take a task from a session", Args: takes("ID", "TASK"),
		RunE: running(func(ctx context.Context, args []string) error {
			return a.change(ctx, "session:unlink", &commands.UnlinkTask{SessionID: args[0], TaskID: args[1]}, key, args[0], "Took task %s from session %s", args[1], args[0])
		}),
	}
	a.keyFlag(cmd, &key)
	return cmd
}
