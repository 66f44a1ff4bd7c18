package simulation

import (
	"errors"
	"slices"
	"strings"
)

// verdict is what a wish must come to on some ground: an event, nothing, or a refusal's code.
type verdict string

const (
	becomesEvent verdict = "event"
	alreadySo    verdict = "already so"
	notAllowed   verdict = "NOT_ALLOWED"
	notFound     verdict = "NOT_FOUND"
	isInvalid    verdict = "VALIDATION_ERROR"
	isConflict   verdict = "CONFLICT"
	againstRule  verdict = "BUSINESS_RULE_ERROR"
	aboveLimit   verdict = "LIMIT_EXCEEDED"
	keyReused    verdict = "KEY_REUSED"
)

// projectOf gives the project that a wish acts in: its target's, or the one it names, or its caller's.
func (m *model) projectOf(w wish) string {
	switch w.id {
	case "project:create":
		return ""
	case "project:update", "project:delete":
		return w.fields.ProjectID
	case "task:update", "task:complete", "task:block", "task:reopen", "task:delete":
		if t, ok := m.tasks[w.fields.TaskID]; ok {
			return t.project
		}
	case "queue:requeue":
		if t, ok := m.tasks[w.fields.TaskID]; ok {
			return t.project
		}
	case "input:answer", "input:received":
		if q, ok := m.inputs[w.fields.InputID]; ok {
			return q.project
		}
	case "token:create", "template:create", "template:update", "template:reset", "template:delete":
		return ""
	case "token:revoke", "session:lost", "session:recovered", "session:timed-out":
		return m.sessions[w.fields.SessionID].project
	case "task:create", "session:spawn", "queue:create", "queue:return", "queue:quarantine":
	default:
		if x, ok := m.sessions[w.fields.SessionID]; ok {
			return x.project
		}
	}
	if w.fields.Project != "" {
		return w.fields.Project
	}
	return w.by.project
}

// permitted reports whether the table lets the caller do this here, at a time.
func (m *model) permitted(w wish, at int64) bool {
	row := permissionRow[w.id]
	project := m.projectOf(w)
	switch w.by.kind {
	case "admin":
		t := m.tokens[w.by.name]
		return strings.Contains(row.who, "U") && (w.by == admin || t.good(at) && t.kind == "admin" &&
			t.generation == w.by.generation)
	case "runner":
		return strings.Contains(row.who, "R")
	case "system":
		return strings.Contains(row.who, "S")
	case "session":
		x, known := m.liveSession(w.by.name)
		if !known || x.project != w.by.project || x.generation != w.by.generation || !x.allowed[w.id] {
			return false
		}
		if project != "" && project != x.project {
			if p, live := m.liveProject(project); !live || x.role != "orchestrator" || p.createdBy != w.by.source() {
				return false
			}
		}
		return !x.ended || strings.HasPrefix(w.id, "report:")
	}
	return false // auditors and readers write nothing
}

// judge gives what a wish must come to on this ground at a time, apart from what its key says.
func (m *model) judge(w wish, at int64) verdict {
	if !m.permitted(w, at) {
		return notAllowed
	}
	switch noun, _, _ := strings.Cut(w.id, ":"); noun {
	case "project":
		return m.judgeProject(w)
	case "task":
		return m.judgeTask(w)
	case "report":
		return m.judgeReport(w, at)
	case "queue":
		return m.judgeQueue(w)
	case "input":
		return m.judgeInput(w)
	case "token":
		return m.judgeToken(w, at)
	case "template":
		return m.judgeTemplate(w)
	}
	switch w.id {
	case "session:spawn":
		return m.judgeSpawn(w)
	case "session:lost", "session:recovered", "session:timed-out":
		return m.judgeDeadline(w, at)
	}
	return m.judgeSession(w)
}

