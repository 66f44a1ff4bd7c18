package oracle

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// maxStored is the length of a text in an event, in bytes; a longer one is among the blobs.
const maxStored = 64 << 10

// maxTimeout is the longest that a session may have, in milliseconds.
const maxTimeout = 365 * 24 * 60 * 60 * 1000

// target gives the id of the session that the command is about: the one that it names, or the one that asks.
func (a *asked) target() string {
	if a.f.SessionID == "" && a.by.kind == bySession {
		return a.by.id
	}
	return a.f.SessionID
}

// liveSession gives the session that the command is about, and refuses the command if it is not there.
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

// ownSession is liveSession for what a session does to itself only.
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

// kind gives the role and the strategy of a new session.
func (a *asked) kind() (role, strategy string) {
	role, strategy = cmp.Or(a.f.Role, "worker"), cmp.Or(a.f.Strategy, "simple")
	if role == "orchestrator" && strategy == "simple" {
		strategy = "default"
	}
	return role, strategy
}

// given gives what a new session may do: what is asked for and the core commands, or the list of its role.
func (a *asked) given(role, strategy string) permissions {
	letter := letterOf(role, strategy)
	if a.f.Allowed == nil {
		return permissions{Commands: defaultList(letter)}
	}
	list := slices.Concat(coreList(letter), *a.f.Allowed)
	return permissions{Commands: unique(&list), Explicit: true}
}

func (a *asked) register() fact {
	id := a.target()
	s := a.sessions[id]
	switch {
	case s == nil && a.by.kind != byUser:
		return a.no(codeAllowed)
	case s == nil:
		return a.newSession(id)
	case a.f.Create:
		return a.no(codeConflict)
	}
	if s = a.ownSession(); s == nil {
		return nil
	}
	role, strategy := a.kind()
	switch {
	case s.ended != "":
		return a.no(codeAllowed)
	case a.f.Role != "" && role != s.role, a.f.Allowed != nil:
		return a.no(codeConflict)
	case a.f.Strategy != "" && strategy != s.strategy && (s.role != "orchestrator" || a.f.Strategy != "simple" || s.strategy != "default"):
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
	return &sessionUpdated{SessionID: s.id, Status: a.f.Status, TaskIDs: a.f.TaskIDs, Manifest: a.f.Manifest}
}

func (a *asked) deleteSession() fact {
	s := a.liveSession()
	if s == nil {
		return nil
	}
	return &sessionDeleted{SessionID: s.id}
}

func (a *asked) noteSession() fact {
	s := a.ownSession()
	if s == nil {
		return nil
	}
	if a.f.Message == "" {
		return a.no(codeInvalid)
	}
	return &sessionNoted{SessionID: s.id}
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
	return &sessionTaskLinked{SessionID: s.id, TaskID: a.f.TaskID}
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

func (a *asked) report() fact {
	s := a.sessions[a.by.id]
	_, kind, _ := strings.Cut(a.ID, ":")
	tasks, late := unique(a.f.TaskIDs), s.ended != ""
	if a.event.Project != s.project || a.f.Message == "" && len(tasks) == 0 {
		return a.no(codeInvalid)
	}
	for _, id := range tasks {
		if t := a.liveTask(id); t != nil && t.project != s.project {
			a.refuse(codeAllowed)
		}
	}
	a.options(kind)
	reported := &sessionReported{
		SessionID:        s.id,
		Kind:             kind,
		Message:          a.f.Message[:min(len(a.f.Message), maxStored)],
		TaskIDs:          tasks,
		SessionCompleted: kind == "complete" && len(tasks) == 0 && !late,
		Late:             late,
		Options:          a.f.Options,
	}
	if kind == "needs-input" && !late && a.f.Message != "" {
		reported.InputID = a.fresh
	}
	return reported
}

// options refuses what a question cannot offer.
func (a *asked) options(kind string) {
	options := a.f.Options
	if len(options) > 0 && (kind != "needs-input" || a.f.Message == "" || len(options) > maxEntries["options"]) {
		a.refuse(codeInvalid)
	}
	for i, option := range options {
		if strings.TrimSpace(option) == "" || slices.Contains(options[:i], option) {
			a.refuse(codeInvalid)
		}
	}
}

func (a *asked) spawn() fact {
	if !a.liveProject(a.event.Project) {
		return nil
	}
	f := &sessionSpawned{
		SessionID: a.fresh,
		TaskIDs:   unique(a.f.TaskIDs),
		Strict:    a.f.Strict,
		SpawnedBy: a.f.SpawnedBy,
		Timeout:   a.f.Timeout,
		Manifest:  a.manifest(),
	}
	f.Role, f.Strategy = a.kind()
	a.tasksOf(a.event.Project, f.TaskIDs)
	if len(f.TaskIDs) == 0 && f.Strategy != "queue" || a.f.Timeout > maxTimeout {
		a.refuse(codeInvalid)
	}
	f.Permissions = a.given(f.Role, f.Strategy)
	if a.by.kind == bySession {
		f.SpawnedBy = cmp.Or(f.SpawnedBy, a.by.id)
		if own := a.sessions[a.by.id].commands; f.Role == "orchestrator" && a.f.Allowed == nil {
			all := len(f.Permissions.Commands)
			f.Permissions.Commands = slices.DeleteFunc(f.Permissions.Commands, func(id string) bool { return !own[id] })
			f.Permissions.Explicit = len(f.Permissions.Commands) < all
		}
	}
	a.work(f)
	return f
}

// work says what a spawn does with the tasks: which it starts, which it queues, and what they wait for.
func (a *asked) work(f *sessionSpawned) {
	q := a.queues[queueKey{a.event.Project, a.f.Queue}]
	switch {
	case a.f.Queue == "":
	case f.Strategy != "queue" || !isID(a.f.Queue):
		a.refuse(codeInvalid)
	case q == nil:
		a.refuse(codeFound)
	case q.session != "" && a.fate(q.session) == "":
		a.refuse(codeConflict)
	}
	if f.Strategy == "queue" {
		f.Queue = cmp.Or(a.f.Queue, a.fresh)
	}
	open := map[string]bool{}
	for _, id := range f.TaskIDs {
		t := a.tasks[id]
		switch {
		case t == nil:
			continue
		case f.Strategy != "queue" && t.status == todo:
			f.Started = append(f.Started, id)
		case f.Strategy == "queue" && q.of(id) == nil:
			f.Queued = append(f.Queued, id)
		}
		for _, dependency := range t.dependencies {
			if !slices.Contains(f.TaskIDs, dependency) && !a.satisfied(dependency, false) {
				open[dependency] = true
			}
		}
	}
	f.Unmet = slices.Sorted(maps.Keys(open))
}
