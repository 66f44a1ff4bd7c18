package cli

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"maestro/api/client"
	"maestro/commands"
	"maestro/internal/failure"
	"maestro/internal/safetext"
	"maestro/service/wire"
	"maestro/workers/manifest"
)

func newSession(a *Run) *cobra.Command {
	return a.group(
		"session",
		"Sessions: agents at work",
		newSessionList(a),
		newSessionInfo(a),
		newSessionSpawn(a),
		newSessionExec(a),
		newSessionHeartbeat(a),
		newSessionRegister(a),
		newSessionComplete(a),
		newSessionKill(a),
		newSessionResume(a),
		newSessionLogs(a),
		newSessionMessage(a),
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
	filter wire.SessionFilter
	mine   bool
	active bool
}

func newSessionList(a *Run) *cobra.Command {
	c := &sessionList{Run: a}
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List sessions",
		Args:  Takes,
		RunE:  Running(c.run),
	}
	projectFlag(cmd, &c.filter.ProjectID)
	bindQuery(cmd, &c.filter)
	cmd.Flags().BoolVar(&c.active, "active", false, "only those that are neither completed nor ended")
	cmd.Flags().BoolVar(&c.mine, "mine", false, "only those that your session spawned")
	Exclude(cmd, "mine", "spawned-by")
	a.ListFlags(cmd)
	a.WatchFlag(cmd, "session", "queue_item")
	a.AtFlag(cmd)
	return Tell(cmd, "session:list", "mine", "active", "status", "task")
}

func (c *sessionList) run(ctx context.Context, _ []string) error {
	if c.mine {
		if c.filter.SpawnedBy = c.Getenv(wire.EnvSessionID); c.filter.SpawnedBy == "" {
			return failure.Usage("--mine is for a session, and MAESTRO_SESSION_ID names none").
				WithNext("name one with --spawned-by")
		}
	}
	if c.filter.ProjectID == "" && !c.mine { // a session's may work in several
		c.filter.ProjectID = c.Getenv(wire.EnvProjectID)
	}
	c.filter.Brief = "true"
	if c.active { // to older clients, active means not completed
		c.filter.Active, c.filter.Living = "true", "true"
	}
	sessions, err := Ask(ctx, c.Run, (*client.Client).Sessions, c.filter)
	if err != nil {
		return err
	}
	columns := []string{"ID", "STATUS", "ROLE", "STRATEGY", "TASKS", "HEARD", "NAME"}
	row := func(x wire.Session) []string {
		return []string{
			x.ID,
			statusText(x),
			string(x.Role),
			string(x.Strategy),
			workOf(x),
			c.lastHeard(x),
			safetext.Clip(x.Name, 60),
		}
	}
	columns, row = byProject(sessions, func(x wire.Session) string { return x.ProjectID }, columns, row)
	List(c.Run, sessions, "No sessions", columns, row)
	return nil
}

// tasksListed is how many tasks of a session a table names.
const tasksListed = 3

// workOf returns what a session works on: the item that it holds, or else its tasks, or else the queue that it pulls
// from.
func workOf(x wire.Session) string {
	switch n := len(x.TaskIDs); {
	case x.Item != "":
		return "holds " + x.Item
	case n > tasksListed:
		return fmt.Sprintf("%s and %d more", strings.Join(x.TaskIDs[:tasksListed], ","), n-tasksListed)
	case n > 0:
		return strings.Join(x.TaskIDs, ",")
	case x.Queue != "":
		return "queue " + x.Queue
	}
	return "no task"
}

// lastHeard returns when a session last called, or when it or its command ended.
func (a *Run) lastHeard(x wire.Session) string {
	switch {
	case x.EndedAt != nil:
		return "ended " + a.When(*x.EndedAt)
	case x.ExitedAt != nil && x.LastHeard <= *x.ExitedAt:
		return "command ended " + a.When(*x.ExitedAt)
	case x.LastHeard == 0:
		return "not started"
	}
	return "heard " + a.When(x.LastHeard)
}