func (m *model) judgeProject(w wish) verdict {
	f := w.fields
	badName := f.Name != nil && (strings.TrimSpace(*f.Name) == "" || len(*f.Name) > 200)
	if w.id == "project:create" {
		if badName || f.Name == nil {
			return isInvalid
		}
		return becomesEvent
	}
	p, live := m.liveProject(f.ProjectID)
	switch {
	case f.ProjectID == "":
		return isInvalid
	case !live:
		return notFound
	case w.id == "project:update" && badName:
		return isInvalid
	case w.id == "project:update":
		return becomesEvent
	case w.by.kind == "session" && p.createdBy != w.by.source():
		return notAllowed
	}
	for _, t := range m.tasks {
		if t.project == f.ProjectID && !t.deleted {
			return againstRule
		}
	}
	for _, x := range m.sessions {
		if x.project == f.ProjectID && !x.deleted {
			return againstRule
		}
	}
	return becomesEvent
}

func (m *model) judgeTask(w wish) verdict {
	f := w.fields
	if w.id == "task:create" {
		return m.judgeCreate(w)
	}
	t, live := m.liveTask(f.TaskID)
	switch {
	case f.TaskID == "":
		return isInvalid
	case !live:
		return notFound
	case f.Project != "" && f.Project != t.project:
		return isInvalid
	}
	switch w.id {
	case "task:update":
		return m.judgeUpdate(w, t)
	case "task:complete", "task:block":
		if t.status == movesTo[w.id] {
			return alreadySo
		}
	case "task:reopen":
		if t.status != "completed" && t.status != "blocked" && m.saidOf(t) != "completed" {
			return againstRule
		}
	}
	return becomesEvent
}

func badTitle(title string) bool { return strings.TrimSpace(title) == "" || len(title) > 200 }

func (m *model) judgeCreate(w wish) verdict {
	f := w.fields
	project := m.projectOf(w)
	if project == "" || f.Title == nil || strings.TrimSpace(*f.Title) == "" {
		return isInvalid
	}
	if _, live := m.liveProject(project); !live {
		return notFound
	}
	if badTitle(*f.Title) {
		return isInvalid
	}
	if f.ParentID != "" {
		parent, live := m.liveTask(f.ParentID)
		if !live {
			return notFound
		}
		if parent.project != project {
			return isInvalid
		}
	}
	if f.Dependencies != nil {
		return m.judgeDependencies(project, "", f.ParentID, *f.Dependencies)
	}
	return becomesEvent
}

func (m *model) judgeDependencies(project, id, parent string, dependencies []string) verdict {
	for _, dependency := range dependencies {
		d, live := m.liveTask(dependency)
		switch {
		case !live:
			return notFound
		case d.project != project, dependency == id, parent != "" && m.within(parent, []string{dependency}):
			return isInvalid
		case id != "" && m.waitsFor(dependency, id, map[string]bool{}):
			return isInvalid
		}
	}
	return becomesEvent
}

// waitsFor reports whether a task waits for another through dependencies of tasks that are not deleted.
func (m *model) waitsFor(from, to string, seen map[string]bool) bool {
	if from == to {
		return true
	}
	t, live := m.liveTask(from)
	if !live || seen[from] {
		return false
	}
	seen[from] = true
	return slices.ContainsFunc(t.dependencies, func(id string) bool { return m.waitsFor(id, to, seen) })
}

func (m *model) judgeUpdate(w wish, t task) verdict {
	f := w.fields
	if f.Title != nil && badTitle(*f.Title) {
		return isInvalid
	}
	if f.Dependencies != nil {
		if v := m.judgeDependencies(t.project, f.TaskID, t.parent, *f.Dependencies); v != becomesEvent {
			return v
		}
	}
	if f.Status == nil {
		return becomesEvent
	}
	switch {
	case *f.Status == "cancelled" && !w.by.user():
		return notAllowed
	case !contains([]string{"todo", "in_progress", "completed", "cancelled", "blocked"}, *f.Status):
		return isInvalid
	case *f.Status == t.status && f.Title == nil && f.Dependencies == nil:
		return alreadySo
	}
	return becomesEvent
}

