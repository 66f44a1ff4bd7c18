package oracle

import (
	"cmp"
	"slices"
	"time"

	"maestro/internal/lazyregexp"
)

// The statuses of a session, besides completed and how it ended.
const (
	spawning = "spawning"
	running  = "running"
	idle     = "idle"
	working  = "working"
)

// How a session ended.
const (
	endStopped = "stopped"
	endFailed  = "failed"
	endDeleted = "deleted"
)

type session struct {
	id, project, role, strategy string
	// letter is its column of the table.
	letter    string
	commands  map[string]bool
	tasks     []string
	spawnedBy string
	// status is its shown status.
	status string
	// saidDone: it reported its completion, which does not end it.
	saidDone bool
	// ended is how it ended, "" while it has not; endedBefore is how it had ended when it was deleted.
	ended, endedBefore string
	// endedAt is when it ended; late counts its reports since then, and lateBytes their bytes.
	endedAt   time.Time
	late      int
	lateBytes int
	lost      bool
	losses    int
	// born and timeout determine its deadline, if timeout is not 0.
	born    time.Time
	timeout time.Duration
	// queue is the queue that it pulls from; holds is the item that it holds, last the last item held, held the tasks
	// of all items that it ever held.
	queue queueKey
	holds *item
	last  string
	held  map[string]bool
	// made and gone are the ids of the events that created it, and that ended it or marked it as lost.
	made, gone string
	// manifest is the digest of its latest manifest, "" without any.
	manifest string
	// generation is that of its valid secret.
	generation int
	// runner is the runner that the spawn names, run its last run; nil before the first.
	runner string
	run    *run
	// options are those of its agent.
	options options
	// limited is when its time limit began, if it was resumed.
	limited time.Time
	// mail are the messages that it has not received.
	mail map[string]unreadMessage
}

// end ends the session; the first end counts.
func (s *session) end(c *trial, how string) {
	if s.ended == "" {
		s.endedAt = c.event.Time
	}
	if how != endDeleted {
		s.status = how
	}
	s.ended, s.gone = how, c.event.ID
}

// heard makes an acting session running, unless the event itself sets its status.
func (c *trial) heard(what fact) {
	s := c.sessions[c.by.id]
	if c.by.kind != bySession || s == nil || s.ended == endDeleted || s.status != spawning && s.status != idle {
		return
	}
	if f, ok := what.(*sessionUpdated); !ok || f.Status == nil {
		s.status = running
	}
}

type permissions struct {
	Commands []string `json:"commands"`
	Explicit bool     `json:"explicit"`
}

// may judges the commands of a new session.
func (c *trial) may(role, strategy string, p permissions) {
	letter := letterOf(role, strategy)
	if letter == "" {
		c.fault(rulePermissions, "a session cannot be a %s with strategy %s", role, strategy)
		return
	}
	for _, id := range coreList(letter) {
		if !slices.Contains(p.Commands, id) {
			c.fault(rulePermissions, "the permissions lack the core command %s", id)
		}
	}
	allowed := func(id string) bool {
		return mayList(id, letter) && (!c.thirdOn() || !c.isPlanned(id))
	}
	if !p.Explicit {
		list := c.defaultList(letter)
		allowed = func(id string) bool { return slices.Contains(list, id) }
		for _, id := range list {
			if !slices.Contains(p.Commands, id) {
				c.fault(rulePermissions, "the permissions are the default ones, but lack %s", id)
			}
		}
	}
	seen := map[string]bool{}
	for _, id := range p.Commands {
		if !allowed(id) || seen[id] {
			c.fault(
				rulePermissions,
				"the permissions contain %s, which a %s with strategy %s may not have, or contain it twice",
				id,
				role,
				strategy,
			)
		}
		seen[id] = true
	}
}

// isNew judges that no session ever had the id: ids are not reused.
func (c *trial) isNew(sessionID string) {
	if c.sessions[sessionID] != nil || sessionID == "" {
		c.fault(ruleExists, "session %q already exists", sessionID)
	}
}

func (c *trial) newSession(id, role, strategy string, p permissions, tasks []string) *session {
	s := &session{
		id:         id,
		project:    c.event.Project,
		role:       role,
		strategy:   strategy,
		letter:     letterOf(role, strategy),
		commands:   map[string]bool{},
		tasks:      tasks,
		born:       c.event.Time,
		held:       map[string]bool{},
		generation: 1,
		mail:       map[string]unreadMessage{},
		made:       c.event.ID,
	}
	c.order.sessions = append(c.order.sessions, id)
	for _, command := range p.Commands {
		s.commands[command] = true
	}
	c.sessions[id] = s
	return s
}

