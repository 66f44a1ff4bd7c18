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

func newSession(a *Run) *cobra.Command {
	return group(
		"session",
		"Sessions: agents at work",
		newSessionList(
			a,
		),
		newSessionInfo(a),
		newSessionSpawn(a),
		newSessionRegister(a),
		newSessionComplete(a),
		newSessionKill(a),
		newSessionNote(a),
		newSessionUpdate(a),
		newSessionDelete(a),
		newSessionLink(a),
		newSessionUnlink(a),
	)
}

// sessionList is `maestro session list`.
type sessionList struct {
	*Run
	project, status, task string
	active                bool
}

func newSessionList(a *Run) *cobra.Command {
	c := &sessionList{Run: a}
	cmd := &cobra.Command{
		Use: "list", Short: "List sessions", Args: Takes(),
		RunE: Running(c.run),
	}
	projectFlag(cmd, &c.project)
	cmd.Flags().StringVar(&c.status, "status", "", "only those with this status")
	choice(cmd, "status", "spawning", "idle", "running", "working", "completed", "stopped", "failed")
	cmd.Flags().StringVar(&c.task, "task", "", "only those that have this task")
	cmd.Flags().BoolVar(&c.active, "active", false, "only those that have not ended or said that they are done")
	a.ListFlags(cmd)
	return cmd
}

func (c *sessionList) run(ctx context.Context, _ []string) error {
	if c.project == "" {
		c.project = c.Getenv("MAESTRO_PROJECT_ID")
	}
	filter := wire.SessionFilter{ProjectID: c.project, Status: c.status, TaskID: c.task, Brief: "true"}
	if c.active {
		filter.Active = "true"
	}
	sessions, err := Ask(ctx, c.Run, (*client.Client).Sessions, filter)
	if err != nil {
		return err
	}
	if err := c.unlessEmpty(ctx, len(sessions), named{project: c.project, task: c.task}); err != nil {
		return err
	}
	List(c.Run, sessions, "There are no such sessions", func(x wire.Session) []string {
		return []string{
			x.ID,
			standing(x),
			string(x.Role),
			string(x.Strategy),
			Many(len(x.TaskIDs), "task"),
			safetext.Clip(x.Name, 60),
		}
	})
	return nil
}

// standing says where a session stands, and if nothing is heard of it.
func standing(x wire.Session) string {
	if x.LostAt != nil && x.EndedAt == nil {
		return string(x.Status) + ", lost"
	}
	return string(x.Status)
}

// sessionInfo is `maestro session info`.
type sessionInfo struct {
	*Run
	timeline bool
}

func newSessionInfo(a *Run) *cobra.Command {
	c := &sessionInfo{Run: a}
	cmd := &cobra.Command{
		Use: "info [ID]", Short: "Show a session, its own if none is named", Args: Takes("[ID]"),
		RunE: Running(c.run),
	}
	cmd.Flags().BoolVar(&c.timeline, "timeline", false, "with its timeline")
	return cmd
}

func (c *sessionInfo) run(ctx context.Context, args []string) error {
	id, err := sessionNamed(c.Run, At(args, 0))
	if err != nil {
		return err
	}
	shown := struct {
		wire.Session
		Timeline []wire.Entry `json:"timeline,omitempty"`
	}{}
	if shown.Session, err = Ask(ctx, c.Run, (*client.Client).Session, id); err != nil {
		return err
	}
	if c.timeline {
		if shown.Timeline, err = Ask(ctx, c.Run, (*client.Client).SessionTimeline, id); err != nil {
			return err
		}
	}
	c.Result(shown, func() {
		showSession(c.Run, shown.Session)
		c.Run.timeline(shown.Timeline)
	})
	return nil
}

// sessionNamed gives the session that is named, or the one that this process is.
func sessionNamed(a *Run, named string) (string, error) {
	if named == "" {
		named = a.Getenv("MAESTRO_SESSION_ID")
	}
	if named == "" {
		return "", failure.Usage("Name a session").
			WithNext("name it, or set MAESTRO_SESSION_ID; see `maestro session list`")
	}
	return named, nil
}

func showSession(a *Run, x wire.Session) {
	a.Print("%s  %s\n", x.ID, safetext.OneLine(x.Name))
	a.Field("Status", standing(x)+Prefixed(": ", x.EndReason))
	a.Field("Role", string(x.Role)+", strategy "+string(x.Strategy))
	a.Field("Project", x.ProjectID)
	a.Field("Tasks", strings.Join(x.TaskIDs, ", "))
	a.Field("Queue", x.Queue+Prefixed(", in hand: ", x.Item))
	if x.LostAt != nil {
		a.Field("Lost", "since "+Instant(*x.LostAt))
	}
	if x.Deadline != nil {
		a.Field("Deadline", Instant(*x.Deadline))
	}
	a.Field("Agent", strings.TrimSpace(x.Agent+" "+x.Model))
	a.Field("Skills", strings.Join(x.Skills, ", "))
	a.Field("Spawned by", x.SpawnedBy)
	a.Field("Started", Instant(x.StartedAt))
	a.Field("Active", Instant(x.LastActivity))
	if x.EndedAt != nil {
		a.Field("Ended", Instant(*x.EndedAt))
	}
	if x.Permissions != nil {
		a.Field("May", strings.Join(x.Permissions.Commands, ", "))
	}
}

// sessionNote is `maestro session note`.
type sessionNote struct {
	*Run
	body      commands.NoteSession
	data, key string
}

