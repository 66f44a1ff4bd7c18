package commands

import (
	"encoding/json"
	"slices"
	"strings"

	"maestro/events"
	"maestro/internal/safetext"
	"maestro/projections"
)

// RegisterSession reports a session for work; a user may register one that nobody spawned, which creates it
// (docs/contract.md, "Permissions"); compat: POST /api/sessions, PATCH to running.
type RegisterSession struct {
	noTexts
	ProjectRef
	SessionID string `json:"sessionId,omitempty" doc:"the session; your own if absent, and a new one for a user"`
	// Create refuses a session that is already known.
	Create   bool                 `json:"create,omitempty" doc:"refuse a session that exists"`
	Name     string               `json:"name,omitempty" flag:"\"<name>\"" doc:"name of a new session"`
	Role     events.Role          `json:"role,omitempty" doc:"role of a new session: worker (default) or orchestrator"`
	Strategy events.Strategy      `json:"strategy,omitempty" doc:"strategy of a new session; simple if absent"`
	Status   events.SessionStatus `json:"status,omitempty" doc:"running (default), idle, working or spawning"`
	TaskIDs  []string             `json:"taskIds,omitempty" doc:"tasks of a new session"`
	Force    bool                 `json:"force,omitempty" doc:"register it even if its tasks have open dependencies"`
	Allowed  *[]string            `json:"allowedCommands,omitempty" flag:"<commandIds>" doc:"commands besides the core ones; by role and strategy if absent"`
	Env      map[string]string    `json:"env,omitempty" doc:"environment of a new session"`
	Metadata json.RawMessage      `json:"metadata,omitempty" doc:"metadata of a new session"`
	AgentID  string               `json:"agentId,omitempty" doc:"agent of a new session"`
	// ManifestDigest is that of a manifest that was stored before.
	ManifestDigest string `json:"manifestDigest,omitempty" doc:"digest of the stored manifest of a new session"`
	// Stated are the options in that manifest.
	Stated *events.AgentOptions `json:"-"`
}

// CompleteSession declares that a session is done (docs/spec/000-command-permissions.md, "Report Command Targeting").
type CompleteSession struct {
	noTexts
	ProjectRef
	SessionID string `json:"sessionId,omitempty" doc:"the session; your own if absent"`
}

// KillSession ends a session.
type KillSession struct {
	noTexts
	ProjectRef
	SessionID string `json:"sessionId" doc:"the session"`
	Reason    string `json:"reason,omitempty" flag:"\"<reason>\"" doc:"why it ends"`
	Failed    bool   `json:"failed,omitempty" doc:"end it as failed, not as stopped"`
}

// DeleteSession deletes a session.
type DeleteSession struct {
	noTexts
	ProjectRef
	SessionID string `json:"sessionId" doc:"the session"`
}

// ID implements Command.
func (*RegisterSession) ID() string { return "session:register" }

// ID implements Command.
func (*CompleteSession) ID() string { return "session:complete" }

// ID implements Command.
func (*KillSession) ID() string { return "session:kill" }

// ID implements Command.
func (*DeleteSession) ID() string { return "session:delete" }

func (x *RegisterSession) project(s *projections.State, by Actor) string {
	return projectOfSession(s, by, x.ProjectRef, x.SessionID)
}

func (x *CompleteSession) project(s *projections.State, by Actor) string {
	return projectOfSession(s, by, x.ProjectRef, x.SessionID)
}

func (x *KillSession) project(s *projections.State, by Actor) string {
	return projectOfSession(s, by, x.ProjectRef, x.SessionID)
}

func (x *DeleteSession) project(s *projections.State, by Actor) string {
	return projectOfSession(s, by, x.ProjectRef, x.SessionID)
}

// projectOfSession returns the project of a command's session; the project that the caller names counts only if there
// is no such session.
func projectOfSession(s *projections.State, by Actor, in ProjectRef, session string) string {
	if project := s.SessionProject(session); project != "" {
		return project
	}
	return in.projectOr(by)
}

