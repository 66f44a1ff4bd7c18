package commands

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"

	"maestro/events"
	"maestro/internal/safetext"
	"maestro/projections"
)

// longestTimeout is a year, in milliseconds.
const longestTimeout = 365 * 24 * 60 * 60 * 1000

// SpawnSession creates a session: its tasks in todo move to in_progress (with the queue strategy, starting an item does
// that), its permissions are frozen, and nothing is launched. docs/contract.md, "Permissions"; compat: POST
// /api/sessions/spawn.
//
// Its other fields in common with wire.NewManifest are not embedded: the request hash covers the fields in this order,
// and others come between them. A test of service/wire checks that the two have the same fields.
type SpawnSession struct {
	noTexts
	ProjectRef
	Name           string          `json:"name,omitempty" flag:"\"<name>\"" doc:"the name that people use"`
	Role           events.Role     `json:"role,omitempty" doc:"worker (default) or orchestrator"`
	Strategy       events.Strategy `json:"strategy,omitempty" doc:"worker: simple (default), queue, tree; orchestrator: default, intelligent-batching, dag"`
	TaskIDs        []string        `json:"taskIds,omitempty" doc:"its tasks, the primary one first; optional for a queue"`
	Allowed        *[]string       `json:"allowedCommands,omitempty" flag:"<commandIds>" doc:"commands besides the core ones; by role and strategy if absent"`
	Force          bool            `json:"force,omitempty" doc:"spawn it even if its tasks have open dependencies"`
	Model          string          `json:"model,omitempty" doc:"sonnet, opus, haiku or the full name of a model"`
	Agent          string          `json:"agent,omitempty" doc:"claude (default), codex, gemini, a configured one, or auto: by the task"`
	Skills         []string        `json:"skills,omitempty" doc:"skills to load"`
	Context        json.RawMessage `json:"context,omitempty" doc:"what else the agent should know"`
	ManifestDigest string          `json:"manifestDigest,omitempty" doc:"a stored manifest; one is generated if absent"`
	events.AgentOptions
	// Generated is the digest of the manifest that was generated for it. It is not part of the request: a retry may
	// generate another.
	Generated string `json:"-"`
	// OnlyQueue is the project's only queue, which a session without tasks pulls from if it names none. It is not part
	// of the request either: at a retry there may be several.
	OnlyQueue string `json:"-"`
	// DefaultRunner is the runner of this server, which launches the agent if the spawn names none. It is not part of
	// the request: at a retry there may be another, or none.
	DefaultRunner string `json:"-"`
	// Stated are the options in the manifest that the request names.
	Stated *events.AgentOptions `json:"-"`
	// asked is nil if nothing was added to it since.
	asked *askedSpawn
	// Strict is the opposite of Force, for versions of the rules before 3: they refuse only if it is set.
	Strict    bool    `json:"-"`
	Queue     string  `json:"queue,omitempty" doc:"queue strategy: where it pulls from; if absent, its own, or without tasks the project's only one"`
	Timeout   int64   `json:"timeout,omitempty" absent:"a session that never times out" doc:"fail it after this time, counted from its spawn or its last resume, in milliseconds"`
	SpawnedBy string  `json:"spawnedBy,omitempty" doc:"the session that it is spawned for; your own if absent"`
	Like      *string `json:"like,omitempty" flag:"<sessionId>" doc:"copy role, strategy, commands and options from this session; what is given here replaces all of these but the role"`
	Runner    string  `json:"runner,omitempty" flag:"<name>" doc:"the runner that launches its agent; that of the server if absent; none: whoever spawned it launches it"`
}

// ID implements Command.
func (*SpawnSession) ID() string { return "session:spawn" }

