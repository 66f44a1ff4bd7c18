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
	"maestro/workers/manifest"
)

func (a *Run) sessionCommand() *cobra.Command {
	return group("session", "Sessions: agents at work",
		a.sessionList(), a.sessionInfo(), a.sessionSpawn(), a.sessionRegister(), a.sessionComplete(), a.sessionKill(),
		a.sessionNote(), a.sessionUpdate(), a.sessionDelete(), a.sessionLink(), a.sessionUnlink())
}

func (a *Run) sessionList() *cobra.Command {
	var project, status, task string
	var active bool
	cmd := &cobra.Command{
		Use: "list", Short: "List sessions", Args: Takes(),
		RunE: Running(func(ctx context.Context, _ []string) error {
			if project == "" {
				project = a.Getenv("MAESTRO_PROJECT_ID")
			}
			filter := wire.SessionFilter{ProjectID: project, Status: status, TaskID: task, Brief: "true"}
			if active {
				filter.Active = "true"
			}
			sessions, err := ask(ctx, a, (*client.Client).Sessions, filter)
			if err != nil {
				return err
			}
			if err := a.unlessEmpty(ctx, len(sessions), named{project: project, task: task}); err != nil {
				return err
			}
			list(a, sessions, "There are no such sessions", func(x wire.Session) []string {
				return []string{x.ID, standing(x), string(x.Role), string(x.Strategy), Many(len(x.TaskIDs), "task"), safetext.Clip(x.Name, 60)}
			})
			return nil
		}),
	}
	projectFlag(cmd, &project)
	cmd.Flags().StringVar(&status, "status", "", "only those with this status")
	choice(cmd, "status", "spawning", "idle", "running", "working", "completed", "stopped", "failed")
	cmd.Flags().StringVar(&task, "task", "", "only those that have this task")
	cmd.Flags().BoolVar(&active, "active", false, "only those that have not ended or said that they are done")
	a.listFlags(cmd)
	return cmd
}

// standing says where a session stands, and if nothing is heard of it.
func standing(x wire.Session) string {
	if x.LostAt != nil && x.EndedAt == nil {
		return string(x.Status) + ", lost"
	}
	return string(x.Status)
}

func (a *Run) sessionInfo() *cobra.Command {
	var timeline bool
	cmd := &cobra.Command{
		Use: "info [ID]", Short: "Show a session, its own if none is named", Args: Takes("[ID]"),
		RunE: Running(func(ctx context.Context, args []string) error {
			id, err := a.session(at(args, 0))
			if err != nil {
				return err
			}
			shown := struct {
				wire.Session
				Timeline []wire.Entry `json:"timeline,omitempty"`
			}{}
			if shown.Session, err = ask(ctx, a, (*client.Client).Session, id); err != nil {
				return err
			}
			if timeline {
				if shown.Timeline, err = ask(ctx, a, (*client.Client).SessionTimeline, id); err != nil {
					return err
				}
			}
			a.Result(shown, func() {
				a.showSession(shown.Session)
				a.timeline(shown.Timeline)
			})
			return nil
		}),
	}
	cmd.Flags().BoolVar(&timeline, "timeline", false, "with its timeline")
	return cmd
}

// session gives the session that is named, or the one that this process is.
func (a *Run) session(named string) (string, error) {
	if named == "" {
		named = a.Getenv("MAESTRO_SESSION_ID")
	}
	if named == "" {
		return "", failure.Usage("Name a session").WithNext("name it, or set MAESTRO_SESSION_ID; see `maestro session list`")
	}
	return named, nil
}

func (a *Run) showSession(x wire.Session) {
	a.Print("%s  %s\n", x.ID, safetext.OneLine(x.Name))
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

func (a *Run) sessionNote() *cobra.Command {
	var body commands.NoteSession
	var data, key string
	cmd := &cobra.Command{
		Use: "note MESSAGE", Short: "Put an entry on a session's timeline that moves no status", Args: Takes("MESSAGE"),
		RunE: Running(func(ctx context.Context, args []string) error {
			var err error
			if body.Data, err = object("data", data); err != nil {
				return err
			}
			if body.SessionID == "" && !a.isSession() {
				return failure.Usage("Name a session").WithNext("name it with --session; see `maestro session list`")
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

func (a *Run) sessionUpdate() *cobra.Command {
	var name, status, agent, file, key string
	var tasks []string
	var env map[string]string
	cmd := &cobra.Command{Use: "update ID", Short: "Give fields of a session new values", Args: Takes("ID")}
	cmd.RunE = Running(func(ctx context.Context, args []string) error {
		body := commands.UpdateSession{
			SessionID: args[0], Name: given(cmd, "name", name), Status: given(cmd, "status", events.SessionStatus(status)),
			AgentID: given(cmd, "agent-id", agent), TaskIDs: given(cmd, "task-ids", ids(tasks)), Env: env,
		}
		if body.TaskIDs != nil && *body.TaskIDs == nil {
			*body.TaskIDs = []string{}
		}
		if body.Name == nil && body.Status == nil && body.AgentID == nil && body.TaskIDs == nil && body.Env == nil && file == "" {
			return failure.Usage("There is nothing to update").WithNext("see `maestro session update --help`")
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
	Complete(cmd, "status", "idle", "working")
	a.keyFlag(cmd, &key)
	return cmd
}

func (a *Run) sessionDelete() *cobra.Command {
	var key string
	cmd := &cobra.Command{
		Use: "delete ID", Short: "Take a session out of the views; its history stays", Args: Takes("ID"),
		RunE: Running(func(ctx context.Context, args []string) error {
			return a.change(ctx, "session:delete", &commands.DeleteSession{SessionID: args[0]}, key, args[0], "Deleted session %s", args[0])
		}),
	}
	a.keyFlag(cmd, &key)
	return cmd
}

func (a *Run) sessionLink() *cobra.Command {
	var key string
	cmd := &cobra.Command{
		Use: "link ID TASK", Short: "Make a task one of a session's", Args: Takes("ID", "TASK"),
		RunE: Running(func(ctx context.Context, args []string) error {
			return a.change(ctx, "session:link", &commands.LinkTask{SessionID: args[0], TaskID: args[1]}, key, args[0], "Linked task %s to session %s", args[1], args[0])
		}),
	}
	a.keyFlag(cmd, &key)
	return cmd
}

func (a *Run) sessionUnlink() *cobra.Command {
	var key string
	cmd := &cobra.Command{
		Use: "unlink ID TASK", Short: "Take a task from a session", Args: Takes("ID", "TASK"),
		RunE: Running(func(ctx context.Context, args []string) error {
			return a.change(ctx, "session:unlink", &commands.UnlinkTask{SessionID: args[0], TaskID: args[1]}, key, args[0], "Took task %s from session %s", args[1], args[0])
		}),
	}
	a.keyFlag(cmd, &key)
	return cmd
}