// statusText returns a session's status, and whether it is silent.
func statusText(x wire.Session) string {
	if x.LostAt != nil {
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
		Use:   "info [<sessionId>]",
		Short: "Show a session, your own if none is named",
		Args:  Takes,
		RunE:  Running(c.run),
	}
	cmd.Flags().BoolVar(&c.timeline, "timeline", false, "show its timeline too")
	a.AtFlag(cmd)
	return Tell(cmd, "session:info", "timeline")
}

func (c *sessionInfo) run(ctx context.Context, args []string) error {
	id, err := sessionNamed(c.Run, At(args, 0))
	if err != nil {
		return err
	}
	shown := struct {
		wire.Session
		Waits    string       `json:"waits,omitempty"`
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
	shown.Waits = waits(ctx, c.Run, shown.Session)
	c.Result(shown, func() {
		showSession(c.Run, shown.Session, shown.Waits, asks(ctx, c.Run, shown.Session))
		c.Run.timeline(shown.Timeline)
	})
	return nil
}

// sessionNamed returns the named session, or that of this process.
func sessionNamed(a *Run, named string) (string, error) {
	if named == "" {
		named = a.Getenv(wire.EnvSessionID)
	}
	if named == "" {
		return "", a.noSession(failure.Usage("Name a session").
			WithNext("add its id to the command; `maestro session list` shows it"))
	}
	return named, nil
}

// noSession returns why no session is known: that a variable which names one is set but empty, or else the given error.
func (a *Run) noSession(otherwise error) error {
	if _, err := a.ownToken(); err != nil {
		return err
	}
	return otherwise
}

func showSession(a *Run, x wire.Session, waits string, asks []string) {
	a.hanging(x.ID+"  ", x.Name)
	a.Field("Status", statusText(x)+Prefixed(": ", x.EndReason))
	for _, question := range asks {
		a.Field("Asks", safetext.OneLine(question))
	}
	if len(asks) > 0 {
		a.Field("Answer", "see `maestro inbox --session "+x.ID+"`")
	}
	a.Field("Role", string(x.Role)+", strategy "+string(x.Strategy))
	a.Field("Project", x.ProjectID)
	a.Field("Tasks", allNamed(x.TaskIDs, x.Names))
	a.Field("Queue", x.Queue)
	a.Field("Holds", Prefixed("the queue item ", withName(x.Item, x.Names[x.Item])))
	if x.LostAt != nil {
		a.Field("Lost", "since "+a.When(*x.LostAt))
	}
	if x.Deadline != nil {
		a.Field("Deadline", a.When(*x.Deadline))
	}
	a.Field("Agent", strings.TrimSpace(x.Agent+" "+x.Model))
	if x.OwnManifest {
		a.Field("Options", "in its manifest: see `maestro manifest show --session "+x.ID+"`")
	}
	a.Field("Options", optionsText(x.Options))
	if x.ManifestRedacted != nil {
		a.Field("Manifest", Redacted(*x.ManifestRedacted))
	}
	a.Field("Variables", strings.Join(variablesOf(x.Env), ", "))
	a.Field("Skills", strings.Join(x.Skills, ", "))
	a.Field("Spawned by", withName(x.SpawnedBy, x.Names[x.SpawnedBy]))
	a.Field("Started", a.When(x.StartedAt))
	a.Field("Active", a.When(x.LastActivity))
	if x.EndedAt == nil {
		heard := "not yet"
		if x.LastHeard != 0 {
			heard = a.When(x.LastHeard)
		}
		a.Field("Heard", heard)
		if x.ExitedAt != nil && x.Run == nil {
			said := "ended " + a.When(*x.ExitedAt)
			if x.ExitCode != nil {
				said += " with exit code " + strconv.Itoa(*x.ExitCode)
			}
			a.Field("Command", said)
		}
	}
	if x.EndedAt != nil {
		a.Field("Ended", a.When(*x.EndedAt))
	}
	showRun(a, x, waits)
	if x.Permissions != nil {
		a.Field("May", strings.Join(x.Permissions.Commands, ", "))
	}
}

// variablesOf returns the names of the variables that a session was given.
func variablesOf(env map[string]string) []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(env)) {
		if !strings.HasPrefix(name, "MAESTRO_") {
			names = append(names, name)
		}
	}
	return names
}