// Decide implements Command.
func (x *SpawnSession) Decide(s *projections.State, c Call) (events.Data, error) {
	x, err := x.Resolved(s, c.By)
	if err != nil {
		return nil, err
	}
	if seventhOn(c.Rules) {
		x = x.Inherited(s, c.By)
	}
	p, err := project(s, "/project", c.Project)
	if err != nil {
		return nil, err
	}
	kind, err := sessionKind{x.Role, x.Strategy, x.Name, x.TaskIDs}.resolve(s, p.ID)
	if err != nil {
		return nil, err
	}
	if len(kind.tasks) == 0 && kind.strategy != events.StrategyQueue {
		refusal := &Refusal{
			Code:    CodeInvalid,
			Pointer: "/taskIds",
			Message: "A session needs a task, or the queue strategy",
			Next:    "name its tasks with --task-ids, or use --strategy queue",
		}
		if kind.role == events.RoleOrchestrator {
			refusal.Message, refusal.Next = "An orchestrator needs a task", "name its tasks with --task-ids"
		}
		return nil, refusal
	}
	permissions, err := permissionsOf(tableOf(c.Rules), kind.role, kind.strategy, x.Allowed)
	if err != nil {
		return nil, err
	}
	if permissions, err = x.atMostOwn(s, c, kind, permissions); err != nil {
		return nil, err
	}
	if err := x.valid(); err != nil {
		return nil, err
	}
	if dir := x.WorkingDirectory; fifthOn(c.Rules) && dir != "" && !isAbsolute(dir) {
		refusal := invalid("/workingDirectory", "the working directory must be an absolute path, not '%s'",
			safetext.Printable(dir))
		refusal.Next = "give an absolute path with --working-directory"
		return nil, refusal
	}
	if err := withinOwn(s, c, x.ID(), p.ID, x.options()); err != nil {
		return nil, err
	}
	spawnedBy, err := x.spawner(s, c, p.ID)
	if err != nil {
		return nil, err
	}
	g := graphOf(s, c)
	if err := g.joins("", kind.tasks); err != nil {
		return nil, err
	}
	if err := g.waits(kind.tasks); err != nil {
		return nil, err
	}
	unmet := unmetDependencies(s, kind.tasks, kind.tasks)
	forced, err := x.starts(s, c, kind, unmet)
	if err != nil {
		return nil, err
	}
	spawned := &events.SessionSpawned{
		SessionID:      newID("sess", c, sessionTaken(s)),
		Name:           x.Name,
		Role:           kind.role,
		Strategy:       kind.strategy,
		TaskIDs:        kind.tasks,
		Unmet:          unmet,
		Strict:         x.Strict,
		Forced:         forced,
		Permissions:    permissions,
		Model:          x.Model,
		Agent:          x.Agent,
		Skills:         x.Skills,
		Context:        x.Context,
		ManifestDigest: cmp.Or(x.ManifestDigest, x.Generated),
		SpawnedBy:      spawnedBy,
		Timeout:        x.Timeout,
		Options:        x.options(),
		Runner:         x.runner(),
	}
	if err := x.queue(s, c, p.ID, kind, spawned); err != nil {
		return nil, err
	}
	if spawned.Name == "" {
		spawned.Name = defaultName(kind)
	}
	if kind.strategy != events.StrategyQueue {
		for _, id := range kind.tasks {
			if s.Task(id).Status == events.TaskTodo {
				spawned.Started = append(spawned.Started, id)
			}
		}
	}
	return spawned, nil
}

func (x *SpawnSession) from(e *events.Event, d *events.SessionSpawned) bool {
	*x = SpawnSession{
		ProjectRef:     inProject(e),
		Queue:          d.Queue,
		Timeout:        d.Timeout,
		Name:           d.Name,
		Role:           d.Role,
		Strategy:       d.Strategy,
		TaskIDs:        d.TaskIDs,
		Allowed:        listOfPermissions(d.Permissions),
		Strict:         d.Strict,
		Force:          d.Forced,
		Model:          d.Model,
		Agent:          d.Agent,
		Skills:         d.Skills,
		Context:        d.Context,
		ManifestDigest: d.ManifestDigest,
		SpawnedBy:      d.SpawnedBy,
		Runner:         d.Runner,
	}
	if d.Options != nil {
		x.AgentOptions = *d.Options
	}
	if d.Queue == d.SessionID {
		x.Queue = ""
	}
	return true
}

