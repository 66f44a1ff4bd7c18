package oracle

import (
	"cmp"
	"slices"
	"strings"
)

// maxStored is the maximum length of a text in an event, in bytes; a longer one is stored as a blob.
const maxStored = 64 << 10

// target returns the id of the command's session: the one that it names, or the calling one.
func (a *asked) target() string {
	if a.f.SessionID == "" && a.by.kind == bySession {
		return a.by.id
	}
	return a.f.SessionID
}

// liveSession returns the command's session, and refuses the command if it does not exist.
func (a *asked) liveSession() *session {
	id := a.target()
	s := a.sessions[id]
	switch {
	case !isID(id):
		a.refuse(codeInvalid)
	case s == nil || s.ended == endDeleted:
		a.refuse(codeFound)
	case a.f.Project != "" && a.f.Project != s.project:
		a.refuse(codeInvalid)
	default:
		return s
	}
	return nil
}

// ownSession is liveSession for commands that a session may only apply to itself.
func (a *asked) ownSession() *session {
	s := a.liveSession()
	if s != nil {
		if a.own(s.id); !a.refused() {
			return s
		}
	}
	return nil
}

func (a *asked) manifest() string {
	if a.f.Manifest == nil {
		return ""
	}
	return *a.f.Manifest
}

// reservedSessions are the names of other actors, which no new session may have as an id.
var reservedSessions = []string{"parent", "admin", "system", "runner"}

func (a *asked) register() fact {
	id := a.target()
	s := a.sessions[id]
	switch {
	case s == nil && a.by.kind != byUser:
		return a.no(codeAllowed)
	case s == nil && slices.Contains(reservedSessions, id):
		return a.no(codeInvalid)
	case s == nil:
		return a.newSession(id)
	case a.f.Create:
		return a.no(codeConflict)
	}
	if s = a.ownSession(); s == nil {
		return nil
	}
	switch {
	case s.ended != "":
		return a.no(codeAllowed)
	case a.f.Role != "" && a.f.Role != s.role, a.f.Allowed != nil:
		return a.no(codeConflict)
	case a.f.Strategy != "" && strategyOf(s.role, a.f.Strategy) != s.strategy:
		return a.no(codeConflict)
	case s.status == running || s.status == completed:
		return a.so()
	}
	return &sessionRegistered{SessionID: id}
}

func (a *asked) newSession(id string) fact {
	if !a.liveProject(a.event.Project) {
		return nil
	}
	tasks := unique(a.f.TaskIDs)
	a.tasksOf(a.event.Project, tasks)
	role, strategy := a.kind()
	registered := &sessionRegistered{SessionID: cmp.Or(id, a.fresh), Manifest: a.manifest()}
	registered.Forced = a.f.Force && a.early(nil, tasks)
	registered.Created = &created{
		Role:        role,
		Strategy:    strategy,
		Status:      running,
		TaskIDs:     tasks,
		Permissions: a.given(role, strategy),
	}
	return registered
}

func (a *asked) begin() fact {
	s := a.ownSession()
	if s == nil {
		return nil
	}
	role, _, _ := strings.Cut(a.ID, ":")
	switch {
	case a.manifest() == "":
		return a.no(codeInvalid)
	case s.ended != "":
		return a.no(codeAllowed)
	}
	begins := &sessionRegistered{SessionID: s.id, Manifest: a.manifest(), Role: role}
	if begins.judge(a.trial); !a.refused() && (s.status == running || s.status == completed) {
		return a.so()
	}
	return begins
}

func (a *asked) completeSession() fact {
	s := a.ownSession()
	switch {
	case s == nil:
		return nil
	case s.ended != "":
		return a.no(codeAllowed)
	case s.status == completed:
		return a.so()
	}
	return &sessionCompleted{SessionID: s.id}
}

func (a *asked) killSession() fact {
	s := a.liveSession()
	if s == nil {
		return nil
	}
	if !a.trial.below(s) {
		a.spawner(s)
	}
	if !a.refused() && s.ended != "" {
		return a.so()
	}
	status := endStopped
	if a.f.Failed {
		status = endFailed
	}
	return &sessionKilled{SessionID: s.id, Status: status}
}

func (a *asked) updateSession() fact {
	s := a.liveSession()
	if s == nil {
		return nil
	}
	if a.f.TaskIDs != nil {
		a.tasksOf(s.project, *a.f.TaskIDs)
	}
	return &sessionUpdated{
		SessionID: s.id,
		Forced:    a.f.Force && a.f.TaskIDs != nil && a.early(s, *a.f.TaskIDs),
		Status:    a.f.Status,
		TaskIDs:   a.f.TaskIDs,
		Manifest:  a.f.Manifest,
	}
}

func (a *asked) deleteSession() fact {
	s := a.liveSession()
	if s == nil {
		return nil
	}
	return &sessionDeleted{SessionID: s.id}
}

func (a *asked) noteSession() fact {
	s := a.liveSession()
	if s == nil {
		return nil
	}
	noted := &sessionNoted{SessionID: s.id, Type: cmp.Or(a.f.Type, "progress")}
	if noted.ofSpawned(a.trial) {
		a.spawner(s)
	} else {
		a.own(s.id)
	}
	if a.refused() {
		return nil
	}
	if a.f.Message == "" {
		a.refuse(codeInvalid)
	}
	return noted
}

func (a *asked) trackFile() fact {
	s := a.ownSession()
	if s == nil {
		return nil
	}
	t := a.tasks[a.f.TaskID]
	switch {
	case s.ended != "":
		return a.no(codeAllowed)
	case a.f.File == "":
		return a.no(codeInvalid)
	case a.f.TaskID != "" && (t == nil || t.deleted || t.project != s.project):
		return a.no(codeFound)
	}
	return &sessionFileTracked{SessionID: s.id}
}

func (a *asked) linkTask() fact {
	s := a.liveSession()
	if s == nil {
		return nil
	}
	if a.tasksOf(s.project, []string{a.f.TaskID}); !a.refused() && slices.Contains(s.tasks, a.f.TaskID) {
		return a.so()
	}
	return &sessionTaskLinked{
		SessionID: s.id,
		TaskID:    a.f.TaskID,
		Forced:    a.f.Force && a.early(s, linked(s, a.f.TaskID)),
	}
}

func (a *asked) unlinkTask() fact {
	s := a.liveSession()
	switch {
	case s == nil:
		return nil
	case a.tasks[a.f.TaskID] == nil:
		return a.no(codeFound)
	case !slices.Contains(s.tasks, a.f.TaskID):
		return a.so()
	}
	return &sessionTaskUnlinked{SessionID: s.id, TaskID: a.f.TaskID}
}