// optionsText returns how a session's agent is run, with the names that its manifest has for it.
func optionsText(options *wire.AgentOptions) string {
	if options == nil {
		return ""
	}
	var parts []string
	v := reflect.ValueOf(options).Elem()
	for i := range v.NumField() {
		if field := v.Field(i); !field.IsZero() {
			parts = append(parts, fmt.Sprint(jsonName(v.Type().Field(i)), " ", field))
		}
	}
	return strings.Join(parts, ", ")
}

// sessionNote is `maestro session note`.
type sessionNote struct {
	*Run
	fields *fields
	body   commands.NoteSession
	key    string
}

func newSessionNote(a *Run) *cobra.Command {
	c := &sessionNote{Run: a}
	cmd := &cobra.Command{
		Use:   `note "<message>"`,
		Short: "Add an entry to a session's timeline; this changes no status",
		Args:  Takes,
		RunE:  Running(c.run),
	}
	c.fields = bind(cmd, &c.body)
	a.keyFlag(cmd, &c.key)
	return Tell(cmd, "session:note", "type", "task")
}

func (c *sessionNote) run(ctx context.Context, args []string) error {
	if err := c.fields.set(args); err != nil {
		return err
	}
	if c.body.SessionID == "" && !c.isSession() {
		return c.noSession(failure.Usage("Name a session").
			WithNext("name it with --session; see `maestro session list`"))
	}
	return c.change(ctx, "session:note", &c.body, c.key, c.body.SessionID, "Noted")
}

// sessionUpdate is `maestro session update`.
type sessionUpdate struct {
	*Run
	fields    *fields
	body      commands.UpdateSession
	file, key string
}

func newSessionUpdate(a *Run) *cobra.Command {
	c := &sessionUpdate{Run: a}
	cmd := &cobra.Command{
		Use:   "update <sessionId>",
		Short: "Change fields of a session",
		Args:  Takes,
		RunE:  Running(c.run),
	}
	c.fields = bind(cmd, &c.body)
	cmd.Flags().StringVar(&c.file, "manifest", "",
		"issue its manifest again from this file; role, strategy and allowed commands stay as they are")
	ValueName(cmd, "manifest", "<file>")
	ValueName(cmd, "env", "<variable>")
	a.keyFlag(cmd, &c.key)
	return Tell(cmd, "session:update", "name", "task-ids", "manifest")
}

func (c *sessionUpdate) run(ctx context.Context, args []string) error {
	if err := c.fields.set(args); err != nil {
		return err
	}
	if !c.fields.given() && c.file == "" {
		return nothingToUpdate(c.fields.cmd)
	}
	if c.file != "" {
		m, err := uploadManifest(ctx, c.Run, c.file, "")
		if err != nil {
			return err
		}
		digest := manifest.Digest(m.Canonical())
		c.body.ManifestDigest = &digest
	}
	answer, err := c.send(ctx, "session:update", &c.body, c.key)
	if err != nil {
		return err
	}
	if c.file != "" {
		placeManifest(ctx, c.Run, args[0])
	}
	c.wrote(answer, args[0], "Updated session %s", args[0])
	return nil
}

func newSessionDelete(a *Run) *cobra.Command {
	return newChange(a, &commands.DeleteSession{}, "delete <sessionId>",
		"Remove a session from the views; its history stays", "Deleted session %[1]s")
}

func newSessionLink(a *Run) *cobra.Command {
	return newChange(a, &commands.LinkTask{}, "link <sessionId> <taskId>", "Add a task to a session",
		"Linked task %[2]s to session %[1]s")
}

func newSessionUnlink(a *Run) *cobra.Command {
	return newChange(a, &commands.UnlinkTask{}, "unlink <sessionId> <taskId>", "Remove a task from a session",
		"Unlinked task %[2]s from session %[1]s")
}