// NoRunner is the runner of a session whose agent somebody launches by other means.
const NoRunner = "none"

// runner returns the runner that launches the agent, "" if there is none.
func (x *SpawnSession) runner() string {
	switch x.Runner {
	case NoRunner:
		return ""
	case "":
		return x.DefaultRunner
	}
	return x.Runner
}

// starts refuses work on tasks that may not start yet. The items of a queue wait by themselves.
func (x *SpawnSession) starts(s *projections.State, c Call, kind sessionKind, unmet []string) (forced bool, err error) {
	if !thirdOn(c.Rules) {
		if len(unmet) > 0 && x.Strict {
			return false, waitsFor(s, kind.tasks, unmet, "spawn without strict")
		}
		return false, nil
	}
	if kind.strategy == events.StrategyQueue {
		unmet = nil
	}
	return mayStart(s, c, kind.tasks, unmet, x.Force)
}

// queue sets the queue from which a session with the queue strategy pulls, and pushes its tasks there.
func (x *SpawnSession) queue(s *projections.State, c Call, project string, kind sessionKind,
	spawned *events.SessionSpawned,
) error {
	switch {
	case x.Queue != "" && kind.strategy != events.StrategyQueue:
		return invalid("/queue", "only a session with the queue strategy pulls from a queue")
	case kind.strategy != events.StrategyQueue || c.Rules == firstRules:
		return nil
	case x.Queue == "" && x.OnlyQueue == "":
		spawned.Queue = spawned.SessionID
	default:
		name := cmp.Or(x.Queue, x.OnlyQueue)
		if err := ValidID("/queue", name); err != nil {
			return err
		}
		q := s.Queue(project, name)
		switch {
		case q == nil:
			return NoQueue(project, name)
		case q.SessionID != "" && s.Gone(q.SessionID) == "":
			return &Refusal{
				Code:    CodeConflict,
				Message: "Queue '" + q.Name + "' is session '" + q.SessionID + "'s own",
				Why:     "another may take it over once that session is gone",
				Next:    "make a queue for several with `maestro queue create`",
			}
		}
		spawned.Queue = name
	}
	g := graphOf(s, c)
	for _, id := range kind.tasks {
		if s.Item(project, spawned.Queue, id) == nil {
			if err := g.queues(id); err != nil {
				return err
			}
			spawned.Queued = append(spawned.Queued, id)
		}
	}
	return g.enters("/taskIds", s.Queue(project, spawned.Queue), spawned.Queued...)
}

// spawner returns the session that spawns the new one: the calling session, or the one of the project that a user
// names.
func (x *SpawnSession) spawner(s *projections.State, c Call, project string) (string, error) {
	switch {
	case c.By.Kind == ActorSession && x.SpawnedBy != "" && x.SpawnedBy != c.By.Name:
		return "", notAllowed(x.ID(), "a session spawns for itself only", "leave spawnedBy out",
			"Session '%s' may not spawn for session '%s'", c.By.Name, safetext.Printable(x.SpawnedBy))
	case c.By.Kind == ActorSession:
		return c.By.Name, nil
	case x.SpawnedBy == "":
		return "", nil
	}
	if err := ValidID("/spawnedBy", x.SpawnedBy); err != nil {
		return "", err
	}
	parent := s.Session(x.SpawnedBy)
	if parent == nil {
		return "", notFound("Session", x.SpawnedBy)
	}
	if parent.ProjectID != project {
		return "", elsewhere("/spawnedBy", "Session", parent.ID, project)
	}
	return parent.ID, nil
}