type sessionRegistered struct {
	SessionID string   `json:"sessionId"`
	Created   *created `json:"created"`
	Manifest  string   `json:"manifestDigest"`
	Role      string   `json:"role"`
	Forced    bool     `json:"forced"`
}

// created is a registration's description of a new session.
type created struct {
	Role        string      `json:"role"`
	Strategy    string      `json:"strategy"`
	Status      string      `json:"status"`
	TaskIDs     []string    `json:"taskIds"`
	Permissions permissions `json:"permissions"`
	Options     *options    `json:"options"`
}

func (f *sessionRegistered) about() (kind, id string) { return "session", f.SessionID }

// begins reports whether a session starts with its manifest; otherwise it registers without one, or is created.
func (f *sessionRegistered) begins() bool {
	return f.Created == nil && (f.Manifest != "" || f.Role != "")
}

func (f *sessionRegistered) commands() []string {
	switch {
	case !f.begins():
		return []string{"session:register"}
	case f.Role == "orchestrator":
		return []string{"orchestrator:init"}
	}
	return []string{"worker:init"}
}

func (f *sessionRegistered) judge(c *trial) {
	c.own(f.SessionID)
	c.aDigest(f.Manifest)
	if f.Created == nil {
		f.begin(c, c.aLiveSession(f.SessionID))
		return
	}
	if f.Role != "" {
		c.fault(ruleManifest, "it creates session %q, so it cannot also start it as %s", f.SessionID, f.Role)
	}
	c.isNew(f.SessionID)
	c.may(f.Created.Role, f.Created.Strategy, f.Created.Permissions)
	for _, id := range f.Created.TaskIDs {
		c.aTask(id)
	}
	c.gives(nil, f.Created.TaskIDs, f.Forced)
}

// begin judges that a session starts in its own role, with its latest manifest.
func (f *sessionRegistered) begin(c *trial, s *session) {
	switch {
	case s == nil || !f.begins():
	case f.Role != s.role:
		c.fault(ruleManifest, "session %s is a %s, but starts as %q", s.id, s.role, f.Role)
	case s.manifest == "":
		c.fault(ruleManifest, "session %s has no manifest to start with", s.id)
	case f.Manifest != s.manifest:
		c.fault(ruleManifest,
			"session %s starts with manifest %q, but its manifest is %s", s.id, f.Manifest, s.manifest)
	}
}

var digestForm = lazyregexp.New(`^sha256-[0-9a-f]{64}$`)

// aDigest judges that a text is a blob's digest, or empty.
func (c *trial) aDigest(digest string) {
	if digest != "" && !digestForm().MatchString(digest) {
		c.fault(ruleManifest, "%q is not the digest of a manifest", digest)
	}
}

func (f *sessionRegistered) fold(c *trial) {
	if f.Created == nil {
		if s := c.sessions[f.SessionID]; s != nil {
			s.status = running
		}
		return
	}
	s := c.newSession(f.SessionID, f.Created.Role, f.Created.Strategy, f.Created.Permissions, f.Created.TaskIDs)
	s.manifest = f.Manifest
	if f.Created.Options != nil {
		s.options = *f.Created.Options
	}
	s.status = cmp.Or(f.Created.Status, running)
	switch f.Created.Status {
	case endStopped, endFailed:
		s.end(c, f.Created.Status)
	case completed:
		s.saidDone = true
	}
}

type sessionUpdated struct {
	SessionID string    `json:"sessionId"`
	Status    *string   `json:"status"`
	TaskIDs   *[]string `json:"taskIds"`
	Forced    bool      `json:"forced"`
	Manifest  *string   `json:"manifestDigest"`
	Options   *options  `json:"options"`
}

func (f *sessionUpdated) about() (kind, id string) { return "session", f.SessionID }
func (f *sessionUpdated) commands() []string       { return []string{"session:update"} }

func (f *sessionUpdated) judge(c *trial) {
	s := c.aSession(f.SessionID)
	c.spawner(s)
	c.notDeleted(s)
	if f.Manifest != nil {
		c.aDigest(cmp.Or(*f.Manifest, "none"))
		if s != nil {
			c.bounded(s.project, f.Options)
		}
	}
	if f.TaskIDs != nil {
		c.gives(s, *f.TaskIDs, f.Forced)
	} else if f.Forced {
		c.fault(ruleWork, "it is forced, but assigns no tasks")
	}
	if f.Status == nil {
		return
	}
	if *f.Status != idle && *f.Status != working {
		c.fault(ruleSession, "an update can only set a session to idle or working, not %s", *f.Status)
	}
	if s != nil && s.ended != "" && s.ended != endDeleted {
		c.fault(ruleEnded, "session %s had ended (%s), so its status cannot change", s.id, s.ended)
	}
}