func newSessionNote(a *Run) *cobra.Command {
	c := &sessionNote{Run: a}
	cmd := &cobra.Command{
		Use:   "note MESSAGE",
		Short: "Put an entry on a session's timeline that moves no status",
		Args:  Takes("MESSAGE"),
		RunE:  Running(c.run),
	}
	cmd.Flags().StringVar(&c.body.SessionID, "session", "", "the session; its own if absent")
	cmd.Flags().StringVar(&c.body.Type, "type", "", "kind of entry, such as milestone; progress if absent")
	cmd.Flags().StringVar(&c.body.TaskID, "task", "", "the task that it is about")
	cmd.Flags().StringVar(&c.data, "data", "", "a JSON object, free")
	a.keyFlag(cmd, &c.key)
	return cmd
}

func (c *sessionNote) run(ctx context.Context, args []string) error {
	var err error
	if c.body.Data, err = object("data", c.data); err != nil {
		return err
	}
	if c.body.SessionID == "" && !c.isSession() {
		return failure.Usage("Name a session").WithNext("name it with --session; see `maestro session list`")
	}
	c.body.Message = args[0]
	return c.change(ctx, "session:note", &c.body, c.key, c.body.SessionID, "Noted")
}

// sessionUpdate is `maestro session update`.
type sessionUpdate struct {
	*Run
	cmd                            *cobra.Command
	name, status, agent, file, key string
	tasks                          []string
	env                            map[string]string
}

func newSessionUpdate(a *Run) *cobra.Command {
	c := &sessionUpdate{Run: a}
	cmd := &cobra.Command{Use: "update ID", Short: "Give fields of a session new values", Args: Takes("ID")}
	cmd.RunE = Running(c.run)
	c.cmd = cmd
	f := cmd.Flags()
	f.StringVar(&c.name, "name", "", "new name")
	f.StringVar(&c.status, "status", "", "idle or working")
	f.StringVar(&c.agent, "agent-id", "", "new agent")
	f.StringSliceVar(&c.tasks, "task-ids", nil, "its tasks from now on, with commas")
	f.StringToStringVar(&c.env, "env", nil, "NAME=VALUE, merged into its environment")
	f.StringVar(
		&c.file,
		"manifest",
		"",
		"issue its manifest again, from this file; role, strategy and allowed commands stay as they are",
	)
	Complete(cmd, "status", "idle", "working")
	a.keyFlag(cmd, &c.key)
	return cmd
}

func (c *sessionUpdate) run(ctx context.Context, args []string) error {
	body := commands.UpdateSession{
		SessionID: args[0],
		Name:      given(c.cmd, "name", c.name),
		Status:    given(c.cmd, "status", events.SessionStatus(c.status)),
		AgentID:   given(c.cmd, "agent-id", c.agent),
		TaskIDs:   given(c.cmd, "task-ids", ids(c.tasks)),
		Env:       c.env,
	}
	if body.TaskIDs != nil && *body.TaskIDs == nil {
		*body.TaskIDs = []string{}
	}
	if body.Name == nil && body.Status == nil && body.AgentID == nil && body.TaskIDs == nil && body.Env == nil &&
		c.file == "" {
		return failure.Usage("There is nothing to update").WithNext("see `maestro session update --help`")
	}
	if c.file != "" {
		m, err := uploadManifest(ctx, c.Run, c.file, "")
		if err != nil {
			return err
		}
		digest := manifest.Digest(m.Canonical())
		body.ManifestDigest = &digest
	}
	answer, err := c.send(ctx, "session:update", &body, c.key)
	if err != nil {
		return err
	}
	if c.file != "" {
		placeManifest(ctx, c.Run, args[0])
	}
	c.wrote(answer, args[0], "Updated session %s", args[0])
	return nil
}

// sessionDelete is `maestro session delete`.
type sessionDelete struct {
	*Run
	key string
}

func newSessionDelete(a *Run) *cobra.Command {
	c := &sessionDelete{Run: a}
	cmd := &cobra.Command{
		Use: "delete ID", Short: "Take a session out of the views; its history stays", Args: Takes("ID"),
		RunE: Running(c.run),
	}
	a.keyFlag(cmd, &c.key)
	return cmd
}

func (c *sessionDelete) run(ctx context.Context, args []string) error {
	return c.change(
		ctx,
		"session:delete",
		&commands.DeleteSession{SessionID: args[0]},
		c.key,
		args[0],
		"Deleted session %s",
		args[0],
	)
}

// sessionLink is `maestro session link`.
type sessionLink struct {
	*Run
	key string
}

func newSessionLink(a *Run) *cobra.Command {
	c := &sessionLink{Run: a}
	cmd := &cobra.Command{
		Use: "link ID TASK", Short: "Make a task one of a session's", Args: Takes("ID", "TASK"),
		RunE: Running(c.run),
	}
	a.keyFlag(cmd, &c.key)
	return cmd
}

func (c *sessionLink) run(ctx context.Context, args []string) error {
	return c.change(
		ctx,
		"session:link",
		&commands.LinkTask{SessionID: args[0], TaskID: args[1]},
		c.key,
		args[0],
		"Linked task %s to session %s",
		args[1],
		args[0],
	)
}

// sessionUnlink is `maestro session unlink`.
type sessionUnlink struct {
	*Run
	key string
}

func newSessionUnlink(a *Run) *cobra.Command {
	c := &sessionUnlink{Run: a}
	cmd := &cobra.Command{
		Use: "unlink ID TASK", Short: "Take a task from a session", Args: Takes("ID", "TASK"),
		RunE: Running(c.run),
	}
	a.keyFlag(cmd, &c.key)
	return cmd
}

func (c *sessionUnlink) run(ctx context.Context, args []string) error {
	return c.change(
		ctx,
		"session:unlink",
		&commands.UnlinkTask{SessionID: args[0], TaskID: args[1]},
		c.key,
		args[0],
		"Took task %s from session %s",
		args[1],
		args[0],
	)
}