// reservedSessions may not be ids of sessions: as an actor or a receiver, each means somebody else.
var reservedSessions = []string{"parent", AdminName, string(ActorSystem), string(ActorRunner)}

// reservedTokens may not be names of tokens, for the same reason. The initial token is called admin.
var reservedTokens = []string{string(ActorSystem), string(ActorRunner)}

// Warnings implements Warner. A session that ends its own work has read its mail before.
func (*CompleteSession) Warnings(s *projections.State, data events.Data) []Warning {
	completed, ok := data.(*events.SessionCompleted)
	if !ok {
		return nil
	}
	session := s.Session(completed.SessionID)
	if session == nil {
		return nil
	}
	warnings := leftUnread(s, session)
	for i := range warnings {
		warnings[i].Except = session.ID
	}
	return warnings
}

// IsReserved reports whether a name means an actor that always exists and is no session.
func IsReserved(name string) bool {
	return name == AdminName || slices.Contains(reservedTokens, name)
}

// namesAnother refuses a name or an id that names another actor.
func namesAnother(pointer, name, format, next string) *Refusal {
	refusal := invalid(pointer, format, name)
	refusal.Why, refusal.Next = "'"+name+"' names another actor", next
	return refusal
}

// Decide implements Command.
func (x *RegisterSession) Decide(s *projections.State, c Call) (events.Data, error) {
	id := x.SessionID
	if id == "" && c.By.Kind == ActorSession {
		id = c.By.Name
	}
	if id == "" {
		id = newID("sess", c, sessionTaken(s))
	}
	if err := ValidID("/sessionId", id); err != nil {
		return nil, err
	}
	if s.SessionProject(id) == "" {
		return x.create(s, c, id)
	}
	if x.Create {
		return nil, &Refusal{
			Code:    CodeConflict,
			Message: "Session with id '" + id + "' already exists",
			Why:     "create was set, which asks for a new session",
			Next:    "choose another id, or register it without create",
		}
	}
	session, err := ownSession(s, c, x.ProjectRef, id, x.ID())
	if err != nil {
		return nil, err
	}
	switch {
	case session.Ended():
		return nil, ended(s, x.ID(), session)
	case x.differs(session):
		return nil, &Refusal{
			Code:    CodeConflict,
			Message: "Session with id '" + id + "' already exists, with other settings",
			Why:     "registering a known session changes nothing about it",
			Next:    "leave out all but its id, or choose another id",
		}
	case session.Status == events.SessionRunning, session.Status == events.SessionSaidDone:
		return nil, nil
	}
	return &events.SessionRegistered{SessionID: id}, nil
}

func (x *RegisterSession) from(e *events.Event, d *events.SessionRegistered) bool {
	if c := d.Created; c != nil {
		*x = RegisterSession{
			ProjectRef:     inProject(e),
			SessionID:      d.SessionID,
			Create:         true,
			Name:           c.Name,
			Role:           c.Role,
			Strategy:       c.Strategy,
			Status:         c.Status,
			TaskIDs:        c.TaskIDs,
			Force:          d.Forced,
			Allowed:        listOfPermissions(c.Permissions),
			Env:            c.Env,
			Metadata:       c.Metadata,
			AgentID:        c.AgentID,
			ManifestDigest: d.ManifestDigest,
			Stated:         c.Options,
		}
		return true
	}
	*x = RegisterSession{ProjectRef: inProject(e), SessionID: d.SessionID}
	return d.ManifestDigest == "" // otherwise it began with its manifest
}

// differs reports whether the request asks for other rights than a known session has.
func (x *RegisterSession) differs(known *projections.Session) bool {
	strategy, err := ResolveStrategy(known.Role, x.Strategy)
	return x.Role != "" && x.Role != known.Role || x.Strategy != "" && (err != nil || strategy != known.Strategy) ||
		x.Allowed != nil
}