func (m *model) judgeReport(w wish, at int64) verdict {
	f := w.fields
	x := m.sessions[w.by.name]
	tasks := f.tasks()
	if m.projectOf(w) != x.project || f.Message == "" && len(tasks) == 0 {
		return isInvalid
	}
	for _, id := range tasks {
		t, live := m.liveTask(id)
		switch {
		case !live:
			return notFound
		case t.project != x.project:
			return notAllowed
		case x.role != "orchestrator" && t.createdBy != w.by.source() && !m.within(id, x.tasks) && !m.heldOnce(w.by.name, id):
			return notAllowed
		}
	}
	if x.ended {
		switch said := w.said(max(at, m.at)); {
		case said == 0, said < x.startedAt, said > x.endedAt:
			return notAllowed
		case x.late >= mostLate, x.lateBytes+w.lateBytes() > mostLateBytes:
			return aboveLimit
		}
	}
	return judgeOptions(w)
}

// mostLate is how many reports a session delivers after its end, mostLateBytes how many bytes of them.
const (
	mostLate      = 1000
	mostLateBytes = 256 << 10
)

// lateBytes is what a report counts if it comes after the end: its words, at most 64 KiB of them, and what it names.
func (w wish) lateBytes() int {
	n := min(len(w.fields.Message), 64<<10)
	for _, text := range slices.Concat(w.fields.tasks(), w.fields.Options) {
		n += len(text)
	}
	return n
}

// judgeKind judges what the spawning and the registering of a new session have in common.
func (m *model) judgeKind(project string, f fields) verdict {
	strategies := []string{"", "simple", "queue", "tree"}
	if f.Role == "orchestrator" {
		strategies = []string{"", "simple", "default", "intelligent-batching", "dag"}
	}
	if !contains([]string{"", "worker", "orchestrator"}, f.Role) || !contains(strategies, f.Strategy) {
		return isInvalid
	}
	return m.judgeTasks(project, f.tasks())
}

func (m *model) judgeTasks(project string, ids []string) verdict {
	for _, id := range ids {
		if t, live := m.liveTask(id); !live {
			return notFound
		} else if t.project != project {
			return isInvalid
		}
	}
	return becomesEvent
}

func judgeList(f fields) verdict {
	if f.Allowed != nil {
		for _, id := range *f.Allowed {
			if !listable(column(f.Role, f.Strategy), id) {
				return isInvalid
			}
		}
	}
	return becomesEvent
}

func (m *model) judgeSpawn(w wish) verdict {
	f := w.fields
	project := m.projectOf(w)
	if project == "" {
		return isInvalid
	}
	if _, live := m.liveProject(project); !live {
		return notFound
	}
	if v := m.judgeKind(project, f); v != becomesEvent {
		return v
	}
	if len(f.tasks()) == 0 && f.Strategy != "queue" {
		return isInvalid
	}
	if v := judgeList(f); v != becomesEvent {
		return v
	}
	if w.by.kind == "session" && f.Allowed != nil {
		own, usual := m.sessions[w.by.name].allowed, map[string]bool{}
		if f.Role != "orchestrator" {
			usual = allowedTo(column(f.Role, f.Strategy), nil)
		}
		if slices.ContainsFunc(*f.Allowed, func(id string) bool { return !own[id] && !usual[id] }) {
			return notAllowed
		}
	}
	switch {
	case f.Timeout < 0, f.Timeout > 365*24*60*60*1000, badDigest(f.manifest()):
		return isInvalid
	case w.by.kind == "session" && f.SpawnedBy != "" && f.SpawnedBy != w.by.name:
		return notAllowed
	case w.by.kind != "session" && f.SpawnedBy != "":
		if x, live := m.liveSession(f.SpawnedBy); !live {
			return notFound
		} else if x.project != project {
			return isInvalid
		}
	}
	if f.Strict && m.unmet(f.tasks()) {
		return againstRule
	}
	switch q, there := m.queues[queueID(project, f.Queue)]; {
	case f.Queue == "":
	case f.Strategy != "queue", badID(f.Queue):
		return isInvalid
	case !there:
		return notFound
	case q.session != "" && m.becameOf(q.session) == "":
		return isConflict
	}
	return becomesEvent
}

// unmet reports whether tasks wait for others, outside themselves, that are not completed.
func (m *model) unmet(ids []string) bool {
	for _, id := range ids {
		for _, dependency := range m.tasks[id].dependencies {
			if d, known := m.tasks[dependency]; known && d.status != "completed" && !contains(ids, dependency) {
				return true
			}
		}
	}
	return false
}