func (f *sessionUpdated) fold(c *trial) {
	s := c.sessions[f.SessionID]
	if s == nil {
		return
	}
	if f.TaskIDs != nil {
		s.tasks = *f.TaskIDs
	}
	if f.Status != nil {
		s.status = *f.Status
	}
	if f.Options != nil {
		s.options = *f.Options
	}
	if f.Manifest != nil {
		s.manifest = *f.Manifest
	}
}

type sessionCompleted struct {
	SessionID string `json:"sessionId"`
}

// isDone reports whether its last report is its completion.
func (s *session) isDone() bool { return s.status == completed && s.ended == "" }

func (f *sessionCompleted) about() (kind, id string) { return "session", f.SessionID }
func (f *sessionCompleted) commands() []string       { return []string{"session:complete"} }

func (f *sessionCompleted) judge(c *trial) {
	c.own(f.SessionID)
	c.aLiveSession(f.SessionID)
}

func (f *sessionCompleted) fold(c *trial) {
	if s := c.sessions[f.SessionID]; s != nil {
		s.saidDone, s.status = true, completed
	}
}

type sessionKilled struct {
	SessionID string `json:"sessionId"`
	Status    string `json:"status"`
}

func (f *sessionKilled) about() (kind, id string) { return "session", f.SessionID }
func (f *sessionKilled) commands() []string       { return []string{"session:kill"} }

// ends reports whether commands are the command that ends a session.
func ends(commands []string) bool { return slices.Equal(commands, new(sessionKilled).commands()) }

func (f *sessionKilled) judge(c *trial) {
	if s := c.aLiveSession(f.SessionID); !c.thirdOn() || !c.below(s) {
		c.spawner(s)
	}
	if f.Status != endStopped && f.Status != endFailed {
		c.fault(ruleSession, "a killed session must become stopped or failed, not %q", f.Status)
	}
}

func (f *sessionKilled) fold(c *trial) {
	if s := c.sessions[f.SessionID]; s != nil && s.ended == "" {
		s.end(c, f.Status)
	}
}

type sessionDeleted struct {
	SessionID string `json:"sessionId"`
}

func (f *sessionDeleted) about() (kind, id string) { return "session", f.SessionID }
func (f *sessionDeleted) commands() []string       { return []string{"session:delete"} }

func (f *sessionDeleted) judge(c *trial) {
	c.notDeleted(c.aSession(f.SessionID))
}

func (f *sessionDeleted) fold(c *trial) {
	if s := c.sessions[f.SessionID]; s != nil {
		s.endedBefore = s.ended
		s.end(c, endDeleted)
	}
}

type sessionFileTracked struct {
	SessionID string `json:"sessionId"`
}

func (f *sessionFileTracked) about() (kind, id string) { return "session", f.SessionID }
func (f *sessionFileTracked) commands() []string       { return []string{"track-file"} }

func (f *sessionFileTracked) judge(c *trial) {
	c.own(f.SessionID)
	c.aLiveSession(f.SessionID)
}

func (f *sessionFileTracked) fold(*trial) {}

type sessionTaskLinked struct {
	SessionID string `json:"sessionId"`
	TaskID    string `json:"taskId"`
	Forced    bool   `json:"forced"`
}

func (f *sessionTaskLinked) about() (kind, id string) { return "session", f.SessionID }
func (f *sessionTaskLinked) commands() []string       { return []string{"session:link"} }

func (f *sessionTaskLinked) judge(c *trial) {
	s := c.aSession(f.SessionID)
	c.notDeleted(s)
	c.aTask(f.TaskID)
	c.gives(s, linked(s, f.TaskID), f.Forced)
}

func (f *sessionTaskLinked) fold(c *trial) {
	if s := c.sessions[f.SessionID]; s != nil {
		s.tasks = append(slices.Clone(s.tasks), f.TaskID)
	}
}

type sessionTaskUnlinked struct {
	SessionID string `json:"sessionId"`
	TaskID    string `json:"taskId"`
}

func (f *sessionTaskUnlinked) about() (kind, id string) { return "session", f.SessionID }
func (f *sessionTaskUnlinked) commands() []string       { return []string{"session:unlink"} }

func (f *sessionTaskUnlinked) judge(c *trial) { c.notDeleted(c.aSession(f.SessionID)) }

func (f *sessionTaskUnlinked) fold(c *trial) {
	if s := c.sessions[f.SessionID]; s != nil {
		s.tasks = slices.DeleteFunc(slices.Clone(s.tasks), func(id string) bool { return id == f.TaskID })
	}
}