func (x *RegisterSession) create(s *projections.State, c Call, id string) (events.Data, error) {
	if c.By.Kind != ActorUser {
		return nil, notAllowed(x.ID(), "only a user registers a session that nobody spawned", "spawn it",
			"Session '%s' is not known", id)
	}
	if thirdOn(c.Rules) && slices.Contains(reservedSessions, id) {
		return nil, namesAnother("/sessionId", id, "A session cannot have the id '%s'",
			"choose another id, or leave it out")
	}
	p, err := project(s, "/project", c.Project)
	if err != nil {
		return nil, err
	}
	kind, err := sessionKind{x.Role, x.Strategy, x.Name, x.TaskIDs}.resolve(s, p.ID)
	if err != nil {
		return nil, err
	}
	permissions, err := permissionsOf(tableOf(c.Rules), kind.role, kind.strategy, x.Allowed)
	if err != nil {
		return nil, err
	}
	if err := graphOf(s, c).joins("", kind.tasks); err != nil {
		return nil, err
	}
	forced, err := mayHave(s, c, x.ID(), nil, kind.tasks, x.Force)
	if err != nil {
		return nil, err
	}
	status := x.Status
	if status == "" {
		status = events.SessionRunning
	}
	if !slices.Contains(
		[]events.SessionStatus{
			events.SessionRunning,
			events.SessionIdle,
			events.SessionWorking,
			events.SessionSpawning,
		},
		status,
	) {
		return nil, invalid(
			"/status", "a new session is running, idle, working or spawning, not '%s'",
			safetext.Printable(string(status)),
		)
	}
	name := x.Name
	if name == "" {
		name = "Unnamed Session"
	}
	if err := validEnv(x.Env); err != nil {
		return nil, err
	}
	if err := validObject("/metadata", x.Metadata); err != nil {
		return nil, err
	}
	if err := ValidLine("/agentId", x.AgentID, MaxName); err != nil {
		return nil, err
	}
	if err := validDigest(x.ManifestDigest); err != nil {
		return nil, err
	}
	created := &events.SessionCreated{
		Name:        name,
		Role:        kind.role,
		Strategy:    kind.strategy,
		Status:      status,
		TaskIDs:     kind.tasks,
		Permissions: permissions,
		Env:         x.Env,
		Metadata:    x.Metadata,
		AgentID:     x.AgentID,
		Options:     x.Stated,
	}
	return &events.SessionRegistered{
		SessionID:      id,
		ManifestDigest: x.ManifestDigest,
		Created:        created,
		Forced:         forced,
	}, nil
}

// Decide implements Command.
func (x *CompleteSession) Decide(s *projections.State, c Call) (events.Data, error) {
	session, err := ownSession(s, c, x.ProjectRef, x.SessionID, x.ID())
	if err != nil {
		return nil, err
	}
	switch {
	case session.Ended():
		return nil, ended(s, x.ID(), session)
	case session.Status == events.SessionSaidDone:
		return nil, nil
	}
	return &events.SessionCompleted{SessionID: session.ID}, nil
}

func (x *CompleteSession) from(e *events.Event, d *events.SessionCompleted) bool {
	*x = CompleteSession{ProjectRef: inProject(e), SessionID: d.SessionID}
	return true
}

// Decide implements Command.
//
// A caller that may end an orchestrator may also end the sessions below it, which otherwise only the user could end.
func (x *KillSession) Decide(s *projections.State, c Call) (events.Data, error) {
	session, err := session(s, c, x.ProjectRef, x.SessionID)
	if err != nil {
		return nil, err
	}
	if below := thirdOn(c.Rules) && s.LedBelow(session.ID, c.By.Name); !below {
		if session, err = spawnedSession(s, c, x.ProjectRef, x.SessionID, x.ID()); err != nil {
			return nil, err
		}
	}
	if session.Ended() {
		return nil, nil
	}
	if err := validReason(x.Reason); err != nil {
		return nil, err
	}
	status := events.SessionStopped
	if x.Failed {
		status = events.SessionEndFailed
	}
	return &events.SessionKilled{SessionID: session.ID, Reason: x.Reason, Status: status}, nil
}