// atMostOwn limits the commands that an orchestrator gives to a session that it spawns. A worker gets commands of its
// default set, and beyond that only what the orchestrator itself may use; another orchestrator gets at most the
// spawner's own set, to which a default is cut. An explicit list with more is refused. For a user, only the child's
// role is the limit.
func (x *SpawnSession) atMostOwn(s *projections.State, c Call, kind sessionKind,
	permissions events.Permissions,
) (events.Permissions, error) {
	spawner := s.Session(c.By.Name)
	if c.By.Kind != ActorSession || spawner == nil || spawner.Permissions == nil {
		return permissions, nil
	}
	own, child, why := spawner.Permissions.Commands, "another orchestrator",
		"an orchestrator gives another at most its own commands"
	if kind.role != events.RoleOrchestrator {
		if !thirdOn(c.Rules) {
			return permissions, nil
		}
		own, child = slices.Concat(own, tableOf(c.Rules).Defaults(RoleSetOf(kind.role, kind.strategy))), "a worker"
		why = "beyond the default set of a worker, an orchestrator gives only what it may use itself"
	}
	var cut []string
	for _, id := range permissions.Commands {
		if slices.Contains(own, id) {
			cut = append(cut, id)
		}
	}
	if x.Allowed != nil {
		for at, listed := range *x.Allowed {
			id := current().canonical(listed)
			beyond := slices.Contains(permissions.Commands, id) && !slices.Contains(cut, id) ||
				thirdOn(c.Rules) && beyondLater(spawner, kind, id)
			if !beyond {
				continue
			}
			refusal := notAllowed("session:spawn", why,
				"leave out /allowedCommands/"+strconv.Itoa(at)+", or ask the user to spawn the session",
				"Session '%s' may not give '%s' to %s", c.By.Name, id, child)
			refusal.Pointer = "/allowedCommands/" + strconv.Itoa(at)
			return permissions, refusal
		}
	}
	if len(cut) == len(permissions.Commands) {
		return permissions, nil
	}
	return events.Permissions{Commands: cut, Explicit: true}, nil
}

// beyondLater reports whether an orchestrator may not give a command of a later version, which no list has yet: one
// that the child's role will not have, or, to another orchestrator, any if it has less than its role itself.
func beyondLater(spawner *projections.Session, kind sessionKind, id string) bool {
	row, known := current().Row(id)
	if !known || !row.Planned {
		return false
	}
	if row.Who&RoleSetOf(kind.role, kind.strategy) == 0 {
		return true
	}
	restricted := slices.ContainsFunc(current().Defaults(RoleOrchestrator), func(id string) bool {
		return !slices.Contains(spawner.Permissions.Commands, id)
	})
	return kind.role == events.RoleOrchestrator && restricted
}

func (x *SpawnSession) valid() error {
	for pointer, line := range map[string]string{
		"/model": x.Model, "/agent": x.Agent, "/permissionMode": x.PermissionMode, "/thinkingMode": x.ThinkingMode,
		"/templateId": x.TemplateID, "/network": x.Network,
	} {
		if err := ValidLine(pointer, line, MaxName); err != nil {
			return err
		}
	}
	if err := ValidLine("/workingDirectory", x.WorkingDirectory, maxPath); err != nil {
		return err
	}
	if x.Runner != "" {
		if err := ValidID("/runner", x.Runner); err != nil {
			return err
		}
	}
	if err := validDigest(x.ManifestDigest); err != nil {
		return err
	}
	if x.Timeout < 0 || x.Timeout > longestTimeout {
		return invalid("/timeout", "timeout is in milliseconds, from 1 to %d, not %d", int64(longestTimeout), x.Timeout)
	}
	if err := validTexts("/skills", x.Skills); err != nil {
		return err
	}
	if len(x.Context) > events.MaxText {
		return invalid("/context", "context has at most %d bytes, this has %d", events.MaxText, len(x.Context))
	}
	return validObject("/context", x.Context)
}

func defaultName(k sessionKind) string {
	name := "Worker"
	if k.role == events.RoleOrchestrator {
		name = "Orchestrator"
	}
	if len(k.tasks) == 0 {
		return name
	}
	return name + " for " + k.tasks[0]
}

// validDigest accepts "", or the digest of a blob.
func validDigest(digest string) error {
	if digest == "" || events.IsDigest(digest) {
		return nil
	}
	return invalid(
		"/manifestDigest", "'%s' is not a digest; it is sha256- and 64 hexadecimal digits", safetext.Printable(digest),
	)
}