func (m *model) judgeRegister(w wish) verdict {
	f := w.fields
	id := m.target(w)
	x, known := m.sessions[id]
	switch {
	case id == "" || !known:
		return m.judgeNewSession(w)
	case f.Create:
		return isConflict
	case x.deleted:
		return notFound
	case f.Project != "" && f.Project != x.project:
		return isInvalid
	case w.by.kind == "session" && id != w.by.name, x.ended:
		return notAllowed
	case f.Role != "" && f.Role != x.role, f.Strategy != "" && !sameStrategy(x, f.Strategy), f.Allowed != nil:
		return isConflict
	case x.status == "running" || x.status == "completed":
		return alreadySo
	}
	return becomesEvent
}

// sameStrategy compares a strategy that is asked for with a session's: an orchestrator's simple is its default.
func sameStrategy(x session, asked string) bool {
	return asked == x.strategy || x.role == "orchestrator" && asked == "simple" && x.strategy == "default"
}

func (m *model) judgeNewSession(w wish) verdict {
	project := m.projectOf(w)
	switch _, live := m.liveProject(project); {
	case !w.by.user():
		return notAllowed
	case project == "":
		return isInvalid
	case !live:
		return notFound
	}
	if v := m.judgeKind(project, w.fields); v != becomesEvent {
		return v
	}
	if v := judgeList(w.fields); v != becomesEvent {
		return v
	}
	if badDigest(w.fields.manifest()) {
		return isInvalid
	}
	return becomesEvent
}

// below reports whether a session was spawned by another, or by one below that.
func (m *model) below(x session, above string) bool {
	for x.spawnedBy != "" && x.spawnedBy != above {
		x = m.sessions[x.spawnedBy]
	}
	return x.spawnedBy != ""
}

func (m *model) judgeSession(w wish) verdict {
	f := w.fields
	if w.id == "session:register" {
		return m.judgeRegister(w)
	}
	id := m.target(w)
	x, live := m.liveSession(id)
	switch {
	case id == "":
		return isInvalid
	case !live:
		return notFound
	case f.Project != "" && f.Project != x.project:
		return isInvalid
	}
	own := w.by.kind != "session" || id == w.by.name
	spawned := w.by.kind != "session" || x.spawnedBy == w.by.name
	switch w.id {
	case "worker:init", "orchestrator:init":
		return judgeBegin(w, x, own)
	case "session:complete":
		switch {
		case !own, x.ended:
			return notAllowed
		case x.status == "completed":
			return alreadySo
		}
	case "session:kill":
		switch {
		case !spawned && !m.below(x, w.by.name):
			return notAllowed
		case x.ended:
			return alreadySo
		}
	case "session:update":
		switch {
		case !spawned:
			return notAllowed
		case f.Status != nil && !contains([]string{"idle", "working"}, *f.Status):
			return isInvalid
		case f.Status != nil && x.ended:
			return notAllowed
		}
		if v := m.judgeTasks(x.project, f.tasks()); v != becomesEvent {
			return v
		}
		if f.Manifest != nil && (*f.Manifest == "" || badDigest(*f.Manifest)) {
			return isInvalid
		}
	case "session:note":
		switch {
		case !own:
			return notAllowed
		case f.Message == "":
			return isInvalid
		}
	case "track-file":
		t, there := m.liveTask(f.TaskID)
		switch {
		case !own, x.ended:
			return notAllowed
		case f.File == "":
			return isInvalid
		case f.TaskID != "" && (!there || t.project != x.project):
			return notFound
		}
	case "session:link":
		if v := m.judgeTasks(x.project, []string{f.TaskID}); v != becomesEvent {
			return v
		}
		if contains(x.tasks, f.TaskID) {
			return alreadySo
		}
	case "session:unlink":
		if _, there := m.tasks[f.TaskID]; !there {
			return notFound
		}
		if !contains(x.tasks, f.TaskID) {
			return alreadySo
		}
	}
	return becomesEvent
}

func asType[T error](err error, target *T) bool { return errors.As(err, target) }