func (x *KillSession) from(e *events.Event, d *events.SessionKilled) bool {
	*x = KillSession{
		ProjectRef: inProject(e),
		SessionID:  d.SessionID,
		Reason:     d.Reason,
		Failed:     d.Status == events.SessionEndFailed,
	}
	return true
}

// Decide implements Command.
func (x *DeleteSession) Decide(s *projections.State, c Call) (events.Data, error) {
	session, err := session(s, c, x.ProjectRef, x.SessionID)
	if err != nil {
		return nil, err
	}
	return &events.SessionDeleted{SessionID: session.ID}, nil
}

func (x *DeleteSession) from(e *events.Event, d *events.SessionDeleted) bool {
	*x = DeleteSession{ProjectRef: inProject(e), SessionID: d.SessionID}
	return true
}

// session returns the caller's target session, in the caller's project.
func session(s *projections.State, c Call, in ProjectRef, id string) (*projections.Session, error) {
	if id == "" && c.By.Kind == ActorSession {
		id = c.By.Name
	}
	if err := ValidID("/sessionId", id); err != nil {
		return nil, err
	}
	x := s.Session(id)
	if x == nil {
		return nil, notFound("Session", id)
	}
	if in.Project != "" && in.Project != x.ProjectID {
		return nil, invalid(
			"/project", "session '%s' is in project '%s', not in '%s'", id, x.ProjectID, safetext.Printable(in.Project),
		)
	}
	return x, nil
}

// ownSession is session for what a session does to itself; a user may do it to any.
func ownSession(s *projections.State, c Call, in ProjectRef, id, rule string) (*projections.Session, error) {
	x, err := session(s, c, in, id)
	if err != nil {
		return nil, err
	}
	if c.By.Kind == ActorSession && x.ID != c.By.Name {
		return nil, notAllowed(rule, "a session does this to itself only", "leave the session out",
			"Session '%s' may not act as session '%s'", c.By.Name, x.ID)
	}
	return x, nil
}

// spawnedSession is session for what an orchestrator does to sessions that it spawned; a user may do it to any.
func spawnedSession(s *projections.State, c Call, in ProjectRef, id, rule string) (*projections.Session, error) {
	x, err := session(s, c, in, id)
	if err != nil {
		return nil, err
	}
	if c.By.Kind == ActorSession && x.SpawnedBy != c.By.Name {
		return nil, notAllowed(rule, "an orchestrator does this to sessions that it spawned", "ask the user",
			"Session '%s' did not spawn session '%s'", c.By.Name, x.ID)
	}
	return x, nil
}

func ended(s *projections.State, rule string, x *projections.Session) *Refusal {
	return notAllowed(rule, "the session has ended ("+string(x.Status)+")",
		"spawn another: `"+s.Successor(x)+"`", "%s", HasEnded(x))
}

func tasksIn(s *projections.State, project string, ids []string) error {
	if err := validIDs("/taskIds", ids); err != nil {
		return err
	}
	for _, id := range ids {
		t := s.Task(id)
		if t == nil {
			return notFound("Task", id)
		}
		if t.ProjectID != project {
			return elsewhere("/taskIds", "Task", id, project)
		}
	}
	return nil
}

func validEnv(env map[string]string) error {
	if len(env) > maxList {
		return invalid("/env", "at most %d variables, these are %d", maxList, len(env))
	}
	for name, value := range env {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			return invalid("/env", "'%s' is not a variable's name", safetext.Printable(name))
		}
		if err := ValidText("/env", value); err != nil {
			return err
		}
	}
	return nil
}
